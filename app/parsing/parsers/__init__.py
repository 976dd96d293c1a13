"""One parser a file. Each is imported only when a file of its type comes."""
