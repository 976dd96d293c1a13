"""Tables as they are read row by row: small ones are kept whole, of large ones the first rows, and all cells on disk.

What is kept becomes text and is searched row by row, which costs an embedding every few rows: a million rows would
take hours. So of a large table only so many rows are kept; the others are cells on pages of a megabyte, which a reader
takes one at a time, and what the columns hold is noted while they pass. No step needs the whole table in memory.
"""

import json
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from app.parsing.clean import clean_text
from app.parsing.document import StoredCells, Table
from app.parsing.limits import ParseLimits
from app.parsing.reasons import parse_failure
from app.parsing.source import Source
from app.parsing.table_profile import TableProfiler
from app.parsing.tables import rectangle

PAGE_ROWS = 10_000
PAGE_CHARACTERS = 1_000_000
"""A page holds at most so many rows, and ends with the row that passes so many characters."""
_LEAST_KEPT = 5_000
"""Cells that every table may keep, as far as one table may, however many tables there are before it."""

ReadHeaders = Callable[[list[list[str]]], int]
"""How many of a table's first rows are headers; it may change them."""


class CellStore:
    """The cells of one document: counts them, and writes pages of them where there is a folder for that."""

    def __init__(self, source: Source) -> None:
        self.limits: ParseLimits = source.limits
        self.may_store = source.cells is not None
        self._folder = source.cells or Path()
        self.most: int = self.limits.sheet_cells if self.may_store else self.limits.cells
        """Cells that a document may have."""
        self._left = self.limits.kept_cells
        self._read = self._bytes = self._tables = 0

    def count(self, cells: int) -> None:
        """So many more were read. Raises `ParseFailed` (`too_complex`)."""
        self._read += cells
        if self._read > self.most:
            raise parse_failure("too_complex", f"It holds more than {self.most} cells.")

    @property
    def allowance(self) -> int:
        """How many cells the next table may have to be kept whole."""
        return min(self.limits.kept_table_cells, max(_LEAST_KEPT, self._left)) if self.may_store else self.most

    def keep(self, cells: int) -> None:
        """So many of a table are kept."""
        self._left -= cells

    def new_table(self) -> int:
        self._tables += 1
        return self._tables

    def write(self, table: int, page: int, rows: Sequence[Sequence[str]]) -> None:
        content = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
        self._bytes += len(content)
        if self._bytes > self.limits.stored_bytes:
            raise parse_failure("too_complex", "The text of its cells is longer than one document may have.")
        (self._folder / page_name(table, page)).write_bytes(content)


def page_name(table: int, page: int) -> str:
    return f"{table}-{page}.json"


class TableBuilder:
    """A table that grows row by row. Rows that hold nothing are the caller's to leave out."""

    def __init__(self, store: CellStore, read_headers: ReadHeaders) -> None:
        self._store = store
        self._read_headers = read_headers
        self._kept: list[list[str]] = []
        self._cells = self._characters = 0
        self._width = 0
        self._allowance = store.allowance
        self._overflow: _Overflow | None = None

    @property
    def is_empty(self) -> bool:
        return not self._kept

    def add(self, row: list[str]) -> None:
        """Raises `ParseFailed` (`too_complex`) where the text of all cells is too long."""
        self._width = max(self._width, len(row))
        if self._overflow is None and self._fits(row):
            self._kept.append(row)
            return
        if self._overflow is None:
            self._overflow = _Overflow(self._store, self._read_headers(self._kept))
            for kept in self._kept:
                self._overflow.add(kept)
        self._overflow.add(row)

    def _fits(self, row: list[str]) -> bool:
        self._cells += len(row)
        self._characters += sum(map(len, row))
        if not self._store.may_store or not self._kept:
            return True
        return self._cells <= self._allowance and self._characters <= self._store.limits.kept_table_characters

    def table(self, *, sheet: str = "", first_row: int = 1) -> Table:
        """Raises `ParseFailed` (`too_complex`) where one row is so wide that the others would be mostly filling."""
        limits, kept = self._store.limits, self._kept
        if len(kept) * self._width > 2 * max(limits.cells, self._cells):
            raise parse_failure("too_complex", "Its rows differ in width too much.")
        self._store.keep(len(kept) * self._width)
        headers = self._read_headers(kept) if self._overflow is None else self._overflow.header_rows
        return Table(
            rows=rectangle(kept, self._width),
            header_rows=headers,
            sheet=sheet,
            first_row=first_row,
            stored=None if self._overflow is None else self._overflow.stored(self._width),
        )


class _Overflow:
    """All rows of a table that has grown large, on their way to pages; and what its columns hold."""

    def __init__(self, store: CellStore, header_rows: int) -> None:
        self.header_rows = header_rows
        self._store = store
        self._number = store.new_table()
        self._profiler = TableProfiler()
        self._starts: list[int] = []
        self._page: list[list[str]] = []
        self._characters = 0
        self._rows = 0

    def add(self, row: list[str]) -> None:
        cells = [clean_text(cell) for cell in row]
        if self._rows >= self.header_rows:
            self._profiler.take(cells)
        if not self._page:
            self._starts.append(self._rows)
        self._page.append(cells)
        self._rows += 1
        self._characters += sum(map(len, cells)) + len(cells)
        if len(self._page) >= PAGE_ROWS or self._characters >= PAGE_CHARACTERS:
            self._write()

    def _write(self) -> None:
        if self._page:
            self._store.write(self._number, len(self._starts), self._page)
        self._page, self._characters = [], 0

    def stored(self, width: int) -> StoredCells:
        self._write()
        self._profiler.take([""] * width)
        return StoredCells(number=self._number, rows=self._rows, starts=self._starts, columns=self._profiler.profiles())


def warning(table: Table) -> str:
    """What is said of a table that is not searched row by row to its end."""
    name = f"The table on sheet “{table.sheet}”" if table.sheet else "The table"
    kept = len(table.rows) - table.header_rows
    return (
        f"{name} has {table.row_count - table.header_rows} rows. The first {kept} are searched row by row; all of them "
        "are kept as cells, and the table's summary describes them all."
    )


def warnings(tables: Sequence[Table | None]) -> list[str]:
    """Of the tables of a document, the first ten."""
    large = (warning(table) for table in tables if table is not None and table.stored is not None)
    return list(islice(large, 10))
