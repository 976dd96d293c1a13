"""`kb`, `upload`, `status`."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import print as show
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from app.cli.client import Api, ApiError, find_knowledge_base, open_api

ENDED = ("succeeded", "failed", "cancelled")
POLL_SECONDS = 0.3

kb = typer.Typer(no_args_is_help=True, help="Knowledge bases.")


def register(app: typer.Typer) -> None:
    app.add_typer(kb, name="kb")
    app.command()(upload)
    app.command()(status)


@kb.command("create")
def create(name: str, description: str = "") -> None:
    """Makes a knowledge base."""
    with open_api() as api:
        made = api.call("POST", "/v1/knowledge-bases", json={"name": name, "description": description})
        show(f"Made “{made['name']}” ({made['id']}).")


@kb.command("list")
def list_all() -> None:
    """Lists knowledge bases."""
    table = Table("name", Column("id", no_wrap=True), "description")
    with open_api() as api:
        for item in api.pages("/v1/knowledge-bases"):
            table.add_row(item["name"], item["id"], item["description"])
    show(table)


@kb.command("delete")
def delete(name: str, yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False) -> None:
    """Deletes a knowledge base with all its documents."""
    with open_api() as api:
        found = find_knowledge_base(api, name)
        if not yes:
            typer.confirm(f"Delete “{found['name']}” and all its documents?", abort=True)
        api.call("DELETE", f"/v1/knowledge-bases/{found['id']}")
        show(f"Deleted “{found['name']}”.")


@dataclass(frozen=True, slots=True)
class _Outcome:
    path: Path
    error: str | None


def upload(
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Files and folders.")],
    kb_name: Annotated[str, typer.Option("--kb", help="Name or id of the knowledge base.")],
    at_once: Annotated[int, typer.Option(min=1, max=16, help="Files on their way at a time.")] = 4,
) -> None:
    """Uploads files and folders and waits until they can be searched. Files that are there already are skipped."""
    files = list(_files(paths))
    with open_api() as api:
        kb_id = find_knowledge_base(api, kb_name)["id"]
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns) as progress, ThreadPoolExecutor(at_once) as pool:
            task = progress.add_task("uploading", total=len(files))
            outcomes = []
            for outcome in pool.map(lambda path: _upload_one(api, kb_id, path), files):
                outcomes.append(outcome)
                progress.advance(task)
                if outcome.error:
                    progress.console.print(f"[red]failed[/red] {outcome.path}: {outcome.error}", highlight=False)
    failed = sum(outcome.error is not None for outcome in outcomes)
    show(f"{len(outcomes) - failed} ready, {failed} failed.")
    if failed:
        raise typer.Exit(1)


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (
                found
                for found in sorted(path.rglob("*"))
                if found.is_file() and not any(part.startswith(".") for part in found.relative_to(path).parts)
            )
        else:
            yield path


def _upload_one(api: Api, kb_id: str, path: Path) -> _Outcome:
    try:
        with path.open("rb") as file:
            sent = api.call("POST", f"/v1/knowledge-bases/{kb_id}/documents", files={"file": (path.name, file)})
        operation = _wait(api, sent["operation"])
    except (ApiError, OSError) as error:
        return _Outcome(path, error.detail if isinstance(error, ApiError) else str(error))
    problem = operation["error"] if operation and operation["state"] != "succeeded" else None
    return _Outcome(path, problem["detail"] if problem else None)


def _wait(api: Api, operation: dict[str, Any] | None) -> dict[str, Any] | None:
    while operation is not None and operation["state"] not in ENDED:
        time.sleep(POLL_SECONDS)
        operation = api.call("GET", f"/v1/operations/{operation['id']}")
    return operation


def status(kb_name: Annotated[str | None, typer.Option("--kb", help="Name or id: its documents.")] = None) -> None:
    """Shows the state of the service, or the documents of a knowledge base."""
    with open_api() as api:
        if kb_name is None:
            ready = api.call("GET", "/readyz", anonymous=True)
            show(ready)
            return
        found = find_knowledge_base(api, kb_name)
        table = Table("document", "status", "chunks", "pages", "error")
        for item in api.pages(f"/v1/knowledge-bases/{found['id']}/documents"):
            error = item["error"]["detail"] if item["error"] else ""
            pages = "" if item["page_count"] is None else str(item["page_count"])
            table.add_row(item["name"], item["status"], str(item["chunk_count"]), pages, error)
        show(table)
