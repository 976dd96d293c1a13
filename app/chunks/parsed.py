"""The parsed form of a document, read again for its tables and headings.

It is one blob, and may be hundreds of megabytes: it is read without making elements of it, and one at a time. The
rows of large tables stand beside it, and only the pages that are asked for are read.
"""

import asyncio
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from pydantic_core import from_json

from app.chunking.sections import HeadingPath
from app.chunking.table_forms import whole_names
from app.chunks.schemas import OutlineNode, OutlineOut, TableOut
from app.core.errors import EngineRejected, NotFound
from app.core.scope import TenantScope
from app.ingestion.projection import cells_key, parsed_key
from app.models import Document
from app.parsing.cells import page_name
from app.parsing.document import Element, ElementKind, StoredCells, Table
from app.parsing.table_profile import column_profiles
from app.ports.parts import Parts

ParsedForm = Mapping[str, Any]
"""A `ParsedDocument` as JSON, without what is as by default. Ingestion wrote it, and validated it before."""
Result = TypeVar("Result")
MOST_HEADINGS = 5_000
MOST_CELLS = 200_000
"""Of one answer: writing it down holds up everybody. A thousand rows of thousands of columns would for seconds."""


class ParsedForms:
    """Reads one parsed form at a time, however many are asked for."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._turn = asyncio.Semaphore(1)

    async def table_rows(
        self, scope: TenantScope, document: Document, number: int, after: int, limit: int
    ) -> "TableRows":
        """At most `limit` rows of a table, of which the first `after` are left out; of a wide one fewer.

        Raises `NotFound`.
        """
        found, stored = await self.read(scope, document, lambda form: _rows(form, number, after, limit))
        limit = min(limit, max(1, MOST_CELLS // max(1, len(found.table.columns))))
        if stored is None:
            del found.rows[limit:]
        else:
            first = found.table.header_rows + after
            found.rows.extend([row async for row in self._stored(scope, document, stored, first, limit)])
        return found

    async def _stored(
        self, scope: TenantScope, document: Document, cells: StoredCells, first: int, limit: int
    ) -> AsyncIterator[list[str]]:
        """Rows from the one with that number, from 0 with the header's, filled up to the table's width."""
        last = min(first + limit, cells.rows)
        while first < last:
            page = bisect_right(cells.starts, first)
            key = f"{cells_key(document.id, document.active_generation or 0)}/{page_name(cells.number, page)}"
            content = b"".join([piece async for piece in self._parts.blobs.get(scope, key)])
            skipped = first - cells.starts[page - 1]
            rows: list[list[str]] = from_json(content)[skipped : skipped + last - first]
            for row in rows:
                yield row + [""] * (len(cells.columns) - len(row))
            if not rows:
                raise EngineRejected("The cells of this table are damaged.", code="cells_damaged")
            first += len(rows)

    async def read(self, scope: TenantScope, document: Document, look: Callable[[ParsedForm], Result]) -> Result:
        """What `look`, in a thread, makes of the active version's parsed form. `NotFound` where nothing is ready."""
        if document.active_generation is None:
            raise NotFound(f"Nothing of the document {document.id} is ready yet.", code="parsed_form_not_found")
        async with self._turn:
            with tempfile.TemporaryDirectory(prefix="parsed-", dir=self._parts.settings.scratch_dir) as scratch:
                path = Path(scratch) / "parsed.json"
                await self._parts.blobs.fetch(scope, parsed_key(document.id, document.active_generation), path)
                return await asyncio.to_thread(lambda: look(from_json(path.read_bytes())))


def tables(form: ParsedForm, after: int, limit: int) -> list[TableOut]:
    """At most so many tables, of which the first `after` are left out."""
    wanted = islice(enumerate(_tables(form), start=1), after, after + limit)
    return [_table_out(number, page, table) for number, (page, table) in wanted]


@dataclass(frozen=True, slots=True)
class TableRows:
    table: TableOut
    header: list[list[str]]
    rows: list[list[str]]


def _rows(form: ParsedForm, number: int, after: int, limit: int) -> tuple[TableRows, StoredCells | None]:
    """A table with the rows asked for, or with none of them where its cells are stored, and then where."""
    for position, (page, table) in enumerate(_tables(form), start=1):
        if position == number:
            begin = table.header_rows + after
            wanted = table.rows[begin : begin + limit] if table.stored is None else []
            return TableRows(_table_out(number, page, table), table.rows[: table.header_rows], wanted), table.stored
    raise NotFound(f"The document has no table {number}.", code="table_not_found")


def _tables(form: ParsedForm) -> Iterator[tuple[int | None, Table]]:
    """Page and cells of each."""
    found = (element for element in form.get("elements", ()) if element.get("table") is not None)
    return ((element.get("page"), Table.model_validate(element["table"])) for element in found)


def _table_out(number: int, page: int | None, table: Table) -> TableOut:
    width = len(table.rows[0]) if table.rows else 0
    return TableOut(
        number=number,
        caption=table.caption,
        sheet=table.sheet,
        page=page,
        columns=whole_names(table.rows[: table.header_rows]) if table.header_rows else [""] * width,
        header_rows=table.header_rows,
        row_count=table.row_count - table.header_rows,
        profiles=table.stored.columns if table.stored else column_profiles(table.rows[table.header_rows :], width),
    )


def outline(form: ParsedForm, document_id: UUID, places: Sequence[tuple[UUID, int, int]]) -> OutlineOut:
    """Headings as a tree. `places`: chunks with start and end in the document's text."""
    top = OutlineOut(document_id=document_id, title=form.get("title", ""), chunk_ids=[], headings=[], truncated=False)
    starts: list[int] = []
    nodes: list[OutlineNode] = []
    path = HeadingPath()
    position = 0
    for element in form.get("elements", ()):
        start, text = position, element.get("text", "")
        position += len(text) + len("\n\n") if text else 0
        if element["kind"] != ElementKind.HEADING or not text.strip():
            continue
        if len(nodes) == MOST_HEADINGS:
            top.truncated = True
            break
        heading = Element.model_validate(element)
        path.enter(len(nodes), heading)
        node = OutlineNode(title=text, level=heading.level, page=heading.page, chunk_ids=[], children=[])
        (nodes[path.path[-2]].children if len(path.path) > 1 else top.headings).append(node)
        nodes.append(node)
        starts.append(start)
    for chunk_id, start, end in places:
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, end) - 1
        for at in range(first, max(first, last) + 1):
            (nodes[at] if at >= 0 else top).chunk_ids.append(chunk_id)
    return top
