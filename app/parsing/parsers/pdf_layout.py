"""PyMuPDF's model of page layout: regions of a page with what they are, and tables that no rules show.

The model (a graph network over the boxes of the text layer, with a look at the page's picture; ONNX, in the wheel)
takes about a second a page and 200 MB, and is loaded where the first page needs it. What it says is used for kinds and
tables; reading order stays with `pdf_order`, and running lines are only dropped where they repeat.
"""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from typing import Any

from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.parsers.pdf_grids import FoundTable, Word, filled_table, lies_in
from app.parsing.parsers.pdf_lines import Box, Line, Role

_ROLES = {
    "text": Role.TEXT,
    "title": Role.HEADING,
    "section-header": Role.HEADING,
    "list-item": Role.LIST_ITEM,
    "caption": Role.CAPTION,
    "footnote": Role.FOOTNOTE,
    "formula": Role.FORMULA,
}
"""Of the model's classes; `picture`, `page-header` and `page-footer` say nothing about a line that stays."""


def lay_out(page: pymupdf.Page, lines: list[Line], words: Callable[[], list[Word]]) -> list[FoundTable]:
    """Marks lines with their regions and gives the tables, filled with the words of the page.

    The page must be turned so that its text is upright, as its lines and words are.
    """
    tables: list[FoundTable] = []
    for number, region in enumerate(_analyse(page), start=1):
        box: Box = tuple(region["group_bbox"][:4])
        if region["class_name"] == "table":
            table = _table(words, box, region)
            tables += [table] if table is not None else []
            continue
        role = _ROLES.get(region["class_name"])
        for line in lines:
            if line.table is None and line.region == 0 and lies_in(line.box, box):
                line.role, line.region = role, number
    return tables


def _analyse(page: pymupdf.Page) -> list[dict[str, Any]]:
    _load()
    page.get_layout(return_raw=True)
    return page.layout_information or []


@cache
def _load() -> None:
    """Registers the model with PyMuPDF."""
    # Here, and not above: see `pdf_engine`.
    import pymupdf.layout  # noqa: PLC0415

    pymupdf.layout.activate()


def _table(words: Callable[[], list[Word]], box: Box, region: dict[str, Any]) -> FoundTable | None:
    """The model's grid, filled."""
    grid = region.get("table_grid")
    if grid is None:
        return None
    xs = _edges(box[0], grid.v_lines, box[2])
    ys = _edges(box[1], grid.h_lines, box[3])
    return filled_table(xs, ys, words())


def _edges(start: float, inner: Iterable[float], end: float) -> list[float]:
    """Borders of columns or rows, of which the model gives the inner ones from the table's own edge."""
    edges = [start, *sorted(start + float(at) for at in inner), end]
    return [edge for before, edge in pairwise([float("-inf"), *edges]) if edge - before > 1]
