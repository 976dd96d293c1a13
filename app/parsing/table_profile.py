"""What the columns of a table hold: kinds, ranges and values, taken down in one pass over its rows.

Of each column no more is remembered than a handful of values, so a table of any length can pass.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.parsing.document import ColumnKind, ColumnProfile

FEW_VALUES = 8
MOST_VALUES = 100
"""Different values of a column are told one by one, counted, or said to be more than this."""
_ROWS_A_STEP = 1000
_VALUE_CHARACTERS = 256
"""Of a value that is remembered; the rest of a longer one says nothing about its column."""

_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?(?:[eE][+-]?\d{1,3})?")
_CODE = re.compile(r"[+-]?0\d")
"""Digits that begin with a zero are a code, not a quantity."""
_UNITS = "%％¥￥$€£元 "
_DATE = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?(?:[ T]\d{1,2}:\d{2}.{0,16})?")
_TRUTHS = frozenset({"true", "false", "yes", "no", "是", "否", "y", "n"})


def column_profiles(rows: Iterable[Sequence[str]], width: int) -> list[ColumnProfile]:
    """Of the first `width` columns."""
    profiler = TableProfiler(width)
    for row in rows:
        profiler.take(row)
    return profiler.profiles()[:width]


class TableProfiler:
    """Takes rows of any width, one after another."""

    def __init__(self, width: int = 0) -> None:
        self._columns = [_Column() for _ in range(width)]
        self._open = list(enumerate(self._columns))
        """Those that the next row may tell something new of."""
        self._rows = 0

    def take(self, row: Sequence[str]) -> None:
        self._rows += 1
        if self._rows % _ROWS_A_STEP == 0:
            self._open = [(position, column) for position, column in self._open if column.is_open]
        while len(self._columns) < len(row):
            self._open.append((len(self._columns), _Column()))
            self._columns.append(self._open[-1][1])
        for position, column in self._open:
            if position < len(row) and (value := row[position].strip()):
                column.take(value)

    def profiles(self) -> list[ColumnProfile]:
        return [column.profile() for column in self._columns]


@dataclass(slots=True)
class _Range:
    """Least and greatest of a column's values, with what is written there."""

    least: tuple[float, ...] = (math.inf,)
    greatest: tuple[float, ...] = (-math.inf,)
    written: tuple[str, str] = ("", "")

    def take(self, key: tuple[float, ...], value: str) -> None:
        if key < self.least:
            self.least, self.written = key, (value, self.written[1])
        if key > self.greatest:
            self.greatest, self.written = key, (self.written[0], value)


@dataclass(slots=True)
class _Column:
    numbers: _Range | None = field(default_factory=_Range)
    dates: _Range | None = field(default_factory=_Range)
    """None as soon as one value is of another kind."""
    values: dict[str, None] = field(default_factory=dict)
    """The first different ones, in order."""

    @property
    def is_open(self) -> bool:
        return self.numbers is not None or self.dates is not None or len(self.values) <= MOST_VALUES

    def take(self, value: str) -> None:
        value = value[:_VALUE_CHARACTERS]
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

    def profile(self) -> ColumnProfile:
        if not self.values:
            return ColumnProfile(kind=ColumnKind.EMPTY)
        kind, written = ColumnKind.TEXT, ("", "")
        if self.dates is not None:
            kind, written = ColumnKind.DATE, self.dates.written
        elif self.numbers is not None:
            kind, written = ColumnKind.NUMBER, self.numbers.written
        elif all(value.casefold() in _TRUTHS for value in self.values):
            kind = ColumnKind.TRUTH
        return ColumnProfile(
            kind=kind,
            least=written[0],
            greatest=written[1],
            values=list(self.values)[:FEW_VALUES],
            different=len(self.values),
        )


def _number(value: str) -> float | None:
    bare = value.strip(_UNITS)
    if _NUMBER.fullmatch(bare) is None or _CODE.match(bare) is not None:
        return None
    number = float(bare.replace(",", ""))
    return number if math.isfinite(number) else None
