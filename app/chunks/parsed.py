"""The parsed form of a document, read again for its tables and headings.

It is one blob, and may be hundreds of megabytes: it is read an element at a time, and only one form at a time. The rows
of large tables stand beside it, and only the pages that are asked for are read.
"""

import asyncio
import tempfile
from bisect import bisect_right
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from pydantic_core import from_json

from app.chunks import repository
from app.chunks.parsed_form import (
    ParsedForm,
    TableRows,
    elements_of,
    fitting,
    outline_of,
    rows_of,
    shown_columns,
    tables_of,
)
from app.chunks.schemas import ElementOut, OutlineOut, TableOut
from app.core.errors import EngineRejected, NotFound
from app.core.scope import TenantScope
from app.core.slots import TenantSlots
from app.documents import service as documents
from app.ingestion.projection import cells_key, parsed_key
from app.models import Document
from app.parsing.cells import page_name
from app.parsing.document import StoredCells
from app.ports.parts import Parts

Result = TypeVar("Result")


class ParsedForms:
    """Reads one parsed form at a time, however many are asked for, in turns that are fair to other tenants.

    Everything raises `NotFound` for a document that is not there, or of which nothing is ready yet.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._turns = TenantSlots(1)

    async def elements(
        self, scope: TenantScope, document_id: UUID, after: int, limit: int, page: int | None
    ) -> tuple[list[ElementOut], bool]:
        """At most `limit` elements, of `page` where one is given, from the one numbered `after` + 1 on; and whether
        more follow. Fewer of long ones, but at least one."""

        async def read(document: Document) -> tuple[list[ElementOut], bool]:
            return await self._read(scope, document, lambda form: elements_of(form, after, limit, page))

        return await self._of_active(scope, document_id, read)

    async def tables(
        self, scope: TenantScope, document_id: UUID, after: int, limit: int
    ) -> tuple[list[TableOut], bool]:
        """At most `limit` tables, fewer of wide ones, of which the first `after` are left out; whether more follow."""

        async def read(document: Document) -> tuple[list[TableOut], bool]:
            return await self._read(scope, document, lambda form: tables_of(form, after, limit))

        return await self._of_active(scope, document_id, read)

    async def table_rows(
        self, scope: TenantScope, document_id: UUID, number: int, after: int, limit: int, columns_after: int
    ) -> TableRows:
        """At most `limit` rows of a table, of which the first `after` are left out; of a wide one fewer.

        Of a very wide one not all columns, of which the first `columns_after` are left out; rows are as many whichever
        columns are asked for. Raises `NotFound` for a number that no table has, too.
        """
        columns = shown_columns(columns_after)

        async def read(document: Document) -> TableRows:
            found, stored = await self._read(scope, document, lambda form: rows_of(form, number, after, limit, columns))
            if stored is not None:
                first, most = found.table.header_rows + after, fitting(found.table, limit)
                found.rows.extend([row async for row in self._stored(scope, document, stored, first, most, columns)])
            return found

        return await self._of_active(scope, document_id, read)

    async def outline(self, scope: TenantScope, document_id: UUID) -> OutlineOut:
        """Headings as a tree, with the chunks that hold their text."""

        async def read(document: Document) -> OutlineOut:
            async with self._parts.database.read(scope) as session:
                places = await repository.places(session, document)
            return await self._read(scope, document, lambda form: outline_of(form, document.id, places))

        return await self._of_active(scope, document_id, read)

    async def _of_active(
        self, scope: TenantScope, document_id: UUID, read: Callable[[Document], Awaitable[Result]]
    ) -> Result:
        """What `read` finds in the active version.

        While it waits and reads another version may take the place of that one, which is purged then: where something
        is missing it is looked for in the newer one.
        """
        document = await self._active(scope, document_id)  # before the turn: what is not there need not wait
        async with self._turns.slot(scope.tenant_id):
            while True:
                try:
                    return await read(document)
                except NotFound:
                    newer = await self._active(scope, document_id)
                    if newer.active_generation == document.active_generation:
                        raise
                    document = newer

    async def _active(self, scope: TenantScope, document_id: UUID) -> Document:
        async with self._parts.database.read(scope) as session:
            document = await documents.get(session, document_id)
        if document.active_generation is None:
            raise NotFound(f"Nothing of the document {document_id} is ready yet.", code="parsed_form_not_found")
        return document

    async def _read(self, scope: TenantScope, document: Document, look: Callable[[ParsedForm], Result]) -> Result:
        """What `look`, in a thread, makes of a version's parsed form."""
        key = parsed_key(document.id, document.active_generation or 0)
        with tempfile.TemporaryDirectory(prefix="parsed-", dir=self._parts.settings.scratch_dir) as scratch:
            path = Path(scratch) / "parsed.json"
            await self._parts.blobs.fetch(scope, key, path)
            return await asyncio.to_thread(_look, path, look)

    async def _stored(
        self, scope: TenantScope, document: Document, cells: StoredCells, first: int, limit: int, columns: slice
    ) -> AsyncIterator[list[str]]:
        """Rows from the one with that number, from 0 with the header's, filled up to the table's width."""
        width = len(cells.columns[columns])
        last = min(first + limit, cells.rows)
        while first < last:
            page = bisect_right(cells.starts, first)
            key = f"{cells_key(document.id, document.active_generation or 0)}/{page_name(cells.number, page)}"
            content = b"".join([piece async for piece in self._parts.blobs.get(scope, key)])
            skipped = first - cells.starts[page - 1]
            rows: list[list[str]] = from_json(content)[skipped : skipped + last - first]
            for row in rows:
                shown = row[columns]
                yield shown + [""] * (width - len(shown))
            if not rows:
                raise EngineRejected("The cells of this table are damaged.", code="cells_damaged")
            first += len(rows)


def _look(path: Path, look: Callable[[ParsedForm], Result]) -> Result:
    with path.open("rb") as lines:
        return look(ParsedForm.of(lines))
