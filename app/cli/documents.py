"""`kb`, `upload`, `status`."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import print as show
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from app.cli.client import Api, ApiError, find_knowledge_base, no_documents, open_api
from app.core.errors import InvalidInput

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
        show(escape(f"Made “{made['name']}” ({made['id']})."))


@kb.command("list")
def list_all() -> None:
    """Lists knowledge bases."""
    table = Table("name", Column("id", no_wrap=True), "description")
    with open_api() as api:
        for item in api.pages("/v1/knowledge-bases"):
            table.add_row(escape(item["name"]), item["id"], escape(item["description"]))
    show(table)


@kb.command("delete")
def delete(name: str, yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False) -> None:
    """Deletes a knowledge base with all its documents."""
    with open_api() as api:
        found = find_knowledge_base(api, name)
        if not yes:
            typer.confirm(f"Delete “{found['name']}” and all its documents?", abort=True)
        api.call("DELETE", f"/v1/knowledge-bases/{found['id']}")
        show(escape(f"Deleted “{found['name']}”."))


@dataclass(frozen=True, slots=True)
class _Outcome:
    path: Path
    error: str | None = None
    was_there: bool = False


def upload(
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Files and folders.")],
    kb_name: Annotated[str, typer.Option("--kb", help="Name or id of the knowledge base.")],
    at_once: Annotated[int, typer.Option(min=1, max=16, help="Files on their way at a time.")] = 4,
    password: Annotated[str | None, typer.Option(help="Opens the files that are protected.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replaces documents of the same name.")] = False,
) -> None:
    """Uploads files and folders and waits until they can be searched. Files that are there already are skipped."""
    files = list(_files(paths))
    if not files:
        raise InvalidInput(
            f"There is no file in {', '.join(map(str, paths))}. What begins with a dot is left out.",
            code="nothing_to_upload",
        )
    twice = [name for name, count in Counter(path.name for path in files).items() if count > 1]
    if replace and twice:
        raise InvalidInput(
            f"Several files are called “{twice[0]}”: each would replace the one before. Upload them without --replace.",
            code="same_name",
        )
    with open_api() as api:
        kb_id = find_knowledge_base(api, kb_name)["id"]
        fields = {**({"password": password} if password else {}), **({"replace_same_name": "true"} if replace else {})}
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        outcomes = []
        with Progress(*columns) as progress:
            task = progress.add_task("uploading", total=len(files))
            for outcome in _upload_all(api, kb_id, files, at_once, fields):
                outcomes.append(outcome)
                progress.advance(task)
                if outcome.error:
                    told = escape(f"{outcome.path}: {outcome.error}")
                    progress.console.print(f"[red]failed[/red] {told}", highlight=False)
    failed = sum(outcome.error is not None for outcome in outcomes)
    skipped = sum(outcome.was_there for outcome in outcomes)
    there = f"{skipped} there already, " if skipped else ""
    show(f"{len(outcomes) - failed - skipped} ready, {there}{failed} failed.")
    if failed:
        raise typer.Exit(1)


def _upload_all(api: Api, kb_id: str, files: list[Path], at_once: int, fields: dict[str, str]) -> Iterator[_Outcome]:
    """Outcomes in the order in which they are known. Leaving early leaves what has not begun."""
    with ThreadPoolExecutor(at_once) as pool:
        uploads = [pool.submit(_upload_one, api, kb_id, path, fields) for path in files]
        try:
            for done in as_completed(uploads):
                yield done.result()
        finally:
            pool.shutdown(cancel_futures=True)


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


def _upload_one(api: Api, kb_id: str, path: Path, fields: dict[str, str]) -> _Outcome:
    try:
        with path.open("rb") as file:
            content = {"file": (path.name, file)}
            sent = api.call("POST", f"/v1/knowledge-bases/{kb_id}/documents", files=content, data=fields)
        operation = _wait(api, sent["operation"])
    except (ApiError, OSError) as error:
        return _Outcome(path, error.detail if isinstance(error, ApiError) else str(error))
    if operation and operation["state"] != "succeeded":
        return _Outcome(path, operation["error"]["detail"] if operation["error"] else f"It was {operation['state']}.")
    return _Outcome(path, was_there=sent["outcome"] == "unchanged")


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
        documents = list(api.pages(f"/v1/knowledge-bases/{found['id']}/documents"))
        if not documents:
            show(escape(no_documents(found)))
            return
        running = api.pages("/v1/operations", knowledge_base_id=found["id"], state="running")
        stages = {item["document_id"]: _stage(item) for item in running if item["kind"] == "ingest"}
    table = Table("document", "status", "chunks", "pages", "error")
    for item in documents:
        error = item["error"]["detail"] if item["error"] else ""
        pages = "" if item["page_count"] is None else str(item["page_count"])
        status_now = stages.get(item["id"], item["status"])
        table.add_row(escape(item["name"]), status_now, str(item["chunk_count"]), pages, escape(error))
    show(table)


def _stage(operation: dict[str, Any]) -> str:
    return f"{operation['stage'] or 'begins'}, {operation['percent']} %"
