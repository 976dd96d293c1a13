"""Whether rows may stand below those of a table, or are the beginning of another one: by what its columns hold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice

from app.parsing.table_headers import is_figure, is_year

_MOST_VALUES = 1_000
_NAMES = 3  # rows without figures that may stand above the first one with them: names of groups, the rest of a cut row


class Likeness(Enum):
    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class _Column:
    filled: int = 0
    figures: int = 0
    years: int = 0
    with_digits: int = 0
    values: set[str] = field(default_factory=set)
    """The first different ones that are no figures."""

    def add(self, cell: str) -> None:
        if not cell:
            return
        self.filled += 1
        self.figures += is_figure(cell)
        self.years += is_year(cell)
        self.with_digits += _has_digit(cell)
        if len(self.values) < _MOST_VALUES and not is_figure(cell):
            self.values.add(cell)

    @property
    def is_of_figures(self) -> bool:
        return 2 * self.figures > self.filled

    def likeness(self, cell: str) -> Likeness:
        if not cell or not self.filled:
            return Likeness.UNKNOWN
        if self.is_of_figures:
            # Years name columns of other figures.
            is_one = is_figure(cell) and (not is_year(cell) or 2 * self.years > self.filled)
            return Likeness.SAME if is_one else Likeness.OTHER
        if 2 * self.with_digits > self.filled:  # dates, codes, places by number
            return Likeness.SAME if _has_digit(cell) else Likeness.OTHER
        return Likeness.SAME if cell in self.values else Likeness.UNKNOWN


class BodyColumns:
    """What the columns of a table hold below its header. Rows are counted once each, however many pages they fill."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        self._columns = [_Column() for _ in rows[0]] if rows else []
        self.add(rows)

    def add(self, rows: Iterable[Sequence[str]]) -> None:
        for row in rows:
            for column, cell in zip(self._columns, row, strict=False):
                column.add(cell.strip())

    def likeness(self, rows: Sequence[Sequence[str]]) -> Likeness:
        """Whether rows on another page may be more of the same: by the first that holds something in the columns of
        figures, if there are such, else by the first. Where they say nothing about it the likeness is unknown."""
        if any(column.is_of_figures for column in self._columns):
            told = (self._in_figures(row) for row in islice(rows, _NAMES + 1))
            return next((found for found in told if found is not Likeness.UNKNOWN), Likeness.OTHER)
        return _likeness(self._columns, rows[0])

    def _in_figures(self, row: Sequence[str]) -> Likeness:
        pairs = [pair for pair in zip(self._columns, row, strict=False) if pair[0].is_of_figures]
        return _likeness([column for column, _ in pairs], [cell for _, cell in pairs])


def _likeness(columns: Sequence[_Column], row: Sequence[str]) -> Likeness:
    """One column is enough to tell that a row is of something else."""
    found = {column.likeness(cell.strip()) for column, cell in zip(columns, row, strict=False)}
    return next((one for one in (Likeness.OTHER, Likeness.SAME) if one in found), Likeness.UNKNOWN)


def _has_digit(text: str) -> bool:
    return any(map(str.isdecimal, text))
