"""How good answers without a language model are: `python -m tests.agent.quality`."""
