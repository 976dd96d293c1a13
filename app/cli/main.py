"""Commands by subject, and the one place where an expected error becomes a sentence and an exit code."""

import os
import sys
from contextlib import suppress

import typer
from pydantic import ValidationError
from rich import get_console
from rich.console import Console
from rich.markup import escape

from app.cli import account, consistency, documents, knowledge_bases, one_document, questions, server
from app.core.errors import BigGraphError
from app.core.settings import setting_problems

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Knowledge bases: documents in, cited answers out.",
)
for module in (server, account, knowledge_bases, documents, one_document, questions, consistency):
    module.register(app)

errors = Console(stderr=True)
_ANY_WIDTH = 100_000
"""Columns. Lines that go to a file or another program are whole, so that these find names and addresses in them."""


def main() -> None:
    """Runs the command and ends the process at once: what was opened is closed, and an interpreter that has imported
    the engines would take seconds to tidy itself up."""
    code = run()
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):  # whoever read it has left
            stream.flush()
    os._exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Exit codes: 0 done, 1 an expected error (said on standard error), 2 wrong usage, 130 interrupted.

    `arguments` without the program's name; those of the process where they are left out.
    """
    console = get_console()
    if not console.is_terminal:
        console.width = _ANY_WIDTH
    try:
        app(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BigGraphError as error:
        errors.print(f"[red]{error.error_code}[/red]: {escape(error.detail)}", highlight=False, soft_wrap=True)
        return 1
    except ValidationError as error:
        for problem in setting_problems(error):
            errors.print(f"[red]bad_setting[/red]: {escape(problem)}", highlight=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
