"""The text of OpenDocument: paragraphs, headings, lists, tables, notes and frames, in order.

Deleted text stands apart in `text:tracked-changes` and is never reached; insertions are plain text. Headers and footers
stand in `styles.xml` and are not read. The walk is bounded in depth, as lxml bounds the depth of a document.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from app.parsing.document import BoundingBox, Element, ElementKind, Table, add_joined
from app.parsing.parsers.odf_styles import OdfStyles
from app.parsing.parsers.xml_tree import attribute, children, first, local_name, number
from app.parsing.reasons import parse_failure
from app.parsing.tables import SpannedCell, fill_spans, without_empty_edges

_FRAMES = frozenset(("frame", "custom-shape", "text-box", "g", "rect", "ellipse", "a"))
_TRANSPARENT = frozenset(
    ("section", "index-body", "index-title", "table-of-content", "alphabetical-index", "user-index", "bibliography")
)
# What is no text of the paragraph: comments, deletions, phonetic guides, and the mark of a note beside its body.
_LEFT_OUT = frozenset(
    ("annotation", "annotation-end", "tracked-changes", "ruby-text", "note-citation", "desc", "title")
)
_WHITE_SPACE = re.compile(r"[ \t\r\n]+")
_MAX_REPEATS = 1000


@dataclass(slots=True)
class OdfReader:
    styles: OdfStyles
    max_cells: int
    objects: Mapping[str, etree._Element] = field(default_factory=dict)
    """As in `OdfPackage.objects`."""
    elements: list[Element] = field(default_factory=list)
    page: int | None = None
    box: BoundingBox | None = None
    """Given to every element, where what is read has a page and a place."""
    title: str = ""
    has_comments: bool = False
    _cells: int = 0

    def read(self, container: etree._Element, level: int = 0) -> None:
        """Everything in a body, a section, a text box or a note's body; `level` of the list it stands in."""
        for child in children(container):
            name = local_name(child)
            if name in ("p", "h"):
                self.paragraph(child, level)
            elif name in ("list", "numbered-paragraph"):
                self._list(child, level)
            elif name == "table":
                self.table(child)
            elif name == "object":
                self._object(self.objects.get(attribute(child, "href").removeprefix("./").rstrip("/")))
            elif is_hidden(child):
                continue
            elif name in _TRANSPARENT or name in _FRAMES:
                self.read(child, level)

    def paragraph(self, node: etree._Element, level: int = 0) -> None:
        """A paragraph, then what hangs on it: its notes, and the text boxes anchored in it."""
        pieces = _Pieces()
        pieces.read(node, self.styles)
        self.has_comments = self.has_comments or pieces.has_comments
        text = "".join(pieces.text)
        if text.strip():
            self._add(self._element(node, text, level))
        for note in pieces.notes:
            lines = [line for line in container_lines(first(note, "note-body"), self.styles) if line]
            if lines:
                self._add(Element(kind=ElementKind.FOOTNOTE, text="\n".join(lines)))
        for frame in pieces.frames:
            self.read(frame)

    def _object(self, root: etree._Element | None) -> None:
        """A formula as its author typed it, or the figures that a chart was drawn from."""
        if root is None:
            return
        if local_name(root) == "math":
            typed = next(root.iter("{*}annotation"), root)
            self._add(Element(kind=ElementKind.FORMULA, text=" ".join("".join(map(str, typed.itertext())).split())))
            return
        chart = first(root, "body", "chart", "chart")
        caption = " ".join(container_lines(first(chart, "title"), self.styles))
        if caption:
            self._add(Element(kind=ElementKind.CAPTION, text=caption))
        table = first(chart, "table")
        if table is not None:
            self.table(table)

    def _element(self, node: etree._Element, text: str, level: int) -> Element:
        style = self.styles.of(attribute(node, "style-name"))
        if local_name(node) == "h":
            depth = min(max(number(attribute(node, "outline-level"), 1), 1), 9)
            return Element(kind=ElementKind.HEADING, text=text, level=depth)
        if style.is_title:
            self.title = self.title or " ".join(text.split())
        if level and style.kind is ElementKind.PARAGRAPH:
            return Element(kind=ElementKind.LIST_ITEM, text=text, level=level)
        return Element(kind=style.kind, text=text, level=style.level)

    def _list(self, node: etree._Element, level: int) -> None:
        for item in children(node):
            if local_name(item) in ("list-item", "list-header"):
                self.read(item, min(level + 1, 9))
            elif local_name(item) in ("p", "h"):
                self.paragraph(item, min(level + 1, 9))

    def table(self, node: etree._Element) -> None:
        table = odf_table(node, self.styles, self.max_cells)
        self._cells += sum(map(len, table.rows))
        if self._cells > self.max_cells:
            raise parse_failure("too_complex", "Its tables hold more cells than one document may.")
        if len(table.rows) == 1 and len(table.rows[0]) == 1:  # a frame around text
            for cell in node.iter("{*}table-cell"):
                self.read(cell)
        elif table.rows:
            self._add(Element(kind=ElementKind.TABLE, table=table))

    def _add(self, element: Element) -> None:
        add_joined(self.elements, element.model_copy(update={"page": self.page, "bbox": self.box}))


@dataclass(slots=True)
class _Pieces:
    text: list[str] = field(default_factory=list)
    notes: list[etree._Element] = field(default_factory=list)
    frames: list[etree._Element] = field(default_factory=list)
    has_comments: bool = False

    def read(self, node: etree._Element, styles: OdfStyles) -> None:
        """White space is as in HTML; blanks that count are elements (part 3, 6.1.2)."""
        self.text.append(_collapsed(node.text))
        for child in children(node):
            name = local_name(child)
            if name == "s":
                self.text.append(" " * min(max(number(attribute(child, "c"), 1), 1), _MAX_REPEATS))
            elif name == "tab":
                self.text.append("\t")
            elif name == "line-break":
                self.text.append("\n")
            elif name == "note":
                self.notes.append(child)
            elif name in _FRAMES and name != "a":
                self.frames.append(child)
            elif name in _LEFT_OUT:
                self.has_comments = self.has_comments or name == "annotation"
            elif not (name == "span" and styles.is_hidden(attribute(child, "style-name"))) and name != "hidden-text":
                self.read(child, styles)
            self.text.append(_collapsed(child.tail))


def is_hidden(section: etree._Element) -> bool:
    """Whether it is a section that is not shown."""
    return local_name(section) == "section" and attribute(section, "display") == "none"


def _collapsed(text: str | None) -> str:
    return _WHITE_SPACE.sub(" ", text) if text else ""


def container_lines(container: etree._Element | None, styles: OdfStyles) -> Iterator[str]:
    """Text of a cell or a note, a line a paragraph; rows of nested tables as `a | b`."""
    for child in children(container) if container is not None else ():
        name = local_name(child)
        if name in ("p", "h"):
            pieces = _Pieces()
            pieces.read(child, styles)
            yield "".join(pieces.text).strip()
            for frame in pieces.frames:
                yield from container_lines(frame, styles)
        elif name == "table":
            for row in _rows(child):
                parts = (" ".join(container_lines(cell, styles)).strip() for cell in children(row))
                yield " | ".join(part for part in parts if part)
        elif is_hidden(child):
            continue
        elif name in _FRAMES or name in _TRANSPARENT or name in ("list", "list-item", "list-header"):
            yield from container_lines(child, styles)


def odf_table(node: etree._Element, styles: OdfStyles, max_cells: int) -> Table:
    """Cells with spans filled. Repeated cells and rows are laid out as often as they say, within `max_cells`."""
    rows: list[list[SpannedCell]] = []
    header_rows = cells = 0
    for row in _rows(node):
        line = list(_cells(row, styles))
        repeats = max(number(attribute(row, "number-rows-repeated"), 1), 1) if any(cell.text for cell in line) else 1
        cells += len(line) * repeats
        if cells > max_cells:
            raise parse_failure("too_complex", "A table repeats its cells more often than one document may hold.")
        rows.extend([line] * repeats)
        parent = row.getparent()
        header_rows += parent is not None and local_name(parent) == "table-header-rows"
    filled = without_empty_edges(fill_spans(rows, max_cells=max_cells))
    return Table(rows=filled, header_rows=min(header_rows or 1, max(len(filled) - 1, 0)))


def _rows(node: etree._Element) -> Iterator[etree._Element]:
    for child in children(node):
        name = local_name(child)
        if name == "table-row":
            yield child
        elif name in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _rows(child)


def _cells(row: etree._Element, styles: OdfStyles) -> Iterator[SpannedCell]:
    """Covered cells are left out: what covers them says how far it reaches."""
    for node in children(row):
        if local_name(node) != "table-cell":
            continue
        text = "\n".join(line for line in container_lines(node, styles) if line)
        columns = max(number(attribute(node, "number-columns-spanned"), 1), 1)
        span = min(max(number(attribute(node, "number-rows-spanned"), 1), 1), _MAX_REPEATS)
        repeats = max(number(attribute(node, "number-columns-repeated"), 1), 1)
        for _ in range(min(repeats, _MAX_REPEATS)):
            yield SpannedCell(text, min(columns, _MAX_REPEATS), span)
