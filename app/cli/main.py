"""Commands by subject, and the one place where an expected error becomes a sentence and an exit code."""

import sys

import typer
from pydantic import ValidationError
from rich.console import Console

from app.cli import account, consistency, documents, questions, server
from app.core.errors import BigGraphError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Knowledge bases: documents in, cited answers out.",
)
for module in (server, account, documents, questions, consistency):
    module.register(app)

errors = Console(stderr=True)


def main() -> None:
    """Exit codes: 0 done, 1 an expected error (said on standard error), 2 wrong usage, 130 interrupted."""
    try:
        app()
    except BigGraphError as error:
        errors.print(f"[red]{error.error_code}[/red]: {error.detail}", highlight=False)
        sys.exit(1)
    except ValidationError as error:
        for problem in error.errors():
            name = ".".join(str(part) for part in problem["loc"])
            errors.print(f"[red]bad setting[/red] {name}: {problem['msg']}", highlight=False)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
