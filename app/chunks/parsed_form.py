"""What is told of a parsed form: elements, tables and headings of a document. Pure; it is read an element at a time."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any
from uuid import UUID

from pydantic_core import from_json

from app.chunking.sections import HeadingPath
from app.chunking.table_forms import whole_names
from app.chunks.schemas import ContinuationOut, ElementOut, OutlineNode, OutlineOut, TableOut
from app.core.errors import NotFound
from app.parsing.document import Element, ElementKind, StoredCells, Table, placed
from app.parsing.table_profile import column_profiles

Json = Mapping[str, Any]
MOST_HEADINGS = 5_000
MOST_CELLS = 200_000
"""Of one answer: writing it down holds up everybody. A thousand rows of thousands of columns would for seconds."""
MOST_CHARACTERS = 1_000_000
"""Of the elements of one answer, for the same reason."""
MOST_COLUMNS = 20_000
"""Of all tables of one answer, for the same reason: each has a name and a profile. No sheet has as many, JSON may."""


@dataclass(frozen=True, slots=True)
class ParsedForm:
    """A `ParsedDocument` as JSON, without what is as by default. Ingestion wrote it, and validated it before."""

    document: Json
    """Without its elements."""
    elements: Iterator[Json]

    @classmethod
    def of(cls, lines: Iterable[bytes]) -> "ParsedForm":
        parts = map(from_json, lines)
        document = next(parts)
        # Forms that were written before elements had lines of their own hold them in the first one.
        return cls(document, chain(document.get("elements", ()), parts))


def _text(element: Json) -> str:
    text: str = element.get("text", "")
    return text


def elements_of(form: ParsedForm, after: int, limit: int, page: int | None) -> tuple[list[ElementOut], bool]:
    """Text of tables is left out: they have routes of their own."""
    found: list[ElementOut] = []
    modes: Sequence[str] = form.document.get("page_modes", ())
    characters = table_number = 0
    for number, (start, element) in enumerate(placed(form.elements, _text), start=1):
        text, on = _text(element), element.get("page")
        is_table = element.get("table") is not None
        table_number += is_table
        if number <= after or (page is not None and page not in _pages(element)):
            continue
        shown = "" if is_table else text
        if len(found) == limit or (found and characters + len(shown) > MOST_CHARACTERS):
            return found, True
        characters += len(shown)
        found.append(
            ElementOut(
                number=number,
                kind=element["kind"],
                text=shown,
                level=element.get("level", 0),
                page=on,
                page_mode=modes[on - 1] if on is not None and on <= len(modes) else None,
                bbox=element.get("bbox"),
                confidence=element.get("confidence"),
                language=element.get("language", ""),
                table=table_number if is_table else None,
                start=start,
                end=start + len(text),
            )
        )
    return found, False


def _pages(element: Json) -> set[int | None]:
    """Those that it stands on: of a table there may be several."""
    continuations = (element.get("table") or {}).get("continuations", ())
    return {element.get("page"), *(there["page"] for there in continuations)}


def tables_of(form: ParsedForm, after: int, limit: int) -> tuple[list[TableOut], bool]:
    """Of each the first columns: at least one table is given, so its columns may be more than an answer holds."""
    found: list[TableOut] = []
    columns = 0
    for number, page, table in _tables(form, after):
        columns += min(_width(table), MOST_COLUMNS)
        if len(found) == limit or (found and columns > MOST_COLUMNS):
            return found, True
        found.append(_table_out(number, page, table, shown_columns(0)))
    return found, False


@dataclass(frozen=True, slots=True)
class TableRows:
    table: TableOut
    header: list[list[str]]
    rows: list[list[str]]


def rows_of(
    form: ParsedForm, number: int, after: int, limit: int, columns: slice
) -> tuple[TableRows, StoredCells | None]:
    """A table with the rows asked for, or with none of them where its cells are stored, and then where."""
    found = next(_tables(form, number - 1), None)
    if found is None:
        raise NotFound(f"The document has no table {number}.", code="table_not_found")
    _, page, table = found
    out = _table_out(number, page, table, columns)
    begin = table.header_rows + after
    wanted = table.rows[begin : begin + fitting(out, limit)] if table.stored is None else []
    header = [row[columns] for row in table.rows[: table.header_rows]]
    return TableRows(out, header, [row[columns] for row in wanted]), table.stored


def shown_columns(after: int) -> slice:
    """Those of one answer, of which the first `after` are left out."""
    return slice(after, after + MOST_COLUMNS)


def fitting(table: TableOut, limit: int) -> int:
    """Rows of one answer: none where no column is left."""
    if not table.columns:
        return 0
    return min(limit, max(1, MOST_CELLS // min(table.column_count, MOST_COLUMNS)))


def _tables(form: ParsedForm, after: int) -> Iterator[tuple[int, int | None, Table]]:
    """Number from 1, page and cells of each but the first `after`."""
    found = (element for element in form.elements if element.get("table") is not None)
    for number, element in islice(enumerate(found, start=1), after, None):
        yield number, element.get("page"), Table.model_validate(element["table"])


def _width(table: Table) -> int:
    return len(table.rows[0]) if table.rows else 0


def _table_out(number: int, page: int | None, table: Table, columns: slice) -> TableOut:
    shown = [row[columns] for row in table.rows[: table.header_rows]]
    body = (row[columns] for row in table.rows[table.header_rows :])
    width = _width(table)
    names = whole_names(shown) if table.header_rows else [""] * len(range(width)[columns])
    return TableOut(
        number=number,
        caption=table.caption,
        description=table.description,
        sheet=table.sheet,
        page=page,
        continuations=[
            ContinuationOut(page=there.page, bbox=there.bbox, first_row=there.first_row + 1 - table.header_rows)
            for there in table.continuations
        ],
        columns=names,
        column_count=width,
        header_rows=table.header_rows,
        row_count=table.row_count - table.header_rows,
        profiles=table.stored.columns[columns] if table.stored else column_profiles(body, len(names)),
    )


def outline_of(form: ParsedForm, document_id: UUID, places: Sequence[tuple[UUID, int, int]]) -> OutlineOut:
    """Headings as a tree. `places`: chunks with start and end in the document's text."""
    top = OutlineOut(
        document_id=document_id, title=form.document.get("title", ""), chunk_ids=[], headings=[], truncated=False
    )
    starts: list[int] = []
    nodes: list[OutlineNode] = []
    path = HeadingPath()
    for start, element in placed(form.elements, _text):
        text = _text(element)
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
