"""What the parsers make of a folder of real documents. `python -m tests.files` prints the report."""
