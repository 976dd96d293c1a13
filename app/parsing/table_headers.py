"""Which rows at the top of a table name its columns, and what they name them together.

People who draw tables in a sheet put names above names: a year over the columns of that year, a unit in the corner.
Where such a name stands over several columns without being merged, it is read as if it were.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

_YEAR = re.compile("(?:19|20)[0-9]{2}")
_LONGEST_NAME = 200
MOST_HEADER_ROWS = 4
_DASHES = frozenset({"-", "–", "—", "−", "―"})
"""What stands for nothing in a column of figures."""


def header_rows(rows: Sequence[Sequence[str]]) -> int:
    """1 if the first row names columns: its cells are short and no figures, except years, and are not all empty.

    Years alone name columns only where the first column, of what the rows are called, has no name.
    """
    if len(rows) < 2:
        return 0
    names = [cell.strip() for cell in rows[0] if cell.strip()]
    if any(len(name) > _LONGEST_NAME or (is_number(name) and not is_year(name)) for name in names):
        return 0
    return 1 if names and (any(not is_number(name) for name in names) or not rows[0][0].strip()) else 0


def is_number(text: str) -> bool:
    """Whether a cell holds a figure as people write it: sign, currency, thousands, percent, accounting brackets."""
    core = text.strip().strip("()%$€£¥￥+-−").replace(",", "").replace(" ", "")
    return bool(core) and core.replace(".", "", 1).isdecimal()


def is_year(text: str) -> bool:
    return _YEAR.fullmatch(text.strip()) is not None


def is_figure(text: str) -> bool:
    """A number, or a dash in its place."""
    return is_number(text) or text.strip() in _DASHES


def stacked_header_rows(rows: Sequence[Sequence[str]]) -> int:
    """How many of the first rows name columns together, at most four; as `header_rows` where none stands above another.

    Names reach down to the first row with figures. They stand above one another where one is repeated side by side
    (it was merged), or where a row leaves columns without a name that the row below names one by one.
    """
    count = header_rows(rows)
    if not count or len(rows) < 3:
        return count
    names = _rows_before_figures(rows)
    while names > 1 and not _names_below(rows[names - 2], rows[names - 1]):
        names -= 1
    return max(count, names)


def _rows_before_figures(rows: Sequence[Sequence[str]]) -> int:
    """Where no row has figures, as of tables of words: the rows down to the first that repeats no name."""
    for number, row in enumerate(rows[: MOST_HEADER_ROWS + 1]):
        if any(is_figure(cell) and not is_year(cell) for cell in row[1:]):
            return number
    return 2 if _repeats(rows[0]) else 1


def _names_below(above: Sequence[str], below: Sequence[str]) -> bool:
    """Whether `below` names one by one the columns that `above` names together."""
    named = sum(map(bool, below[1:]))
    if named < 2 or any(len(cell) > _LONGEST_NAME for cell in below):
        return False
    if _repeats(above):
        return True
    together = sum(map(bool, above[1:]))
    return 0 < together * 2 <= named and not any(
        name and not own for name, own in zip(above[1:], below[1:], strict=False)
    )


def _repeats(row: Sequence[str]) -> bool:
    return any(one and one == other for one, other in pairwise(row))


def read_headers(rows: Sequence[list[str]], groups: Sequence[Sequence[int]] | None = None) -> int:
    """How many of the first rows are headers, whose names are spread. `groups` as in `spread_names`, by default one."""
    count = stacked_header_rows(rows)
    header = rows[:count]
    width = max(map(len, header), default=0)
    for row in header:
        row.extend([""] * (width - len(row)))
    spread_names(header, [range(width)] if groups is None else groups)
    return count


def spread_names(header: Sequence[list[str]], groups: Sequence[Sequence[int]]) -> None:
    """Repeats, in all header rows but the last, each name over the columns that it stands for. Rows are changed.

    `groups` are columns that stand side by side in the sheet, by position; the first column of all names rows and is
    left alone. A name that stands alone in its row is that of every column; one that stands alone over a group, of
    that group; of several over a group, each reaches to the next, from the side on which the first or last begins.
    """
    for row in header[:-1]:
        named = [column for column in range(1, len(row)) if row[column]]
        if len(named) == 1:
            row[1:] = [row[named[0]]] * (len(row) - 1)
            continue
        for group in groups:
            _spread(row, [column for column in group if column > 0])


def _spread(row: list[str], group: Sequence[int]) -> None:
    named = [column for column in group if row[column]]
    if not named:
        return
    from_right = len(named) > 1 and not row[group[0]] and bool(row[group[-1]])
    name = row[named[0]] if len(named) == 1 else ""
    for column in reversed(group) if from_right else group:
        name = row[column] or name
        row[column] = name
