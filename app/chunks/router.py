"""`/v1/chunks`, a preview of chunking, and what a document holds: its elements, tables and headings."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import PlainTextResponse, Response

from app.chunks import service
from app.chunks.preview import MOST_BYTES
from app.chunks.schemas import (
    ChunkChangeOut,
    ChunkEditOut,
    ChunkPatch,
    ElementOut,
    OutlineOut,
    PreviewForm,
    PreviewOut,
    TableOut,
    TableRowsOut,
)
from app.chunks.state import WorkshopDep, workshop_lifespan
from app.core.pagination import Page, Paging, by_id, page_before, page_of
from app.documents.forms import form_schema, read_file_form
from app.documents.schemas import ChunkOut
from app.documents.uploads import receive
from app.identity.access import Editor, PartsDep, Reading, Viewer, Writing
from app.ingestion.schemas import OperationOut
from app.knowledge_bases import service as knowledge_bases
from app.parsing.tables import markdown

router = APIRouter(tags=["chunks"], lifespan=workshop_lifespan)

PREVIEWS = re.compile(r"/v1/knowledge-bases/[^/]+/chunks:preview/?")
"""Paths whose bodies may be long."""
PREVIEW_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": form_schema(PreviewForm)}}
MARKDOWN = "text/markdown; charset=utf-8"
AfterNumber = Annotated[int, Query(ge=0, lt=2**31, description="Number after which to begin", alias="cursor")]
TABLE_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/markdown": {"schema": {"type": "string"}}}, "model": TableRowsOut}
}


@router.post("/v1/knowledge-bases/{kb_id}/chunks:preview", openapi_extra=PREVIEW_BODY)
async def preview_chunks(
    kb_id: UUID, request: Request, scope: Editor, parts: PartsDep, workshop: WorkshopDep
) -> PreviewOut:
    """Parses and chunks a file as ingestion would, and stores nothing. For files up to 32 MB, and for a minute."""
    async with parts.database.read(scope) as session:
        kb = await knowledge_bases.get(session, kb_id)  # before the body: it may be long
    most = min(MOST_BYTES, parts.settings.max_upload_bytes)
    async with (
        read_file_form(request, PreviewForm) as (file, asked),
        receive(file, asked.name, parts.settings.scratch_dir, most) as received,
    ):
        return await workshop.previews.preview(kb, asked, received)


@router.get("/v1/chunks/{chunk_id}")
async def get_chunk(chunk_id: UUID, _scope: Viewer, session: Reading) -> ChunkOut:
    """A chunk of the version that is searched."""
    return ChunkOut.model_validate(await service.get(session, chunk_id))


@router.patch("/v1/chunks/{chunk_id}")
async def change_chunk(
    chunk_id: UUID, body: ChunkPatch, scope: Editor, session: Writing, parts: PartsDep
) -> ChunkChangeOut:
    """Changes what a chunk says, or whether it is found. Searches give the old text until `operation` has succeeded.

    A new version of the document keeps the change where its file has the chunk's original text as well.
    """
    chunk, operation = await service.change(session, scope, parts, chunk_id, body)
    return ChunkChangeOut(
        chunk=ChunkOut.model_validate(chunk), operation=OperationOut.of(operation) if operation else None
    )


@router.get("/v1/chunks/{chunk_id}/history")
async def get_chunk_history(chunk_id: UUID, paging: Paging, _scope: Viewer, session: Reading) -> Page[ChunkEditOut]:
    """Who changed what, newest first. A chunk of a new version with the same original text takes the history over; else
    it stays here: see `lost_edits` of the operation.
    """
    rows = await service.history(session, chunk_id, paging)
    return page_of(map(ChunkEditOut.model_validate, rows), paging.limit, by_id)


@router.get("/v1/documents/{document_id}/elements")
async def list_elements(
    document_id: UUID,
    scope: Viewer,
    workshop: WorkshopDep,
    after: AfterNumber = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many elements are given at most")] = 100,
    page: Annotated[int | None, Query(ge=1, lt=2**31, description="Only what stands on this page")] = None,
) -> Page[ElementOut]:
    """All that was read of the active version, in reading order, before it was cut into chunks."""
    items, more = await workshop.parsed.elements(scope, document_id, after, limit, page)
    return page_before(items, _by_number, more=more)


@router.get("/v1/documents/{document_id}/tables")
async def list_tables(
    document_id: UUID,
    scope: Viewer,
    workshop: WorkshopDep,
    after: AfterNumber = 0,
    limit: Annotated[int, Query(ge=1, le=200, description="How many tables are given at most")] = 50,
) -> Page[TableOut]:
    """Tables with their columns, of wide ones fewer than `limit`."""
    items, more = await workshop.parsed.tables(scope, document_id, after, limit)
    return page_before(items, _by_number, more=more)


@router.get("/v1/documents/{document_id}/tables/{number}", response_model=TableRowsOut, responses=TABLE_ANSWERS)
async def get_table(
    document_id: UUID,
    number: Annotated[int, Path(ge=1, lt=2**31, description="Of the table, from 1, in reading order")],
    scope: Viewer,
    workshop: WorkshopDep,
    after: Annotated[int, Query(ge=0, lt=2**31, description="Rows to leave out", alias="cursor")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many rows are given at most")] = 100,
    columns_after: Annotated[int, Query(ge=0, lt=2**31, description="Columns to leave out", alias="column_cursor")] = 0,
    format_: Annotated[
        Literal["json", "markdown"], Query(alias="format", description="Cells, or one text with a table of Markdown")
    ] = "json",
) -> TableRowsOut | Response:
    """Rows of a table as cells, of a wide one fewer than `limit`, and of a very wide one not all columns.

    As Markdown the header is repeated on each page; `x-next-cursor` and `x-next-column-cursor` name the next ones.
    """
    found = await workshop.parsed.table_rows(scope, document_id, number, after, limit, columns_after)
    table, rows = found.table, found.rows
    cursor = str(after + len(rows)) if rows and after + len(rows) < table.row_count else None
    columns = columns_after + len(table.columns)
    column_cursor = str(columns) if columns < table.column_count else None
    if format_ == "json":
        return TableRowsOut(table=table, items=rows, next_cursor=cursor, next_column_cursor=column_cursor)
    return _as_markdown(found.header, rows, {"x-next-cursor": cursor, "x-next-column-cursor": column_cursor})


def _as_markdown(
    header: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], cursors: Mapping[str, str | None]
) -> Response:
    text = markdown([*header, *rows], len(header))
    headers = {name: cursor for name, cursor in cursors.items() if cursor is not None}
    return PlainTextResponse(text, media_type=MARKDOWN, headers=headers)


@router.get("/v1/documents/{document_id}/outline")
async def get_outline(document_id: UUID, scope: Viewer, workshop: WorkshopDep) -> OutlineOut:
    """The document's headings as a tree, each with its page and the chunks that hold its text."""
    return await workshop.parsed.outline(scope, document_id)


def _by_number(item: ElementOut | TableOut) -> str:
    return str(item.number)
