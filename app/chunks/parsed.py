"""The parsed form of a document, read again for its tables and headings.

It is one blob, and may be hundreds of megabytes: it is read without making elements of it, and one at a time.
"""

import asyncio
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from pydantic_core import from_json

from app.chunking.sections import HeadingPath
from app.chunking.table_forms import whole_names
from app.chunks.schemas import OutlineNode, OutlineOut, TableOut
from app.core.errors import NotFound
from app.core.scope import TenantScope
from app.ingestion.projection import parsed_key
from app.models import Document
from app.parsing.document import Element, ElementKind
from app.ports.parts import Parts

ParsedForm = Mapping[str, Any]
"""A `ParsedDocument` as JSON. Ingestion wrote it, and validated it before."""
Result = TypeVar("Result")
MOST_HEADINGS = 5_000


class ParsedForms:
    """Reads one parsed form at a time, however many are asked for."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._turn = asyncio.Semaphore(1)

    async def read(self, scope: TenantScope, document: Document, look: Callable[[ParsedForm], Result]) -> Result:
        """What `look`, in a thread, makes of the active version's parsed form. `NotFound` where nothing is ready."""
        if document.active_generation is None:
            raise NotFound(f"Nothing of the document {document.id} is ready yet.", code="parsed_form_not_found")
        async with self._turn:
            with tempfile.TemporaryDirectory(prefix="parsed-", dir=self._parts.settings.scratch_dir) as scratch:
                path = Path(scratch) / "parsed.json"
                await self._parts.blobs.fetch(scope, parsed_key(document.id, document.active_generation), path)
                return await asyncio.to_thread(lambda: look(from_json(path.read_bytes())))


def tables(form: ParsedForm) -> list[TableOut]:
    return [_table_out(number, element) for number, element in enumerate(_tables(form), start=1)]


def table_rows(
    form: ParsedForm, number: int, after: int, limit: int
) -> tuple[TableOut, list[list[str]], list[list[str]]]:
    """A table, its header rows, and at most `limit` of its rows, of which the first `after` are left out."""
    for position, element in enumerate(_tables(form), start=1):
        if position == number:
            rows: list[list[str]] = element["table"]["rows"]
            first = element["table"]["header_rows"]
            begin = first + after
            return _table_out(number, element), rows[:first], rows[begin : begin + limit]
    raise NotFound(f"The document has no table {number}.", code="table_not_found")


def _tables(form: ParsedForm) -> Iterator[Mapping[str, Any]]:
    return (element for element in form["elements"] if element["table"] is not None)


def _table_out(number: int, element: Mapping[str, Any]) -> TableOut:
    table = element["table"]
    header_rows: int = table["header_rows"]
    width = len(table["rows"][0]) if table["rows"] else 0
    return TableOut(
        number=number,
        caption=table["caption"],
        sheet=table["sheet"],
        page=element["page"],
        columns=whole_names(table["rows"][:header_rows]) if header_rows else [""] * width,
        header_rows=header_rows,
        row_count=len(table["rows"]) - header_rows,
    )


def outline(form: ParsedForm, document_id: UUID, places: Sequence[tuple[UUID, int, int]]) -> OutlineOut:
    """Headings as a tree. `places`: chunks with start and end in the document's text."""
    top = OutlineOut(document_id=document_id, title=form["title"], chunk_ids=[], headings=[], truncated=False)
    starts: list[int] = []
    nodes: list[OutlineNode] = []
    path = HeadingPath()
    position = 0
    for element in form["elements"]:
        start, text = position, element["text"]
        position += len(text) + len("\n\n") if text else 0
        if element["kind"] != ElementKind.HEADING or not text.strip():
            continue
        if len(nodes) == MOST_HEADINGS:
            top.truncated = True
            break
        heading = Element(kind=ElementKind.HEADING, text=text, level=element["level"], page=element["page"])
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
