"""How well the platform finds: labelled collections through its HTTP API. Run by `python -m tests.quality`."""
