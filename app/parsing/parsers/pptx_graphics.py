"""What graphic frames on slides hold: tables, the figures behind charts, the text of diagrams (SmartArt)."""

from collections.abc import Iterator

from lxml import etree

from app.parsing.document import Element, ElementKind, Table
from app.parsing.parsers.pptx_text import body_lines
from app.parsing.parsers.xml_tree import attribute, children, first, local_name, number
from app.parsing.table_headers import header_rows
from app.parsing.tables import rectangle, without_empty_edges

_ON = ("1", "true")
_MAX_POINTS = 10_000
"""Of one series of a chart, and of one diagram."""


def slide_table(node: etree._Element) -> Table:
    """An `a:tbl`. Every cell is there, also those that a merged one covers: they take its text."""
    grid: list[list[str]] = []
    for row in node.iterchildren("{*}tr"):
        line: list[str] = []
        for cell in row.iterchildren("{*}tc"):
            column = len(line)
            if line and attribute(cell, "hMerge") in _ON:
                line.append(line[-1])
            elif grid and column < len(grid[-1]) and attribute(cell, "vMerge") in _ON:
                line.append(grid[-1][column])
            else:
                line.append(body_lines(first(cell, "txBody")))
        grid.append(line)
    rows = without_empty_edges(rectangle(grid))
    named = attribute(first(node, "tblPr"), "firstRow") in _ON
    return Table(rows=rows, header_rows=min(1, len(rows) - 1) if named and rows else header_rows(rows))


def chart_elements(chart: etree._Element, page: int | None = None) -> Iterator[Element]:
    """A chart's title as caption, and the figures that its series were drawn from as a table."""
    plot = first(chart, "chart", "plotArea")
    title = first(chart, "chart", "title", "tx", "rich")
    caption = body_lines(title).replace("\n", " ")
    series = list(plot.iterdescendants("{*}ser")) if plot is not None else []
    names: dict[int, str] = {}
    columns: list[tuple[str, dict[int, str]]] = []
    for node in series:
        names |= _points(first(node, "cat")) or _points(first(node, "xVal"))
        label = next(iter(_points(first(node, "tx")).values()), "")
        columns.append((label, _points(first(node, "val")) or _points(first(node, "yVal"))))
    positions = sorted(set(names).union(*(values for _, values in columns)))
    if caption:
        yield Element(kind=ElementKind.CAPTION, text=caption, page=page)
    if positions and columns:
        head = ["", *(label for label, _ in columns)]
        body = [[names.get(at, ""), *(values.get(at, "") for _, values in columns)] for at in positions]
        yield Element(kind=ElementKind.TABLE, table=Table(rows=[head, *body], caption=caption), page=page)


def _points(node: etree._Element | None) -> dict[int, str]:
    """The values that a chart remembers, by position: `c:pt` inside a reference's cache or a literal."""
    if node is None:
        return {}
    found: dict[int, str] = {}
    for point in node.iterdescendants("{*}pt"):
        value = first(point, "v")
        position = number(attribute(point, "idx"), -1)
        if value is not None and value.text and position >= 0 and len(found) < _MAX_POINTS:
            found.setdefault(position, _figure(value.text))
    if not found:
        literal = first(node, "v")
        return {0: literal.text} if literal is not None and literal.text else {}
    return found


def _figure(text: str) -> str:
    """Excel stores binary fractions in full: 0.30000000000000004."""
    try:
        return f"{float(text):.15g}" if "." in text else text
    except ValueError:
        return text


def diagram_elements(model: etree._Element, page: int | None = None) -> Iterator[Element]:
    """The points of a diagram's data model as list items, nested as the diagram nests them."""
    texts: dict[str, str] = {}
    roots: list[str] = []
    for point in list(model.iterdescendants("{*}pt"))[:_MAX_POINTS]:
        if attribute(point, "type") in ("", "node", "asst", "doc"):
            identity = attribute(point, "modelId")
            texts[identity] = body_lines(first(point, "t"))
            if attribute(point, "type") == "doc":
                roots.append(identity)
    below: dict[str, list[tuple[int, str]]] = {}
    for link in model.iterdescendants("{*}cxn"):
        if local_name(link) == "cxn" and attribute(link, "type") in ("", "parOf"):
            child = (number(attribute(link, "srcOrd")), attribute(link, "destId"))
            below.setdefault(attribute(link, "srcId"), []).append(child)
    stack = [(identity, 0) for identity in reversed(roots)]
    while stack:
        identity, level = stack.pop()
        text = texts.pop(identity, None)
        if text is None:  # seen already: broken links may go round in circles
            continue
        if text and level:
            yield Element(kind=ElementKind.LIST_ITEM, text=text, level=min(level, 9), page=page)
        stack.extend((child, level + 1) for _, child in sorted(below.get(identity, []), reverse=True))


def frame_content(frame: etree._Element) -> etree._Element | None:
    """What a graphic frame holds: `tbl`, `chart`, `relIds` (a diagram), `oleObj`; alternatives are looked into."""
    data = first(frame, "graphic", "graphicData")
    stack = list(reversed(list(children(data)))) if data is not None else []
    while stack:
        node = stack.pop()
        if local_name(node) in ("AlternateContent", "Choice"):
            stack.extend(reversed(list(children(node))))
        else:
            return node
    return None
