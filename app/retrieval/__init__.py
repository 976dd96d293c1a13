"""Finding chunks for a question: two channels, their fusion, and what of it the caller may see."""
