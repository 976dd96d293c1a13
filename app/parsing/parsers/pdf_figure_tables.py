"""Tables of figures, as financial statements set them: names at the left, and columns of figures that end below one
another. Rules stand under heads and above sums only, or bands of colour tell the rows apart.

Columns and rows are those of the text; a table is what has, besides, rules or bands of its own over every column. What
is no more than aligned is left to the model of page layout.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from app.parsing.parsers.pdf_figure_rows import (
    Kind,
    Row,
    Run,
    WordsOfLines,
    by_line,
    has_leaders,
    is_note,
    reread,
    rows_of,
)
from app.parsing.parsers.pdf_grids import FoundTable, Rule, Word
from app.parsing.parsers.pdf_lines import Box, Line, LineNumber, union
from app.parsing.parsers.pdf_order import Interval
from app.parsing.parsers.pdf_tables import MAX_RULE
from app.parsing.parsers.pdf_text import Drawing

_LEAST_ROWS = 2
_LEAST_FIGURES = 4
_LEAST_AMOUNTS = 3
_MOST_DRAWINGS = 5_000
_MOST_NAMES = 3  # rows without figures on end
_GAP = 2.5  # heights of type between two rows: one may be left blank
_HEAD_GAP = 1.0
_MOST_HEAD_LINES = 6
_CLOSER = 0.85  # of the step from row to row: nearer lines are of one row
_HANGS = 1.1  # heights of type by which ends of figures in a column may differ: brackets and per cent hang over
_ALIGNED = 0.8  # of the figures of a column
_NAMED = 0.6  # of the rows
_FILLED = 0.5  # of the cells
_BANDED = 0.3  # of the rows
_OVER_NAMES = 3.0  # heights of type by which a head may begin before its figures do
_RULE_BEYOND = 3.0  # heights of type by which a rule may end behind the figures
_BAND_HEIGHT = 3.0  # heights of type
_AMOUNT = re.compile(r"(?!\().*\d[,.'’]\d.*|.*[$€£¥￥₩₹].*|\(\d+,\d{3}.*")
"""What says more than a count: one number in brackets is that of an equation."""


class _Block(NamedTuple):
    """Rows below one another whose figures stand in the same columns, among them names of groups."""

    rows: list[Row]
    columns: list[Interval]


def figure_tables(
    rules: list[Rule], drawings: list[Drawing], lines: list[Line], words: Callable[[], list[Word]]
) -> Iterator[FoundTable]:
    """Of a page's drawings, lines and words, turned so that the text is upright; `rules` are those of the drawings."""
    bands = [box for box, stroked, plain in drawings if plain and not stroked and box[3] - box[1] > MAX_RULE]
    if not (rules or bands) or len(drawings) > _MOST_DRAWINGS:
        return
    of_lines = cache(lambda: by_line(words()))
    rows = rows_of(lines, of_lines, _LEAST_ROWS)
    end = 0
    for first, block in _blocks(rows):
        above, end = rows[end:first], first + len(block.rows)
        table = _table(above, block, rows[end : end + 1], rules, bands, of_lines)
        if table is not None:
            yield table


def _blocks(rows: list[Row]) -> Iterator[tuple[int, _Block]]:
    """With the number of the first row of each."""
    at = 0
    while at < len(rows):
        if not rows[at].is_plain:
            at += 1
            continue
        columns = _intervals(rows[at])
        end = at + 1
        for ahead in range(at + 1, len(rows)):
            row, gap = rows[ahead], rows[ahead].top - rows[ahead - 1].bottom
            if ahead - end > _MOST_NAMES or gap > _GAP * rows[ahead - 1].height:
                break
            if row.is_plain:
                wider = _with(columns, row)
                if wider is None or not all(_may_name(name, wider) for name in rows[end:ahead]):
                    break
                columns, end = wider, ahead + 1
            elif len(row.runs) > 1:
                break
        yield at, _Block(rows[at:end], columns)
        at = end


def _intervals(row: Row) -> list[Interval]:
    return [(run.left, run.right) for run in row.figures]


def _with(columns: list[Interval], row: Row) -> list[Interval] | None:
    """The columns, with those of another row; None where one of them would take in two."""
    of_row = _intervals(row)
    merged: list[Interval] = []
    for left, right in sorted([*columns, *of_row]):
        if merged and left <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(right, merged[-1][1]))
        else:
            merged.append((left, right))
    for left, right in merged:
        if any(sum(left <= start <= right for start, _ in some) > 1 for some in (columns, of_row)):
            return None
    return merged


def _may_name(row: Row, columns: list[Interval]) -> bool:
    """Whether it is no line of prose, which would run on below the figures."""
    return len(row.runs) == 1 and row.runs[0].right <= columns[min(1, len(columns) - 1)][0]


def _table(
    above: Sequence[Row],
    block: _Block,
    below: Sequence[Row],
    rules: list[Rule],
    bands: list[Box],
    words: WordsOfLines,
) -> FoundTable | None:
    columns = block.columns
    plain = [row for row in block.rows if row.figures]
    if len(plain) < _LEAST_ROWS or not _is_aligned(plain, columns) or any(map(has_leaders, plain)):
        return None
    borders = _borders(plain, columns)
    steps = [lower.middle - upper.middle for upper, lower in pairwise(block.rows) if upper.figures and lower.figures]
    closer = _CLOSER * min(steps, default=0.0)
    groups, head = _head(above, block, borders)
    while len(columns) > 1 and len(head) > 1 and _is_group_below(head[-2:], rules):
        groups.insert(0, head.pop())
    rows = _unwrapped([*groups, *block.rows, *(row for row in below if _may_name(row, columns))], closer)
    if not head:
        rows = rows[next(at for at, row in enumerate(rows) if row.figures) :]
    while not rows[-1].figures:
        rows.pop()
    ruled = _own(rules, [*head, *rows], columns[-1][1])
    if not _is_worth_it(plain, columns, has_head=bool(head)) or not _has_marks(rows, columns, ruled, bands):
        return None
    heads = _head_rows(head, columns, borders, ruled)
    cells = [*heads, *(_cells(reread(row, words), borders) for row in rows)]
    whole = [*head, *rows]
    box = union([(run.left, run.top, run.right, run.bottom) for row in whole for run in row.runs])
    lines = frozenset[LineNumber]().union(*(row.lines for row in whole))
    return FoundTable(box, cells, len(heads), lines, (_ends_of_names(plain, columns), *columns))


def _ends_of_names(rows: list[Row], columns: list[Interval]) -> Interval | None:
    names = [run for row in rows for run in row.names]
    if not names:
        return None
    return min(run.left for run in names), min(max(run.right for run in names), columns[0][0])


def _is_aligned(rows: list[Row], columns: list[Interval]) -> bool:
    """Whether the figures of each column end below one another."""
    ends: list[list[float]] = [[] for _ in columns]
    for row in rows:
        for run in row.figures:
            if run.kind is Kind.FIGURE:
                ends[bisect_right(columns, (run.right, 0.0)) - 1].append(run.right)
    most = _HANGS * rows[0].height
    for of_column in filter(None, ends):
        end = median(of_column)
        if sum(abs(other - end) <= most for other in of_column) < _ALIGNED * len(of_column):
            return False
    return True


def _borders(rows: list[Row], columns: list[Interval]) -> list[float]:
    """The left one of each column. Figures end at the right of their columns, whose heads may begin far before them."""
    first = columns[0][0]
    names = max([run.right for row in rows for run in row.names], default=first)
    ends = [min(names, first), *(right for _, right in columns)]
    return [end + (start - end) / 4 for end, (start, _) in zip(ends, columns, strict=False)]


def _head(above: Sequence[Row], block: _Block, borders: list[float]) -> tuple[list[Row], list[Row]]:
    """Names of groups above the first row, and the lines of the head above these."""
    groups: list[Row] = []
    head: list[Row] = []
    lower = block.rows[0]
    for row in reversed(above):
        height = row.height
        gap = lower.top - row.bottom
        if len(head) < _MOST_HEAD_LINES and gap <= (_HEAD_GAP if head else _GAP) * height and _is_head(row, borders):
            head.insert(0, row)
        elif not head and len(groups) < _MOST_NAMES and gap <= _GAP * height and _may_name(row, block.columns):
            groups.insert(0, row)
        else:
            break
        lower = row
    return groups, head


def _is_group_below(lines: list[Row], rules: list[Rule]) -> bool:
    """Whether a rule parts the last line, of one text in the middle, from heads of several columns."""
    upper, lower = lines
    return len(lower.runs) == 1 < len(upper.runs) and any(upper.middle < rule.at < lower.middle for rule in rules)


def _is_head(row: Row, borders: list[float]) -> bool:
    """Whether its texts stand over the columns of figures, but for one over the names, and none over both."""
    least = borders[0] - _OVER_NAMES * row.height
    return row.runs[-1].centre >= borders[0] and all(
        run.left >= least or (run.right <= borders[0] and run is row.runs[0]) for run in row.runs
    )


def _unwrapped(rows: list[Row], closer: float) -> list[Row]:
    """With the lines put together over which a name is broken: they stand closer than the rows do."""
    found = rows[:1]
    last = rows[0]
    for row in rows[1:]:
        if row.middle - last.middle < closer and not (row.figures and found[-1].figures):
            found[-1] = _together(found[-1], row)
        else:
            found.append(row)
        last = row
    return found


def _together(upper: Row, lower: Row) -> Row:
    return Row(
        top=upper.top,
        bottom=lower.bottom,
        names=upper.names + lower.names,
        figures=upper.figures + lower.figures,
        lines=upper.lines | lower.lines,
        is_nested=False,
    )


def _own(rules: list[Rule], rows: list[Row], right: float) -> list[Rule]:
    """The rules of the table, and not those of the page: near its rows, up to what ends its columns at the `right`."""
    height = rows[-1].height
    left = min(run.left for row in rows for run in row.runs) - height
    right += _RULE_BEYOND * height
    top, bottom = rows[0].top - height / 2, rows[-1].bottom + height
    return [rule for rule in rules if top <= rule.at <= bottom and left <= rule.start and rule.end <= right]


def _is_worth_it(rows: list[Row], columns: list[Interval], *, has_head: bool) -> bool:
    """Most rows have names and most cells are filled; and a single column holds amounts, since numbers of pages and of
    equations stand in one, too."""
    figures = [run for row in rows for run in row.figures if run.kind is Kind.FIGURE]
    filled, named = sum(len(row.figures) for row in rows), sum(bool(row.names) for row in rows)
    if named < _NAMED * len(rows) or filled < _FILLED * len(rows) * len(columns):
        return False
    if len(columns) == 1:
        amounts = sum(_AMOUNT.fullmatch(run.text) is not None for run in figures)
        return amounts >= max(_LEAST_AMOUNTS, len(figures) / 2)
    return len(figures) >= _LEAST_FIGURES and (has_head or len(rows) > _LEAST_ROWS)


def _has_marks(rows: list[Row], columns: list[Interval], rules: list[Rule], bands: list[Box]) -> bool:
    """Whether each column has a rule over or under some figure or head, or bands behind some of its rows; but for a
    first one of numbers of notes, which no sum stands under."""
    ends = [right - rows[0].height / 2 for _, right in columns[_holds_notes(rows, columns) :]]
    bare = [x for x in ends if not any(rule.start <= x <= rule.end for rule in rules)]
    if not bare:
        return True
    top, bottom, most = rows[0].top, rows[-1].bottom, _BAND_HEIGHT * rows[0].height
    near = [box for box in bands if top <= (box[1] + box[3]) / 2 <= bottom and box[3] - box[1] <= most]
    behind = [[box for box in near if box[1] <= row.middle <= box[3]] for row in rows]
    least = max(_LEAST_ROWS, _BANDED * len(rows))
    return all(sum(any(box[0] <= x <= box[2] for box in of_row) for of_row in behind) >= least for x in bare)


def _holds_notes(rows: list[Row], columns: list[Interval]) -> bool:
    return len(columns) > 1 and all(is_note(run) for row in rows for run in row.figures if run.right <= columns[0][1])


def _head_rows(head: list[Row], columns: list[Interval], borders: list[float], rules: list[Rule]) -> list[list[str]]:
    """The lines of the head, put together where they say the same columns' names and no rule parts them."""
    rows: list[list[str]] = []
    above: tuple[float, bool] | None = None
    for line in head:
        spans = [_span(run, line, columns, borders, rules) for run in line.runs]
        is_wide = any(len(span) > 1 for span in spans)
        if above is None or above[1] != is_wide or any(above[0] < rule.at < line.middle for rule in rules):
            rows.append([""] * (len(columns) + 1))
        for run, span in zip(line.runs, spans, strict=True):
            for column in span:
                rows[-1][column] += f"\n{run.text}" if rows[-1][column] else run.text
        above = (line.middle, is_wide)
    return rows


def _span(run: Run, line: Row, columns: list[Interval], borders: list[float], rules: list[Rule]) -> Sequence[int]:
    """Numbers of the columns, from 1, that a head stands over: as far as the rule goes that is under it alone, or its
    own text; 0 for the names."""
    lowest = line.bottom + line.height / 2
    for rule in rules:
        if line.middle < rule.at <= lowest and [
            other for other in line.runs if rule.start <= other.centre <= rule.end
        ] == [run]:
            under = [at for at, (left, right) in enumerate(columns, 1) if rule.start <= (left + right) / 2 <= rule.end]
            if under:
                return under
    over = [at for at, (left, right) in enumerate(columns, 1) if left < run.right and run.left < right]
    return over if len(over) > 1 else [bisect_right(borders, run.centre)]


def _cells(row: Row, borders: list[float]) -> list[str]:
    cells = [" ".join(run.text for run in row.names), *([""] * len(borders))]
    for run in row.figures:
        column = bisect_right(borders, run.right)
        cells[column] = f"{cells[column]} {run.text}" if cells[column] else run.text
    return cells
