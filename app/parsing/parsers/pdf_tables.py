"""Tables drawn with rules: where they make grids, and which cells of those only their words part.

PyMuPDF's own `find_tables` takes 0.3 to 0.6 s a page, since it looks at every character in Python; rules and words come
from C in a few milliseconds, and a page without a grid costs only the look.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.parsers.pdf_grids import (
    MAX_GRID_CELLS,
    TOLERANCE,
    FoundTable,
    Grid,
    Rule,
    Word,
    by_position,
    column_of,
    filled,
    is_ruled,
    middle,
    near_one_another,
    text_lines,
)
from app.parsing.parsers.pdf_lines import Box
from app.parsing.parsers.pdf_text import Drawing

MAX_RULE = 2.5  # a filled rectangle thinner than this is a rule
MAX_STROKE = 5.0  # and a stroke, whose box has its width, thinner than this
_MIN_LENGTH = 6.0
_MOST_CORNERED = 1_000  # strokes with corners: more of them are a plot
_LEAST_CELLS = 4
_MOST_OF_WIDTH, _MUCH_OF_HEIGHT = 0.6, 0.3
_MAX_PATHS = 20_000
_MAX_RULES = 3_000
_COLUMN_GAP = 1.0  # of the height of a word: so wide a gap on a border parts two cells without a rule
_MOST_OPEN, _LEAST_OPEN = 3, 3  # rows by rules, of which one has so many lines
_LEAST_LINE = 6.0  # points


def ruled_tables(page: pymupdf.Page, words: Callable[[], list[Word]]) -> list[FoundTable]:
    """Tables of at least two rows and two columns. The page must be turned so that its text is upright, as its words
    are."""
    paths = page.get_cdrawings()
    if len(paths) > _MAX_PATHS:
        return []
    return _tables(*_rules(paths), words)


def boxed_tables(drawings: list[Drawing], words: Callable[[], list[Word]]) -> list[FoundTable] | None:
    """The same by the boxes of drawings, which are turned so, too.

    None where boxes don't tell: strokes with corners may be a table's rounded frame, or the borders of its cells.
    """
    across: list[Rule] = []
    down: list[Rule] = []
    cornered: list[Box] = []
    for box, stroked, plain in drawings:
        if box[2] - box[0] < _MIN_LENGTH and box[3] - box[1] < _MIN_LENGTH:
            continue
        if plain:
            _add_rectangle(across, down, box, stroked=stroked, thin=MAX_STROKE if stroked else MAX_RULE)
        elif stroked:
            cornered.append(box)
    if len(cornered) <= _MOST_CORNERED and (_are_cells(cornered) or _frame_rules(cornered, across, down)):
        return None
    if len(across) < 2 or len(down) < 2:
        return []
    return _tables(_connected(across), _connected(down), words)


def _are_cells(cornered: list[Box]) -> bool:
    """Whether most of the boxes stand in rows and columns and fill them: figures are seldom so regular."""
    if len(cornered) < _LEAST_CELLS:
        return False
    places = [((round(left), round(right)), (round(top), round(bottom))) for left, top, right, bottom in cornered]
    columns, rows = Counter([column for column, _ in places]), Counter([row for _, row in places])
    cells = [(column, row) for column, row in places if columns[column] > 1 and rows[row] > 1]
    if len(cells) < max(_LEAST_CELLS, len(cornered) / 2):
        return False
    return len({column for column, _ in cells}) * len({row for _, row in cells}) <= 2 * len(cells)


def _frame_rules(cornered: list[Box], across: list[Rule], down: list[Rule]) -> bool:
    """Whether one of the boxes is around a rule across most of it and one down through much of it."""
    return any(
        any(_parts(rule, (top, bottom), (left, right), _MOST_OF_WIDTH) for rule in across)
        and any(_parts(rule, (left, right), (top, bottom), _MUCH_OF_HEIGHT) for rule in down)
        for left, top, right, bottom in cornered
    )


def _parts(rule: Rule, sides: tuple[float, float], ends: tuple[float, float], share: float) -> bool:
    """Whether the rule stands between the sides, and goes over such a share of the way between the ends."""
    within = sides[0] < rule.at < sides[1] and ends[0] <= rule.start and rule.end <= ends[1]
    return within and rule.end - rule.start >= share * (ends[1] - ends[0])


def _tables(across: list[Rule], down: list[Rule], words: Callable[[], list[Word]]) -> list[FoundTable]:
    if len(across) < 2 or len(down) < 2 or len(across) + len(down) > _MAX_RULES:
        return []
    grids = [grid for grid in _grids(across, down) if grid is not None]
    if not grids:
        return []
    on_page = words()
    found = (filled(_with_open_borders(_with_open_rows(grid, on_page), on_page), on_page) for grid in grids)
    return [table for table in found if table is not None]


def _rules(paths: list[dict[str, Any]]) -> tuple[list[Rule], list[Rule]]:
    """Horizontal and vertical rules, pieces of one rule put together."""
    across: list[Rule] = []
    down: list[Rule] = []
    for path in paths:
        for item in path["items"]:
            if item[0] == "l":
                _add_segment(across, down, *item[1], *item[2])
            elif item[0] == "re":
                x0, y0, x1, y1 = item[1]
                box = min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
                _add_rectangle(across, down, box, stroked="s" in path["type"])
    return _connected(across), _connected(down)


def _add_segment(across: list[Rule], down: list[Rule], x0: float, y0: float, x1: float, y1: float) -> None:
    if abs(y1 - y0) <= 1 and abs(x1 - x0) >= _MIN_LENGTH:
        across.append(Rule((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
    elif abs(x1 - x0) <= 1 and abs(y1 - y0) >= _MIN_LENGTH:
        down.append(Rule((x0 + x1) / 2, min(y0, y1), max(y0, y1)))


def _add_rectangle(across: list[Rule], down: list[Rule], box: Box, *, stroked: bool, thin: float = MAX_RULE) -> None:
    """A thin rectangle is a rule, a stroked one is four; shading alone is neither."""
    left, top, right, bottom = box
    if bottom - top <= thin:
        _add_segment(across, down, left, (top + bottom) / 2, right, (top + bottom) / 2)
    elif right - left <= thin:
        _add_segment(across, down, (left + right) / 2, top, (left + right) / 2, bottom)
    elif stroked:
        for y in (top, bottom):
            _add_segment(across, down, left, y, right, y)
        for x in (left, right):
            _add_segment(across, down, x, top, x, bottom)


def _connected(rules: list[Rule]) -> list[Rule]:
    merged: list[Rule] = []
    for rule in sorted(rules, key=lambda rule: (round(rule.at / TOLERANCE), rule.start)):
        last = merged[-1] if merged else None
        meets = last and rule.start <= last.end + TOLERANCE and last.start <= rule.end + TOLERANCE
        if last and meets and abs(last.at - rule.at) <= TOLERANCE:
            merged[-1] = Rule(last.at, min(last.start, rule.start), max(last.end, rule.end))
        else:
            merged.append(rule)
    return merged


def _grids(across: list[Rule], down: list[Rule]) -> list[Grid | None]:
    """Sets of rules that cross or meet, directly or by others."""
    across = sorted(across)
    heights = [row.at for row in across]
    parent = list(range(len(across) + len(down)))

    def root(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    for j, column in enumerate(down):
        first = bisect_left(heights, column.start - TOLERANCE)
        for i in range(first, bisect_right(heights, column.end + TOLERANCE)):
            if across[i].start - TOLERANCE <= column.at <= across[i].end + TOLERANCE:
                parent[root(i)] = root(len(across) + j)
    members: dict[int, tuple[list[Rule], list[Rule]]] = defaultdict(lambda: ([], []))
    for i, rule in enumerate(across):
        members[root(i)][0].append(rule)
    for j, rule in enumerate(down):
        members[root(len(across) + j)][1].append(rule)
    return [_grid(rows, columns) for rows, columns in members.values()]


def _grid(across: list[Rule], down: list[Rule]) -> Grid | None:
    xs, ys = _positions(down), _positions(across)
    cells = (len(xs) - 1) * (len(ys) - 1)
    if len(xs) < 3 or len(ys) < 3 or cells > MAX_GRID_CELLS:
        return None
    return Grid(xs, ys, across, down)


def _positions(rules: list[Rule]) -> list[float]:
    return [run[0] for run in near_one_another(sorted(rule.at for rule in rules), float, TOLERANCE)]


def _with_open_rows(grid: Grid, words: list[Word]) -> Grid:
    """With rules between lines that fill every column and end in figures, where hardly more than the head is ruled."""
    if len(grid.ys) > _MOST_OPEN + 1:
        return grid
    added: list[Rule] = []
    left, right = 2 * grid.xs[0], 2 * grid.xs[-1]
    for top, bottom in pairwise(grid.ys):
        if bottom - top < _LEAST_OPEN * _LEAST_LINE:
            continue
        at_its_height = [word for word in words if 2 * top <= word[1] + word[3] < 2 * bottom]
        within = [word for word in at_its_height if left <= word[0] + word[2] <= right]
        lines = text_lines(sorted(within, key=middle))
        if len(lines) >= _LEAST_OPEN and all(_is_row_of_figures(line, grid.xs) for line in lines):
            edges = [(min(word[1] for word in line), max(word[3] for word in line)) for line in lines]
            added += [Rule((above[1] + below[0]) / 2, grid.xs[0], grid.xs[-1]) for above, below in pairwise(edges)]
    ys = sorted([*grid.ys, *(rule.at for rule in added)])
    return replace(grid, ys=ys, across=[*grid.across, *added])


def _is_row_of_figures(line: list[Word], xs: list[float]) -> bool:
    columns = [column_of(word, xs) for word in line]
    last = [word for word, column in zip(line, columns, strict=True) if column == len(xs) - 2]
    return len(set(columns)) == len(xs) - 1 and any(map(str.isdecimal, "".join(word[4] for word in last)))


def _with_open_borders(grid: Grid, words: list[Word]) -> Grid:
    """With rules where some rows have none, but their words keep to their columns on either side of the border."""
    down = by_position(grid.down, grid.xs)
    if all(is_ruled(rules, (top + bottom) / 2) for rules in down for top, bottom in pairwise(grid.ys)):
        return grid
    rows: dict[int, list[Word]] = defaultdict(list)
    for word in words:
        rows[bisect_right(grid.ys, middle(word)) - 1].append(word)
    added: list[Rule] = []
    for row, (top, bottom) in enumerate(pairwise(grid.ys)):
        for column, (left, x, right) in enumerate(zip(grid.xs, grid.xs[1:], grid.xs[2:], strict=False), start=1):
            if not is_ruled(down[column], (top + bottom) / 2) and _is_left_free(x, left, right, rows[row]):
                added.append(Rule(x, top + TOLERANCE, bottom - TOLERANCE))
    return replace(grid, down=[*grid.down, *added])


def _is_left_free(x: float, left: float, right: float, words: list[Word]) -> bool:
    """Whether words between `left` and `right` stand on both sides of a border, with the gap of two columns."""
    near = [word for word in words if word[2] > left and word[0] < right]
    before = [word for word in near if word[0] + word[2] < 2 * x]
    after = [word for word in near if word[0] + word[2] >= 2 * x]
    if not before or not after:
        return False
    end, start = max(word[2] for word in before), min(word[0] for word in after)
    return end <= x <= start and start - end >= _COLUMN_GAP * max(word[3] - word[1] for word in near)
