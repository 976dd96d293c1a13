"""A grid of rows and columns on a page, filled with the words that stand in it: every way to find a table ends here."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple, TypeVar

from app.parsing.document import Table
from app.parsing.parsers.pdf_lines import Box, LineNumber, union
from app.parsing.table_headers import MOST_HEADER_ROWS
from app.parsing.tables import telling_columns

TOLERANCE = 3.0  # points within which ends of rules meet
MAX_GRID_CELLS = 20_000
_WORD_GAP = 0.4  # of the height of a word: a wider gap parts two columns
_TOUCHING = 0.1  # of the height of a word: no space parts what is nearer
_MANY_LINES = 12

Word = tuple[float, float, float, float, str, int, int, int]
"""Left, top, right, bottom, text, and the numbers of its block, line and word."""

Item = TypeVar("Item")
_line_of = itemgetter(5, 6)


@dataclass(frozen=True, slots=True)
class FoundTable:
    box: Box
    """On the page as it was turned."""
    cells: list[list[str]]
    header_rows: int
    lines: frozenset[LineNumber]
    """Those whose words are in the cells."""
    columns: tuple[tuple[float, float] | None, ...]
    """As in `TableLook`."""

    def table(self) -> Table:
        return Table(rows=self.cells, header_rows=self.header_rows)


class Rule(NamedTuple):
    """A straight rule: at `at` on the other axis, from `start` to `end` along its own."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Grid:
    xs: list[float]
    """Borders of columns, from left to right."""
    ys: list[float]
    """Borders of rows, from top to bottom."""
    across: list[Rule]
    down: list[Rule]
    """What parts cells: those without a rule between them are one."""


def filled_table(xs: list[float], ys: list[float], words: list[Word]) -> FoundTable | None:
    """A table by the borders of its columns and rows; None where it would be hardly one.

    Without rules only the text tells which cells are merged: words that run over a border, without the gap that parts
    two columns, stand in all the cells that they touch. Rows above the first that has a name at its left are headers.
    """
    if len(xs) < 3 or len(ys) < 3 or (len(xs) - 1) * (len(ys) - 1) > MAX_GRID_CELLS:
        return None
    across = [Rule(y, xs[0], xs[-1]) for y in ys]
    down = [rule for x in xs for rule in unbroken(x, ys, words)]
    table = filled(Grid(xs, ys, across, down), words)
    if table is None:
        return None
    named = next((number for number, row in enumerate(table.cells) if row[0]), 0)
    return replace(table, header_rows=max(1, named if named <= MOST_HEADER_ROWS else 1))


def unbroken(x: float, ys: list[float], words: list[Word]) -> list[Rule]:
    """The border of a column where no run of words crosses it."""
    crossing = [
        (before[1] + before[3]) / 2
        for before, word in pairwise(words)
        if before[5:7] == word[5:7]  # of the same line
        and before[0] < x - TOLERANCE
        and word[2] > x + TOLERANCE
        and word[0] - before[2] < _WORD_GAP * (word[3] - word[1])
    ] + [(word[1] + word[3]) / 2 for word in words if word[0] < x - TOLERANCE and word[2] > x + TOLERANCE]
    return [
        Rule(x, top + TOLERANCE, bottom - TOLERANCE)
        for top, bottom in pairwise(ys)
        if not any(top <= middle < bottom for middle in crossing)
    ]


def filled(grid: Grid, words: list[Word], header_rows: int = 1) -> FoundTable | None:
    """Words into cells by their middle; None where the grid holds too little to be a table.

    Lines of text go into it whole, so that no word is lost or told twice: all those whose middles it holds, with the
    words that stand beyond its edge in the cell there. What runs through several rows is a stamp over it.
    """
    columns, rows = len(grid.xs) - 1, len(grid.ys) - 1
    box = (grid.xs[0], grid.ys[0], grid.xs[-1], grid.ys[-1])
    origin = _merged_cells(grid)
    inside: dict[tuple[int, int], list[Word]] = defaultdict(list)
    lines: set[LineNumber] = set()
    for number, line in groupby(words, key=_line_of):
        of_line = list(line)
        if not lies_in(union((of_line[0][:4], of_line[-1][:4])), box):
            continue
        at = [origin[_band_of(grid.ys, middle(word)), column_of(word, grid.xs)] for word in of_line]
        if len({row for row, _ in at}) == 1:
            lines.add(number)
            for cell, word in zip(at, of_line, strict=True):
                inside[cell].append(word)
    texts = {cell: _text(of_cell) for cell, of_cell in inside.items()}
    distinct = len(set(origin.values()))
    if len(texts) < 4 or len(texts) * 4 < distinct or _is_one_block(list(texts.values())):
        return None
    cells = [[texts.get(origin[row, column], "") for column in range(columns)] for row in range(rows)]
    cells = [row for row in cells if any(row)]
    telling = telling_columns(cells)
    if len(cells) < 2 or len(telling) < 2:
        return None
    ends = _ends_of_columns(inside, origin)
    return FoundTable(
        box,
        [[row[column] for column in telling] for row in cells],
        header_rows,
        frozenset(lines),
        tuple(ends.get(column) for column in telling),
    )


def _ends_of_columns(
    inside: dict[tuple[int, int], list[Word]], origin: dict[tuple[int, int], tuple[int, int]]
) -> dict[int, tuple[float, float]]:
    """Left and right end of the words in each column, but for those in cells that are merged with the next one's."""
    wide = {cell for (row, column), cell in origin.items() if origin.get((row, column + 1)) == cell}
    ends: dict[int, tuple[float, float]] = {}
    for cell, words in inside.items():
        if cell not in wide:
            left, right = ends.get(cell[1], (words[0][0], words[0][2]))
            ends[cell[1]] = min(left, *(word[0] for word in words)), max(right, *(word[2] for word in words))
    return ends


def column_of(word: Word, xs: list[float]) -> int:
    """Number, from 0, of the column that holds the middle of a word; of what stands beyond the edge, the nearest."""
    return _band_of(xs, (word[0] + word[2]) / 2)


def _band_of(edges: list[float], at: float) -> int:
    return bisect_right(edges, at, 1, len(edges) - 1) - 1


def _text(words: list[Word]) -> str:
    """Of a cell, with its lines. What is raised or lowered is a line of its own for MuPDF, and none for readers."""
    text = words[0][4]
    for before, word in pairwise(words):
        if before[5:7] == word[5:7]:
            text += " "
        elif abs((before[1] + before[3]) - (word[1] + word[3])) > min(before[3] - before[1], word[3] - word[1]):
            text += "\n"
        elif not 0 <= word[0] - before[2] < _TOUCHING * (before[3] - before[1]):
            text += " "
        text += word[4]
    return text


def _is_one_block(texts: list[str]) -> bool:
    """Whether most of the text is many lines of one cell: rules around a head, with the rows below it unruled."""
    largest = max(texts, key=len)
    return largest.count("\n") >= _MANY_LINES and len(largest) * 2 > sum(map(len, texts))


def _merged_cells(grid: Grid) -> dict[tuple[int, int], tuple[int, int]]:
    """For every cell the first one of the merged cell it belongs to: cells without a rule between them are one."""
    columns, rows = len(grid.xs) - 1, len(grid.ys) - 1
    down, across = by_position(grid.down, grid.xs), by_position(grid.across, grid.ys)
    origin: dict[tuple[int, int], tuple[int, int]] = {}
    for row in range(rows):
        for column in range(columns):
            middle_y = (grid.ys[row] + grid.ys[row + 1]) / 2
            middle_x = (grid.xs[column] + grid.xs[column + 1]) / 2
            if column > 0 and not is_ruled(down[column], middle_y):
                origin[row, column] = origin[row, column - 1]
            elif row > 0 and not is_ruled(across[row], middle_x):
                origin[row, column] = origin[row - 1, column]
            else:
                origin[row, column] = (row, column)
    return origin


def by_position(rules: list[Rule], positions: list[float]) -> list[list[Rule]]:
    return [[rule for rule in rules if abs(rule.at - at) <= TOLERANCE] for at in positions]


def is_ruled(rules: list[Rule], through: float) -> bool:
    return any(rule.start - TOLERANCE <= through <= rule.end + TOLERANCE for rule in rules)


def near_one_another(sorted_items: Iterable[Item], at: Callable[[Item], float], within: float) -> list[list[Item]]:
    """Runs of items, each of which is at most so far from the first of its run."""
    runs: list[list[Item]] = []
    for item in sorted_items:
        if runs and at(item) - at(runs[-1][0]) <= within:
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def text_lines(words: list[Word]) -> list[list[Word]]:
    """Those that stand side by side, across all columns; from top to bottom, as `words` are sorted by their middles."""
    lines: list[list[Word]] = []
    for word in words:
        if lines and middle(word) - middle(lines[-1][0]) <= 0.5 * (word[3] - word[1]):
            lines[-1].append(word)
        else:
            lines.append([word])
    return lines


def middle(word: Word) -> float:
    """Its height on the page."""
    return (word[1] + word[3]) / 2


def lies_in(inner: Box, outer: Box) -> bool:
    """Whether the middle of one box is inside another."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] - 1 <= x <= outer[2] + 1 and outer[1] - 1 <= y <= outer[3] + 1
