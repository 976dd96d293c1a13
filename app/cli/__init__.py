"""The `biggraph` command. Everything but `up` and `migrate` talks to the HTTP API like any other client."""

from app.cli.main import main

__all__ = ["main"]
