"""A table as a schema: what it is about, its columns with types, ranges and values, some rows, and how many there are.

Rows answer what a cell holds; this answers which table holds such things, how many there are and how far they reach.
Deterministic, but for what a language model has said. Of a table whose cells are stored, the parser has noted what its
columns hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.chunking.chunk import cut
from app.chunking.splitting import fits, split
from app.chunking.table_forms import Row, column_names, filled, sentence
from app.parsing.document import ColumnKind, ColumnProfile, Table
from app.parsing.table_profile import FEW_VALUES, MOST_VALUES, column_profiles
from app.ports.embedder import TokenCounter

LEAST_ROWS = 2
LEAST_COLUMNS = 2
"""A smaller table says all of this itself."""
CAPTION_BYTES = 160
DESCRIPTION_BYTES = 900
VALUE_BYTES = 48
EXAMPLES = 3
SAMPLE_ROWS = 5


@dataclass(frozen=True, slots=True)
class TableSummary:
    text: str
    tokens: int


def table_summary(table: Table, caption: str, room: int, tokens: TokenCounter) -> TableSummary | None:
    """At most `room` tokens; None for a table that is too small to need one, or has neither names nor stored cells."""
    names = column_names(table.rows[: table.header_rows]) or [""] * (len(table.stored.columns) if table.stored else 0)
    names = [name or f"column {number}" for number, name in enumerate(names, start=1)]
    body = filled(table.rows[table.header_rows :])
    if len(names) < LEAST_COLUMNS or len(body) < LEAST_ROWS:
        return None
    lines = _Lines(room, tokens)
    count = len(body) if table.stored is None else table.row_count - table.header_rows
    lines.add(_first_line(table, caption, count, len(names)))
    lines.add_beginning(cut(table.description, DESCRIPTION_BYTES), share=1 / 2)
    profiles = _profiles(table, body, len(names))
    columns = [f"{name} ({_described(profile)})" for name, profile in zip(names, profiles, strict=True)]
    shown = sum(lines.add(column, share=2 / 3) for column in columns)
    if shown < len(columns):
        lines.add(f"and {len(columns) - shown} more columns")
    for row in body[:SAMPLE_ROWS]:
        lines.add(sentence([(name, cut(cell, VALUE_BYTES)) for name, cell in zip(names, row, strict=False)]))
    return TableSummary(lines.text, tokens.count(lines.text)) if lines.text else None


def _first_line(table: Table, caption: str, rows: int, columns: int) -> str:
    about = cut(caption, CAPTION_BYTES) or "Table"
    sheet = f", sheet {cut(table.sheet, VALUE_BYTES)}" if table.sheet and table.sheet not in about else ""
    return f"{about}{sheet}: {rows} rows, {columns} columns."


def _profiles(table: Table, body: Sequence[Row], width: int) -> Sequence[ColumnProfile]:
    return column_profiles(body, width) if table.stored is None else table.stored.columns[:width]


def _described(column: ColumnProfile) -> str:
    values = [cut(value, VALUE_BYTES) for value in column.values]
    match column.kind:
        case ColumnKind.EMPTY:
            return "empty"
        case ColumnKind.DATE | ColumnKind.NUMBER:
            ends = dict.fromkeys(cut(value, VALUE_BYTES) for value in (column.least, column.greatest))
            return f"{column.kind.value}, {' to '.join(ends)}"
        case ColumnKind.TRUTH:
            return f"yes or no: {', '.join(values)}"
        case ColumnKind.TEXT:
            if column.different <= FEW_VALUES:
                return f"text: {', '.join(values)}"
            count = f"more than {MOST_VALUES}" if column.different > MOST_VALUES else str(column.different)
            return f"text, {count} different, such as {', '.join(values[:EXAMPLES])}"


class _Lines:
    """Lines as long as there is room."""

    def __init__(self, room: int, tokens: TokenCounter) -> None:
        self._room = room
        self._tokens = tokens
        self._used = 0
        self._lines: list[str] = []

    def add(self, line: str, share: float = 1.0) -> bool:
        """False where there is no line, or it would not fit in this share of the room."""
        cost = self._tokens.count(line) + 1
        if not line or self._used + cost > self._room * share:
            return False
        self._lines.append(line)
        self._used += cost
        return True

    def add_beginning(self, text: str, share: float) -> None:
        """As much of it as fits in this share of the room, by whole sentences if any does."""
        left = int(self._room * share) - self._used - 1
        if left <= 0:
            return
        ends = [span.end for span in split(text, left, self._tokens)]
        end = max((end for end in ends if fits(text[:end], left, self._tokens) is not None), default=0)
        self.add(text[:end], share)

    @property
    def text(self) -> str:
        return "\n".join(self._lines)
