"""Tables that are none by their tags: by ARIA roles, or by a style sheet that shows other elements as one."""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from app.parsing.document import Table
from app.parsing.parsers.html_inline import element_children
from app.parsing.parsers.html_tables import cell_text, span
from app.parsing.table_headers import header_rows
from app.parsing.tables import SpannedCell, fill_spans, without_empty_edges

_TABLES = frozenset(("table", "grid", "treegrid"))
_CELLS = frozenset(("cell", "gridcell", "columnheader", "rowheader"))
_ROLES = {"table": "table", "inline-table": "table", "table-row": "row", "table-cell": "cell"}
_DISPLAY = re.compile(r"display\s*:\s*((?:inline-)?table|table-row|table-cell)(?![\w-])", re.IGNORECASE)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_AT_RULE = re.compile(r"@[^{};@]*+\{(?:[^{}]*+\{[^{}]*+\})*+[^{}]*+\}")
_RULE = re.compile(r"(?:^|(?<=[{}]))([^{}]++)\{([^{}]*+)\}")
_LONGEST_SHEET = 1_000_000
_MOST_RULES = 100
_MOST_STEPS = 4
"""Of a selector from one element to another: in deep pages each multiplies the time that it takes."""


def mark_styled_tables(tree: LexborHTMLParser) -> None:
    """Gives elements that a style shows as a table, a row or a cell its role. Rules for some media are not read."""
    for selector, role in _rules(tree):
        try:
            found = tree.css(selector)
        except SelectolaxError:
            continue
        for node in found:
            _mark(node, role)
    for node in tree.css('[style*="table"]'):
        shown = _DISPLAY.search(node.attributes.get("style") or "")
        if shown:
            _mark(node, _ROLES[shown[1].lower()])


def _rules(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    sheet = "".join(node.text(deep=True) for node in tree.css("style"))[:_LONGEST_SHEET]
    rules = 0
    for rule in _RULE.finditer(_AT_RULE.sub("", _COMMENT.sub("", sheet))) if _DISPLAY.search(sheet) else ():
        shown = _DISPLAY.search(rule[2])
        steps = max(len(selector.split()) for selector in rule[1].split(","))
        if shown and ":" not in rule[1] and steps <= _MOST_STEPS and rules < _MOST_RULES:  # `:after` is no element
            rules += 1
            yield rule[1].strip(), _ROLES[shown[1].lower()]


def _mark(node: LexborNode, role: str) -> None:
    if not node.attributes.get("role") and node.tag not in ("table", "tr", "td", "th"):
        node.attrs["role"] = role


def has_table_role(node: LexborNode) -> bool:
    return node.attributes.get("role") in _TABLES


def is_part_of_table(node: LexborNode) -> bool:
    role = node.attributes.get("role")
    return role == "row" or role in _CELLS


def styled_table(node: LexborNode) -> Table | None:
    """Its cells; None where it only arranges a page: fewer than two rows of two cells, or whole sections in it."""
    rows = [list(_inside(row, _CELLS)) for row in _inside(node, frozenset(("row",)))]
    if sum(len(row) > 1 for row in rows) < 2 or node.css_first("h1, h2, h3, article, section, main, table, pre"):
        return None
    cells = without_empty_edges(fill_spans([_spanned(cell) for cell in row] for row in rows))
    named = next((at for at, row in enumerate(rows) if not all(_is_name(cell) for cell in row)), len(rows))
    return Table(rows=cells, header_rows=min(named or header_rows(cells), len(cells)))


def _inside(node: LexborNode, roles: frozenset[str]) -> Iterator[LexborNode]:
    """The nearest elements of these roles, in order; of tables inside it none."""
    stack = list(element_children(node))[::-1]
    while stack:
        child = stack.pop()
        if child.attributes.get("role") in roles:
            yield child
        elif not has_table_role(child):
            stack.extend(list(element_children(child))[::-1])


def _is_name(cell: LexborNode) -> bool:
    return cell.attributes.get("role") == "columnheader"


def _spanned(cell: LexborNode) -> SpannedCell:
    columns, rows = (span(cell.attributes.get(name)) for name in ("aria-colspan", "aria-rowspan"))
    return SpannedCell(cell_text(cell), max(columns, 1), max(rows, 1))
