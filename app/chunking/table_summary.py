"""A table as a schema: what it is about, its columns with types, ranges and values, some rows, and how many there are.

Rows answer what a cell holds; this answers which table holds such things, how many there are and how far they reach.
Deterministic, one pass over the cells, and of each column no more is remembered than a handful of values.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.chunking.chunk import cut
from app.chunking.table_forms import Row, column_names, filled, sentence
from app.parsing.document import Table
from app.ports.embedder import TokenCounter

LEAST_ROWS = 2
LEAST_COLUMNS = 2
"""A smaller table says all of this itself."""
CAPTION_BYTES = 160
VALUE_BYTES = 48
FEW_VALUES = 8
MOST_VALUES = 100
"""Different values of a column are told one by one, counted, or said to be more than this."""
EXAMPLES = 3
SAMPLE_ROWS = 5

_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?(?:[eE][+-]?\d{1,3})?")
_CODE = re.compile(r"[+-]?0\d")
"""Digits that begin with a zero are a code, not a quantity."""
_UNITS = "%％¥￥$€£元 "
_DATE = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?(?:[ T]\d{1,2}:\d{2}.{0,16})?")
_TRUTHS = frozenset({"true", "false", "yes", "no", "是", "否", "y", "n"})


@dataclass(frozen=True, slots=True)
class TableSummary:
    text: str
    tokens: int


def table_summary(table: Table, caption: str, room: int, tokens: TokenCounter) -> TableSummary | None:
    """At most `room` tokens; None for a table without column names, or too small to need one."""
    names = [name or f"column {number}" for number, name in enumerate(column_names(table.rows[: table.header_rows]), 1)]
    body = filled(table.rows[table.header_rows :])
    if len(names) < LEAST_COLUMNS or len(body) < LEAST_ROWS:
        return None
    lines = _Lines(room, tokens)
    lines.add(_first_line(table, caption, len(body), len(names)))
    columns = [
        f"{name} ({profile.described})" for name, profile in zip(names, _profiles(body, len(names)), strict=True)
    ]
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


def _profiles(body: Sequence[Row], width: int) -> "list[_Profile]":
    profiles = [_Profile() for _ in range(width)]
    for row in body:
        for profile, cell in zip(profiles, row, strict=False):
            value = cell.strip()
            if value:
                profile.take(value)
    return profiles


@dataclass(slots=True)
class _Range:
    """Least and greatest of a column's values, as they are written; None as soon as one value is of another kind."""

    least: tuple[float, ...] = (math.inf,)
    greatest: tuple[float, ...] = (-math.inf,)
    written: tuple[str, str] = ("", "")

    def take(self, key: tuple[float, ...], value: str) -> None:
        if key < self.least:
            self.least, self.written = key, (value, self.written[1])
        if key > self.greatest:
            self.greatest, self.written = key, (self.written[0], value)

    @property
    def described(self) -> str:
        return " to ".join(dict.fromkeys(cut(value, VALUE_BYTES) for value in self.written))


@dataclass(slots=True)
class _Profile:
    """What is remembered of one column."""

    numbers: _Range | None = field(default_factory=_Range)
    dates: _Range | None = field(default_factory=_Range)
    values: dict[str, None] = field(default_factory=dict)
    """The first different ones, in order."""

    def take(self, value: str) -> None:
        if len(self.values) <= MOST_VALUES:
            self.values[value] = None
        if self.numbers is not None:
            number = _number(value)
            if number is None:
                self.numbers = None
            else:
                self.numbers.take((number,), value)
        if self.dates is not None:
            date = _DATE.fullmatch(value)
            if date is None:
                self.dates = None
            else:
                self.dates.take(tuple(float(part) for part in date.groups()), value)

    @property
    def described(self) -> str:
        if not self.values:
            return "empty"
        if self.dates is not None:
            return f"date, {self.dates.described}"
        if self.numbers is not None:
            return f"number, {self.numbers.described}"
        values = [cut(value, VALUE_BYTES) for value in self.values]
        if all(value.casefold() in _TRUTHS for value in self.values):
            return f"yes or no: {', '.join(values)}"
        if len(values) <= FEW_VALUES:
            return f"text: {', '.join(values)}"
        count = f"more than {MOST_VALUES}" if len(values) > MOST_VALUES else str(len(values))
        return f"text, {count} different, such as {', '.join(values[:EXAMPLES])}"


def _number(value: str) -> float | None:
    bare = value.strip(_UNITS)
    if _NUMBER.fullmatch(bare) is None or _CODE.match(bare) is not None:
        return None
    number = float(bare.replace(",", ""))
    return number if math.isfinite(number) else None


class _Lines:
    """Lines as long as there is room."""

    def __init__(self, room: int, tokens: TokenCounter) -> None:
        self._room = room
        self._tokens = tokens
        self._used = 0
        self._lines: list[str] = []

    def add(self, line: str, share: float = 1.0) -> bool:
        """False where the line would not fit in this share of the room."""
        cost = self._tokens.count(line) + 1
        if self._used + cost > self._room * share:
            return False
        self._lines.append(line)
        self._used += cost
        return True

    @property
    def text(self) -> str:
        return "\n".join(self._lines)
