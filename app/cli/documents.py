"""`upload`, `status`."""

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


def register(app: typer.Typer) -> None:
    app.command()(upload)
    app.command()(status)


@dataclass(frozen=True, slots=True)
class _Outcome:
    path: Path
    error: str | None = None
    was_there: bool = False
    cancelled: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Upload:
    """Where files go, and what is said of all of them."""

    api: Api
    kb_id: str
    password: str | None = None
    replace: bool = False


def upload(
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Files and folders.")],
    kb_name: Annotated[str, typer.Option("--kb", help="Name or id of the knowledge base.")],
    at_once: Annotated[int, typer.Option(min=1, max=16, help="Files on their way at a time.")] = 4,
    password: Annotated[str | None, typer.Option(help="Opens the files that are protected.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="A file is the new version of the document of its name.")
    ] = False,
) -> None:
    """Uploads files and folders and waits until they can be searched. Files that are there already are skipped."""
    files = list(_files(paths))
    if not files:
        raise InvalidInput(
            f"There is no file in {', '.join(map(str, paths))}. What begins with a dot is left out.",
            code="nothing_to_upload",
        )
    if replace:
        _require_distinct_names(files)
    with open_api() as api:
        into = _Upload(api, find_knowledge_base(api, kb_name)["id"], password, replace)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        outcomes = []
        with Progress(*columns) as progress:
            task = progress.add_task("uploading", total=len(files))
            for outcome in _upload_all(into, files, at_once):
                outcomes.append(outcome)
                progress.advance(task)
                for line in _lines(outcome):
                    progress.console.print(line, highlight=False)
    failed = sum(outcome.error is not None for outcome in outcomes)
    skipped = sum(outcome.was_there for outcome in outcomes)
    cancelled = sum(outcome.cancelled for outcome in outcomes)
    others = f"{skipped} there already, " if skipped else ""
    others += f"{cancelled} cancelled, " if cancelled else ""
    show(f"{len(outcomes) - failed - skipped - cancelled} ready, {others}{failed} failed.")
    if failed or cancelled:
        raise typer.Exit(1)


def _lines(outcome: _Outcome) -> list[str]:
    """What is told of a file beside the counts."""
    path = escape(str(outcome.path))
    if outcome.cancelled:
        return [f"[yellow]cancelled[/yellow] {path}"]
    if outcome.error:
        return [f"[red]failed[/red] {path}: {escape(outcome.error)}"]
    return [f"[yellow]note[/yellow] {path}: {escape(note)}" for note in outcome.notes]


def _require_distinct_names(files: list[Path]) -> None:
    """Documents are told apart by their names: of two files of one name, one would take the other's place."""
    name, count = Counter(path.name for path in files).most_common(1)[0]
    if count > 1:
        raise InvalidInput(
            f"{count} of the files are called “{name}”, and --replace goes by names. Upload them one folder at a time "
            "into knowledge bases of their own, or without --replace.",
            code="ambiguous_names",
        )


def _upload_all(into: _Upload, files: list[Path], at_once: int) -> Iterator[_Outcome]:
    """Outcomes in the order in which they are known. Leaving early leaves what has not begun."""
    with ThreadPoolExecutor(at_once) as pool:
        uploads = [pool.submit(_upload_one, into, path) for path in files]
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


def _upload_one(into: _Upload, path: Path) -> _Outcome:
    api, documents = into.api, f"/v1/knowledge-bases/{into.kb_id}/documents"
    fields = {"password": into.password} if into.password else {}
    try:
        namesakes = [found["id"] for found in api.pages(documents, name=path.name) if found["name"] == path.name]
        if into.replace and len(namesakes) > 1:
            return _Outcome(path, f"{len(namesakes)} documents have this name. Delete all but the one to replace.")
        target = ("PUT", f"/v1/documents/{namesakes[0]}/content") if into.replace and namesakes else ("POST", documents)
        with path.open("rb") as file:
            sent = api.call(*target, files={"file": (path.name, file)}, data=fields)
        operation = wait(api, sent["operation"]) if sent["operation"] else None
        warnings = api.call("GET", f"/v1/documents/{sent['document']['id']}")["warnings"] if operation else []
    except (ApiError, OSError) as error:
        return _Outcome(path, error.detail if isinstance(error, ApiError) else str(error))
    if operation and operation["state"] == "cancelled":
        return _Outcome(path, cancelled=True)
    if operation and operation["state"] == "failed":
        return _Outcome(path, operation["error"]["detail"])
    if sent["outcome"] == "unchanged":
        return _Outcome(path, was_there=True)
    return _Outcome(path, notes=(*_notes(sent["outcome"], namesakes, operation), *warnings))


def _notes(outcome: str, namesakes: list[str], operation: dict[str, Any] | None) -> Iterator[str]:
    if outcome == "created" and namesakes:
        yield "Another document of this name is there, and is searched as well. --replace makes a file its new version."
    if outcome == "replaced" and operation and "reused" in operation["counts"]:
        yield note_of_version(operation)


def note_of_version(operation: dict[str, Any]) -> str:
    """What became of the chunks of a new version, by its ingestion that has succeeded."""
    counts = operation["counts"]
    said = f"New version: {counts['reused']} of {counts['chunks']} chunks reused."
    if "edits_carried" in counts:
        said += f" {counts['edits_carried']} that people had changed are changed as before."
    if counts.get("edits_lost"):
        said += f" The text of {counts['edits_lost']} others is gone: `lost_edits` of /v1/operations/{operation['id']}."
    return said


def wait(api: Api, operation: dict[str, Any]) -> dict[str, Any]:
    """The operation when it has ended."""
    while operation["state"] not in ENDED:
        time.sleep(POLL_SECONDS)
        operation = api.call("GET", f"/v1/operations/{operation['id']}")
    return operation


def status(kb_name: Annotated[str | None, typer.Option("--kb", help="Name or id: its documents.")] = None) -> None:
    """Shows the state of the service, or the documents of a knowledge base."""
    with open_api() as api:
        if kb_name is None:
            ready = api.call("GET", "/readyz", anonymous=True)
            parts = Table("part", "state", title=f"{api.url}: {ready['status']}", title_justify="left")
            for part, state in ready["parts"].items():
                parts.add_row(part.replace("_", " "), state.replace("_", " "))
            show(parts)
            return
        found = find_knowledge_base(api, kb_name)
        documents = list(api.pages(f"/v1/knowledge-bases/{found['id']}/documents"))
        if not documents:
            show(escape(no_documents(found)))
            return
        running = api.pages("/v1/operations", knowledge_base_id=found["id"], state="running")
        stages = {item["document_id"]: _stage(item) for item in running if item["kind"] == "ingest"}
    name = Column("document", overflow="fold")  # whole: `document show` asks for it
    table = Table(name, "status", "chunks", "pages", "error or warnings")
    for item in documents:
        remarks = [item["error"]["detail"]] if item["error"] and not _is_cancelled(item) else item["warnings"]
        pages = "" if item["page_count"] is None else str(item["page_count"])
        status_now = stages.get(item["id"]) or status_of(item)
        table.add_row(escape(item["name"]), status_now, str(item["chunk_count"]), pages, escape("\n".join(remarks)))
    show(table)


def status_of(document: dict[str, Any]) -> str:
    """What a person calls it: who has cancelled an upload would not call it failed."""
    return "cancelled" if _is_cancelled(document) else str(document["status"])


def _is_cancelled(document: dict[str, Any]) -> bool:
    return document["status"] == "failed" and document["error"] is not None and document["error"]["code"] == "cancelled"


def _stage(operation: dict[str, Any]) -> str:
    return f"{operation['stage'] or 'begins'}, {operation['percent']} %"
