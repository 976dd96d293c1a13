"""Tables of HTML pages, spans filled; and which tables only arrange a page."""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from app.parsing.document import Table
from app.parsing.parsers.html_inline import math_text, ruby_text
from app.parsing.tables import SpannedCell, fill_spans, without_empty_edges

_MAX_SPAN = 1000  # as the HTML standard caps colspan
_MAX_COLUMNS = 2000
_SECTIONS = ("thead", "tbody", "tfoot")
_UNSEEN = frozenset(("script", "style", "template", "noscript", "title", "desc", "defs", "metadata", "symbol"))
_BREAKING = frozenset(
    (
        "br",
        "p",
        "div",
        "li",
        "tr",
        "table",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "pre",
        "blockquote",
    )
)
_SPACING = frozenset(("td", "th", "tspan"))
_SPACE = re.compile(r"\s+")
_BLANKS = re.compile(r"[^\S\n]+")


def is_layout_table(table: LexborNode) -> bool:
    """Whether it arranges a page instead of holding data: one cell, or whole sections or long tables inside cells."""
    role = table.attributes.get("role")
    if role in ("presentation", "none"):
        return not any(True for _ in table.css("th"))
    rows = list(_rows(table))
    cells = [list(_cells(row)) for row in rows[:50]]
    if sum(map(len, cells)) <= 1:
        return True
    if table.css_first("h1, h2, h3, article, section, main") is not None:
        return True
    if len(rows) == 1 and table.css_first("pre") is not None:  # code beside its line numbers
        return True
    nested = [inner for row in cells for cell in row for inner in cell.css("table")]
    return bool(nested) and max(map(len, cells)) <= 3 and sum(len(list(_rows(inner))) for inner in nested) > len(rows)


def _caption(table: LexborNode) -> str:
    child = table.child
    while child is not None:
        if child.tag == "caption":
            return cell_text(child)
        child = child.next
    return ""


def table_of(node: LexborNode) -> Table:
    """The cells of a table, with spans filled; nested tables become text of their cell."""
    groups = _row_groups(node)
    rows = [row for group in groups for row in group]
    grid = fill_spans(
        (_spanned(row, len(group) - above) for group in groups for above, row in enumerate(group)),
        max_columns=_MAX_COLUMNS,
    )
    kept_rows = [row for row, cells in zip(rows, grid, strict=True) if any(cells)]
    filled = without_empty_edges(grid)
    return Table(rows=filled, header_rows=min(_header_rows(kept_rows), len(filled)), caption=_caption(node))


def _header_rows(rows: list[LexborNode]) -> int:
    """Rows of `thead`, or else leading rows of `th` alone; with neither, the first row unless it holds one cell."""
    count = 0
    for row in rows:
        parent = row.parent
        cells = list(_cells(row))
        if not ((parent is not None and parent.tag == "thead") or (cells and all(cell.tag == "th" for cell in cells))):
            break
        count += 1
    return count or min(1, len(rows) - 1) if rows else 0


def _rows(table: LexborNode) -> Iterator[LexborNode]:
    """Rows of this table, not of tables inside it."""
    return (row for group in _row_groups(table) for row in group)


def _row_groups(table: LexborNode) -> list[list[LexborNode]]:
    """In the order in which they are shown: the first head above all others, the first foot, which HTML 4 has before
    the body, below."""
    sections = [child for child in _children(table) if child.tag in _SECTIONS]
    head = next((section for section in sections if section.tag == "thead"), None)
    foot = next((section for section in sections if section.tag == "tfoot"), None)
    shown = sorted(sections, key=lambda section: (section is foot) - (section is head))
    return [[row for row in _children(section) if row.tag == "tr"] for section in shown]


def _cells(row: LexborNode) -> Iterator[LexborNode]:
    return (child for child in _children(row) if child.tag in ("td", "th"))


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next


def _spanned(row: LexborNode, rows_left: int) -> Iterator[SpannedCell]:
    """The cells of a row. None reaches beyond its group, of which so many rows are left; a span of 0 is all of them."""
    for cell in _cells(row):
        columns, rows = (span(cell.attributes.get(name)) for name in ("colspan", "rowspan"))
        yield SpannedCell(cell_text(cell), max(columns, 1), min(rows or rows_left, rows_left))


def span(value: str | None) -> int:
    digits = re.match(r"\s*(\d{1,6})", value or "")
    return min(int(digits[1]), _MAX_SPAN) if digits else 1


def cell_text(cell: LexborNode) -> str:
    """All text in it; what stands on lines of its own in a browser does so here."""
    parts: list[str] = []
    stack = [(cell, False)]
    while stack:
        node, verbatim = stack.pop()
        tag = node.tag or ""
        if node.is_text_node:
            parts.append((_BLANKS if verbatim else _SPACE).sub(" ", node.text_content or ""))
        elif tag == "math":
            parts.append(math_text(node))
        elif tag == "ruby":
            parts.append(ruby_text(node))
        elif tag not in _UNSEEN:
            parts.append(_before(node))
            child = node.last_child
            while child is not None:
                stack.append((child, verbatim or tag == "pre"))
                child = child.prev
    return re.sub(r"\s*\n\s*", "\n", "".join(parts)).strip()


def _before(node: LexborNode) -> str:
    if node.tag == "img":
        return f" {node.attributes.get('alt') or ''} "
    return "\n" if node.tag in _BREAKING else " " if node.tag in _SPACING else ""
