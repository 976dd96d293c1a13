"""`document`: one document of a knowledge base, by its name or id."""

import shlex
from datetime import datetime
from typing import Annotated, Any

import typer
from rich import print as show
from rich.markup import escape
from rich.table import Column, Table

from app.cli.client import Api, ApiError, find_knowledge_base, open_api
from app.cli.documents import note_of_version, status_of, wait
from app.cli.invocation import invocation

document = typer.Typer(no_args_is_help=True, help="One document.")
NameOrId = Annotated[str, typer.Argument(metavar="DOCUMENT", help="Its name or id.")]
KbName = Annotated[str, typer.Option("--kb", help="Name or id of its knowledge base.")]


def register(app: typer.Typer) -> None:
    app.add_typer(document, name="document")


@document.command("show")
def show_one(name: NameOrId, kb_name: KbName) -> None:
    """Shows how it was read, and everything that was left out, repaired or uncertain."""
    with open_api() as api:
        found = _find(api, kb_name, name)
    table = Table(Column(), Column(overflow="fold"), show_header=False)
    for title, value in _facts(found).items():
        if value not in (None, ""):
            table.add_row(title, escape(str(value)))
    show(table)


@document.command("delete")
def delete(
    name: NameOrId, kb_name: KbName, yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False
) -> None:
    """Deletes it. Nothing finds it any more when this returns."""
    with open_api() as api:
        found = _find(api, kb_name, name)
        if not yes:
            typer.confirm(f"Delete “{found['name']}” with its {found['chunk_count']} chunks?", abort=True)
        api.call("DELETE", f"/v1/documents/{found['id']}")
    show(escape(f"Deleted “{found['name']}”."))


@document.command("reprocess")
def reprocess(
    name: NameOrId,
    kb_name: KbName,
    password: Annotated[str | None, typer.Option(help="Opens it, if protected.")] = None,
) -> None:
    """Reads and cuts it once more, by what the knowledge base's settings are now, and waits until that is done."""
    with open_api() as api:
        found = _find(api, kb_name, name)
        body = {"password": password} if password else {}
        sent = api.call("POST", f"/v1/documents/{found['id']}:reprocess", json=body)
        operation = wait(api, sent["operation"])
    if operation["error"]:
        raise ApiError(operation["error"]["detail"], code=operation["error"]["code"])
    show(escape(f"“{found['name']}”: {note_of_version(operation)}"))


@document.command("cancel")
def cancel(name: NameOrId, kb_name: KbName) -> None:
    """Ends its ingestion. A version that was there before goes on being found."""
    with open_api() as api:
        found = _find(api, kb_name, name)
        ingestion = next(
            (item for item in api.pages("/v1/operations", document_id=found["id"]) if item["kind"] == "ingest"), None
        )
        if ingestion is None:
            raise ApiError(f"“{found['name']}” is not being ingested.", code="operation_not_found")
        wait(api, api.call("POST", f"/v1/operations/{ingestion['id']}:cancel"))
    show(escape(f"Cancelled “{found['name']}”. `{invocation()} document reprocess` begins again."))


def _find(api: Api, kb_name: str, name_or_id: str) -> dict[str, Any]:
    """By id or by its whole name. Raises `ApiError`, also where several have the name."""
    kb = find_knowledge_base(api, kb_name)
    documents = list(api.pages(f"/v1/knowledge-bases/{kb['id']}/documents"))
    found = [item for item in documents if item["id"] == name_or_id]
    found = found or [item for item in documents if item["name"] == name_or_id]
    if not found:
        raise ApiError(
            f"“{kb['name']}” has no document “{name_or_id}”. `{invocation()} status --kb {shlex.quote(kb['name'])}` "
            "shows what it has.",
            code="document_not_found",
        )
    if len(found) > 1:
        ids = ", ".join(item["id"] for item in found)
        raise ApiError(f"{len(found)} documents are called “{name_or_id}”. Give the id: {ids}.", code="ambiguous_name")
    return found[0]


def _facts(found: dict[str, Any]) -> dict[str, object]:
    modes = ", ".join(f"{count} by {mode}" for mode, count in found["page_modes"].items())
    return {
        "name": found["name"],
        "id": found["id"],
        "status": status_of(found),
        "error": found["error"]["detail"] if found["error"] else "",
        "warnings": "\n".join(found["warnings"]),
        "version searched": found["active_generation"] or "none",
        "chunks": found["chunk_count"],
        "pages": f"{found['page_count']} ({modes})" if modes else found["page_count"],
        "confidence of OCR": found["confidence"],
        "type": found["media_type"],
        "read by": found["parser"],
        "bytes": found["size_bytes"],
        "tags": ", ".join(found["tags"]),
        "external id": found["external_id"],
        "uploaded": _moment(found["created_at"]),
        "changed": _moment(found["updated_at"]),
    }


def _moment(timestamp: str) -> str:
    """In the time zone of the person who reads it."""
    return f"{datetime.fromisoformat(timestamp).astimezone():%Y-%m-%d %H:%M:%S %Z}"
