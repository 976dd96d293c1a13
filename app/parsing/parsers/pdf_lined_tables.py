"""Tables with rules between rows only, as papers and statistics set them, or with colour behind every second row:
columns are told by the gaps in the text.

A table is a stack of horizontal rules of one width, the first band of which is its head. Where every row has its rule,
a band is a row; where only the head has (the "three-line table"), each line of text below it is one. What could be read
in several ways is left to the model of page layout.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from app.parsing.parsers.pdf_grids import TOLERANCE, FoundTable, Grid, Rule, Word, column_of, filled, middle, unbroken
from app.parsing.parsers.pdf_kinds import names_table
from app.parsing.parsers.pdf_order import Interval
from app.parsing.parsers.pdf_row_rules import (
    LEAST_RULES,
    SAME_END,
    THIN,
    PiecedRule,
    common_joints,
    stacked,
)
from app.parsing.parsers.pdf_text_columns import (
    TextLine,
    between,
    column_borders,
    column_widths,
    fill_all_columns,
    filled_columns,
    gaps_through,
    lines_of,
    runs_of,
    type_height,
    words_of,
)

_MOST_RULES = 500
_RULED_ROWS = 3  # bands below the head: of so many each is a row
_CELLED_ROWS = 2
_MOST_LINES = 6  # of text in a row, in the mean
_PROSE_WIDTH = 7.0  # heights of type: a column with longer lines than this is prose
_UNNAMED = 0.5  # of the rows
_MOST_HEAD_LINES = 2  # with words in each column
_CLOSER = 0.1  # heights of type by which the lines of a cell are nearer than rows
_LEAST_CELLS = 6
_COLOURED_COLUMNS = 3
_NUMBER = re.compile(r"\d+")
_FIGURE = re.compile(r"[^\w()]*\d[\W\d]*")
"""A year at the head of figures says no less than they do; a number in brackets, that of an equation."""


class _Part(NamedTuple):
    """Of a stack of rules: those of one table, and the text of each band between two of them, head first."""

    rules: list[Rule]
    bands: list[list[TextLine]]


def lined_tables(rules: list[PiecedRule], words: Callable[[], list[Word]]) -> Iterator[FoundTable]:
    """Of a page's rules and words, both turned so that the text is upright."""
    stacks = stacked([rule for rule, _ in rules]) if LEAST_RULES <= len(rules) <= _MOST_RULES else []
    on_page = words() if stacks else []
    from_top = sorted(on_page, key=middle)
    for stack in stacks:
        yield from _tables(stack, rules, on_page, from_top)


def banded_tables(bands: list[list[PiecedRule]], words: Callable[[], list[Word]]) -> Iterator[FoundTable]:
    """The same of the edges of `banded` rows. Colour alone may be behind a list, a listing or a plot as well."""
    on_page = words() if bands else []
    from_top = sorted(on_page, key=middle)
    for edges in bands:
        stack = [rule for rule, _ in edges]
        ends_open = gaps_through(between(stack[-2], stack[-1], from_top))
        for table in _tables(stack if ends_open else stack[:-1], edges, on_page, from_top):
            if _names_columns(table) and _stands_alone(table, on_page):
                yield table


def _tables(
    stack: list[Rule], rules: list[PiecedRule], words: list[Word], from_top: list[Word]
) -> Iterator[FoundTable]:
    for part in _parted_by_prose(stack, from_top):
        table = _table(part, rules, words, from_top)
        if table is not None:
            yield table


def _parted_by_prose(stack: list[Rule], from_top: list[Word]) -> list[_Part]:
    """Two tables may have rules of one width: between them stands nothing, prose, or a caption."""
    parts = [_Part([stack[0]], [])]
    for above, below in pairwise(stack):
        band = between(above, below, from_top)
        lines = lines_of(band)
        is_prose = len(lines) > 1 and not gaps_through(band)
        if not lines or is_prose or any(names_table(line.text) for line in lines):
            parts.append(_Part([below], []))
        else:
            parts[-1].rules.append(below)
            parts[-1].bands.append(lines)
    return [part for part in parts if len(part.rules) >= LEAST_RULES]


def _table(part: _Part, rules: list[PiecedRule], words: list[Word], from_top: list[Word]) -> FoundTable | None:
    joints = common_joints([joints for rule, joints in rules if joints and rule in part.rules])
    stack, bands = part = _with_head_above(part, joints, from_top)
    head, body = words_of(bands[:1]), words_of(bands[1:])
    xs = [stack[0].start, *(joints or column_borders(bands[0], body)), stack[0].end]
    if len(xs) < 3 or not (joints or _may_be_head(bands[0], bands[1:], xs)):
        return None
    across = _row_rules(part, xs, has_cells=bool(joints))
    if across is None:
        return None
    if across is stack:
        across = [*stack, *_rules_of_some_columns(stack, [rule for rule, _ in rules], xs)]
    spans = _spans(stack, rules, head, xs)
    ys = sorted({rule.at for rule in (*across, *spans)})
    down = [
        rule
        for x in xs
        for rule in unbroken(x, ys, [*head, *body])
        if not any(_spans_over(span, rule) for span in spans)
    ]
    header_rows = 1 + len({span.at for span in spans})
    table = filled(Grid(xs, ys, [*across, *spans], down), words, header_rows)
    if table is None or not _is_worth_it(table) or not (joints or _has_head(table)):
        return None
    return table


def _with_head_above(part: _Part, joints: list[float], from_top: list[Word]) -> _Part:
    """With the line above the first rule, where its words are the heads of the columns."""
    first, body = part.rules[0], words_of(part.bands)
    borders = joints or [(left + right) / 2 for left, right in gaps_through(body)]
    lines = lines_of(between(first._replace(at=first.at - 2 * type_height(body)), first, from_top)) if borders else []
    if not lines:
        return part
    runs = runs_of(lines[-1].words)
    columns = {
        (bisect_right(borders, start + TOLERANCE), bisect_right(borders, end - TOLERANCE)) for start, end in runs
    }
    if len(runs) < max(2, len(borders)) or len(columns) < len(runs) or any(left != right for left, right in columns):
        return part
    return _Part([first._replace(at=lines[-1].top - 1), *part.rules], [lines[-1:], *part.bands])


def _may_be_head(lines: list[TextLine], body: list[list[TextLine]], xs: list[float]) -> bool:
    """Whether they are neither rows of a table nor lines of prose, in columns that are told by gaps."""
    most = 1 if all(len(band) > 1 and fill_all_columns(band, xs) for band in body) else _MOST_HEAD_LINES
    if len(lines) > most and fill_all_columns(lines, xs):
        return False
    wide = _PROSE_WIDTH * type_height(words_of([lines]))
    return all(sum(width > wide for width in column) < 2 for column in column_widths(lines, xs))


def _row_rules(part: _Part, xs: list[float], *, has_cells: bool) -> list[Rule] | None:
    """What parts rows: the rules themselves, or these and the spaces between the lines of the body.

    None where it is not plain. `has_cells` says that rules are drawn cell by cell.
    """
    stack, (head, *bands) = part
    may_be_rows = len(bands) >= (_CELLED_ROWS if has_cells else _RULED_ROWS)
    rows = _unwrapped(bands, xs)
    in_rows = [line for band in rows for line in band]
    are_groups = len(in_rows) > len(bands) and fill_all_columns(in_rows, xs)
    may_be_lines = (len(bands) < _RULED_ROWS or are_groups) and not _is_title(words_of([head]), xs)
    if may_be_lines and _is_line_a_row(in_rows, xs, unnamed=0.0 if may_be_rows else _UNNAMED):
        between = (pair for band in rows for pair in pairwise(band))
        return [*stack, *(Rule((above.bottom + below.top) / 2, xs[0], xs[-1]) for above, below in between)]
    return stack if may_be_rows and sum(map(len, bands)) <= _MOST_LINES * len(bands) else None


def _unwrapped(bands: list[list[TextLine]], xs: list[float]) -> list[list[TextLine]]:
    """The lines of each band, those put together that stand closer than the rows do and go on with some cells."""
    spaces = [
        below.top - above.bottom
        for band in bands
        for above, below in pairwise(band)
        if len(filled_columns(below, xs)) == len(xs) - 1
    ]
    if not spaces:
        return bands
    least = min(spaces) - _CLOSER * type_height(words_of(bands))
    found: list[list[TextLine]] = []
    for band in bands:
        rows: list[TextLine] = []
        for line in band:
            if rows and line.top - rows[-1].bottom < least and filled_columns(line, xs) < filled_columns(rows[-1], xs):
                rows[-1] = TextLine(rows[-1].top, line.bottom, rows[-1].words + line.words)
            else:
                rows.append(line)
        found.append(rows)
    return found


def _is_title(head: list[Word], xs: list[float]) -> bool:
    """Whether one text runs over several columns: of an algorithm or a listing, whose lines are no rows."""
    left, right = min(word[0] for word in head), max(word[2] for word in head)
    return not gaps_through(head) and any(left + TOLERANCE < x < right - TOLERANCE for x in xs)


def _rules_of_some_columns(stack: list[Rule], rules: list[Rule], xs: list[float]) -> list[Rule]:
    """Rules in the body that part the rows of some columns only, beside cells of several rows."""
    return [
        rule
        for rule in rules
        if stack[1].at < rule.at < stack[-1].at
        and rule not in stack
        and all(abs(end - _nearest(xs, end)) <= SAME_END for end in (rule.start, rule.end))
    ]


def _is_worth_it(table: FoundTable) -> bool:
    """Few cells, or mostly empty ones, are a plot's; amounts without names are the sums of a larger table, which have
    rules of their own."""
    cells = [cell for row in table.cells for cell in row]
    is_letter = str.isalpha if len(table.cells[0]) == 2 else str.isalnum
    named = [any(map(is_letter, row[0])) for row in table.cells]
    first = named.index(True, 1) if any(named[1:]) else len(named)
    grouped = sum(all(row[1:]) and not row[0] for row in table.cells[first:])
    has_names = (sum(named) + grouped) * 2 >= len(table.cells)
    return len(cells) >= _LEAST_CELLS and sum(map(bool, cells)) * 2 >= len(cells) and has_names


def _names_columns(table: FoundTable) -> bool:
    """Whether the first row names several columns, with words."""
    return len(table.cells[0]) >= _COLOURED_COLUMNS and all(any(map(str.isalpha, cell)) for cell in table.cells[0][1:])


def _stands_alone(table: FoundTable, words: list[Word]) -> bool:
    """Whether nothing goes on beside it, as where only some cells of a row have the colour."""
    left, top, right, bottom = table.box
    return not any(top < middle(word) < bottom and not left <= (word[0] + word[2]) / 2 <= right for word in words)


def _has_head(table: FoundTable) -> bool:
    """Not where a column says the same from its first row on, but for numbers: equations, questions, steps; nor where
    the first row asks, as a form does."""
    asks = all(cell.endswith((":", "：")) for cell in table.cells[0] if cell)
    return not asks and not any(
        len({_NUMBER.sub("0", cell) for cell in column}) == 1 and not _FIGURE.fullmatch(column[0])
        for column in zip(*table.cells, strict=True)
    )


def _is_line_a_row(lines: list[TextLine], xs: list[float], unnamed: float) -> bool:
    """Whether lines name what they are about, and those that do not, a share of `unnamed` at most, fill half of the
    columns; and not as columns of prose do, or one of it beside some names."""
    without = [columns for line in lines if 0 not in (columns := filled_columns(line, xs))]
    may_be_groups = unnamed > 0 and len(xs) > 3 and all(len(columns) == len(xs) - 2 for columns in without)
    most = len(lines) if may_be_groups and _has_figures(lines, xs) else unnamed * len(lines)
    if len(without) > most or any(len(columns) * 2 < len(xs) - 1 for columns in without):
        return False
    wide = _PROSE_WIDTH * type_height(words_of([lines]))
    prose = sum(median(widths) > wide for widths in column_widths(lines, xs))
    return prose == 0 or (prose == 1 and not without)


def _has_figures(lines: list[TextLine], xs: list[float]) -> bool:
    """Whether the last column has them in each line: a cell that goes on in the next line has no more of them."""
    last = len(xs) - 2
    return all(any(column_of(word, xs) == last and _NUMBER.search(word[4]) for word in line.words) for line in lines)


def _spans(stack: list[Rule], rules: list[PiecedRule], head: list[Word], xs: list[float]) -> list[Rule]:
    """Rules in the head below what is said of several columns; one for each such text."""
    top, bottom = stack[0], stack[1]
    return [
        rule._replace(start=start, end=end)
        for rule, joints in rules
        if top.at + THIN < rule.at < bottom.at - THIN
        and top.start - SAME_END <= rule.start
        and rule.end <= top.end + SAME_END
        and (above := between(top._replace(start=rule.start, end=rule.end), rule, head))
        for start, end in pairwise([rule.start, *_cuts(gaps_through(above), joints, xs, type_height(above)), rule.end])
    ]


def _cuts(gaps: list[Interval], joints: list[float], xs: list[float], height: float) -> Iterator[float]:
    """Borders of columns at which a rule below several texts changes from one to the next: near where a piece of it
    begins, or where the next text begins, or in the middle between two texts that are centred."""
    for left, right in gaps:
        borders = [x for x in xs if left <= x <= right]
        begin = [joint for joint in joints if left <= joint <= right]
        if borders:
            is_next = not begin and right - borders[-1] < height
            yield borders[-1] if is_next else _nearest(borders, begin[0] if begin else (left + right) / 2)


def _nearest(xs: list[float], at: float) -> float:
    return min(xs, key=lambda x: abs(x - at))


def _spans_over(span: Rule, border: Rule) -> bool:
    """Whether the border of a column ends at the span, from above, and not at one of its ends."""
    return (
        span.start + TOLERANCE < border.at < span.end - TOLERANCE and border.end < span.at < border.end + 2 * TOLERANCE
    )
