"""How a part of a table is written: as Markdown under its header, or as sentences that name every column. Pure."""

from collections.abc import Sequence
from typing import Protocol

from app.chunking.chunk import cut
from app.parsing.tables import markdown

HEADER_CELL_BYTES = 64
"""How much of a column's name is repeated where it is too long to be repeated whole."""

Row = Sequence[str]
NamedCell = tuple[str, str]
"""Name of the column, which may be empty, and content."""


class TableForm(Protocol):
    repeats_header: bool
    """Whether every part holds the header as it is."""

    def text(self, caption: str, header: Sequence[Row], body: Sequence[Row]) -> str:
        """A part: caption and rows."""

    def head(self, caption: str, header: Sequence[Row], width: int) -> str:
        """What every part repeats of a table with so many columns."""

    def row(self, row: Row) -> str:
        """What a row adds to a part, at most."""

    def cell(self, text: str) -> str:
        """A cell's text as long as this form makes it."""

    def band(self, columns: Sequence[NamedCell]) -> str:
        """A part of one row."""

    def loses(self, header: Sequence[Row], body: Sequence[Row]) -> bool:
        """Whether something of the header stands in no part."""


class MarkdownForm:
    repeats_header = True

    def text(self, caption: str, header: Sequence[Row], body: Sequence[Row]) -> str:
        return _under_caption(caption, markdown([*header, *filled(body)], len(header)))

    def head(self, caption: str, header: Sequence[Row], width: int) -> str:
        return self.text(caption, header or [[""] * width], [])  # without names Markdown has a header of empty cells

    def row(self, row: Row) -> str:
        return "| " + " | ".join(self.cell(cell) for cell in row) + " |"

    def cell(self, text: str) -> str:
        return text.replace("|", r"\|")

    def band(self, columns: Sequence[NamedCell]) -> str:
        header = [[name for name, _ in columns]] if any(name for name, _ in columns) else []
        return self.text("", header, [[cell for _, cell in columns]])

    def loses(self, _header: Sequence[Row], _body: Sequence[Row]) -> bool:
        return False


class SentenceForm:
    """One line a row: `Model: X200; Price: 30; Stock: 4.` Empty cells are left out."""

    repeats_header = False

    def __init__(self, names: Sequence[str]) -> None:
        self._names = [name or f"column {number}" for number, name in enumerate(names, start=1)]

    def text(self, caption: str, _header: Sequence[Row], body: Sequence[Row]) -> str:
        return _under_caption(caption, "\n".join(self.row(row) for row in filled(body)))

    def head(self, caption: str, _header: Sequence[Row], _width: int) -> str:
        return self.text(caption, [], [])

    def row(self, row: Row) -> str:
        return sentence(list(zip(self._names, row, strict=False)))

    def cell(self, text: str) -> str:
        return text

    def band(self, columns: Sequence[NamedCell]) -> str:
        return sentence(columns)

    def loses(self, header: Sequence[Row], body: Sequence[Row]) -> bool:
        is_cut = any(len(cell.encode()) > HEADER_CELL_BYTES for row in header for cell in row)
        return is_cut or len(header) > 1 or _has_empty_column(body, len(self._names))


def sentence(cells: Sequence[NamedCell]) -> str:
    """The cells of a row that hold something, each after the name of its column."""
    parts = [(name, " ".join(cell.split())) for name, cell in cells if cell.strip()]
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in parts) + "."


def whole_names(header: Sequence[Row]) -> list[str]:
    """One name a column: its header cells from top to bottom, each once, as `2023 / Sales`."""
    return [" / ".join(_names_of(column)) for column in zip(*header, strict=False)]


def _names_of(column: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(" ".join(cell.split()) for cell in column if cell.strip()))


def column_names(header: Sequence[Row]) -> list[str]:
    """The same, short enough to be repeated with every row."""
    return [cut(name, HEADER_CELL_BYTES) for name in whole_names(header)]


def filled(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if any(cell.strip() for cell in row)]


def _has_empty_column(rows: Sequence[Row], width: int) -> bool:
    empty = set(range(width))
    for row in rows:
        empty -= {column for column in empty if column < len(row) and row[column].strip()}
        if not empty:
            return False
    return bool(empty)


def _under_caption(caption: str, text: str) -> str:
    return "\n\n".join(part for part in (" ".join(caption.split()), text) if part)
