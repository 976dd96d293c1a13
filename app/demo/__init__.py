"""A small tenant with documents of our own writing, loaded through the API like anybody's."""
