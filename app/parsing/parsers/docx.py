"""Word documents: the body in order, as it reads when all tracked changes are accepted.

The XML is walked directly: text boxes, content controls, footnotes, insertions and nested tables have no place in
python-docx's paragraphs, and a dangling relationship that Word ignores would keep it from opening the file at all.
Headers and footers are left out: they repeat on every page and say little.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from app.parsing.document import Element, ElementKind, ParsedDocument, Table, add_joined
from app.parsing.encoding import declared_html_encoding, decode, looks_like_text
from app.parsing.parsers.docx_package import DocxPackage
from app.parsing.parsers.docx_styles import ParagraphStyle, Styles
from app.parsing.parsers.docx_text import Piece, is_formula, mark_is_deleted, paragraph_pieces
from app.parsing.parsers.html import html_elements
from app.parsing.parsers.text import text_elements
from app.parsing.parsers.xml_tree import attribute, children, first, local_name
from app.parsing.source import Source
from app.parsing.tables import SpannedCell, fill_spans, without_empty_edges

_RTF = b"{\\rtf"
_MARKUP = re.compile("<(?:html|body|p|div|h[1-6]|table)[ >]", re.IGNORECASE)
_FORMULA = ParagraphStyle(ElementKind.FORMULA)
_TRANSPARENT = frozenset(("sdt", "sdtContent", "ins", "moveTo", "smartTag", "customXml", "AlternateContent", "Choice"))


class DocxParser:
    def parse(self, source: Source) -> ParsedDocument:
        package = DocxPackage.read(source.path)
        reader = _BodyReader(package, Styles(package.styles), package.notes(), source.limits.cells)
        reader.read(package.body())
        properties = package.properties
        return ParsedDocument(
            media_type=source.media_type,
            parser="docx 1",
            title=reader.title or properties.get("title", ""),
            elements=reader.elements,
            metadata={key: value for key, value in properties.items() if key != "title"},
            warnings=[*(["Comments were left out."] if package.has_comments else []), *reader.warnings],
        )


@dataclass(slots=True)
class _BodyReader:
    package: DocxPackage
    styles: Styles
    notes: dict[str, etree._Element]
    max_cells: int
    title: str = ""
    elements: list[Element] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _notes_read: set[str] = field(default_factory=set)
    _joined: list[Piece] = field(default_factory=list)
    """Of paragraphs whose end was deleted: they run on in the next one."""

    def read(self, container: etree._Element) -> None:
        """Elements of the paragraphs and tables in a body, a cell, a text box or a note."""
        for child in blocks(container):
            if local_name(child) == "p":
                self._paragraph(child)
                continue
            self._end_joined()
            if local_name(child) == "tbl":
                self._table(child)
            else:
                self._inserted(attribute(child, "id"))
        self._end_joined()

    def _paragraph(self, node: etree._Element) -> None:
        pieces = [*self._joined, *paragraph_pieces(node)]
        self._joined = []
        if mark_is_deleted(node):
            self._joined = pieces
        else:
            self._read_pieces(pieces, _FORMULA if is_formula(node) else self.styles.of(node))

    def _end_joined(self) -> None:
        """A paragraph whose mark was deleted with no paragraph after it to become part of."""
        pieces, self._joined = self._joined, []
        if pieces:
            self._read_pieces(pieces, ParagraphStyle())

    def _read_pieces(self, pieces: list[Piece], style: ParagraphStyle) -> None:
        text = "".join(piece.text for piece in pieces)
        if text.strip():
            self._add(style, text)
        for piece in pieces:
            if piece.box is not None:
                self.read(piece.box)
            elif piece.note:
                self._footnote(piece)
            elif piece.graphic is not None:
                self.elements.extend(self.package.graphic(piece.graphic))

    def _inserted(self, identity: str) -> None:
        """A whole file that Word shows in this place (`altChunk`)."""
        content = self.package.inserted.get(identity, b"")
        decoded = decode(content, declared=declared_html_encoding(content))
        if not looks_like_text(content) or content.startswith(_RTF):
            self.warnings.append("A file of another format that is inserted in the text was left out.")
        elif _MARKUP.search(decoded.text):
            self.elements.extend(html_elements(decoded.text, max_cells=self.max_cells))
        else:
            self.elements.extend(text_elements(decoded.text))

    def _add(self, style: ParagraphStyle, text: str) -> None:
        if style.is_title and not self.title:
            self.title = " ".join(text.split())
        add_joined(self.elements, Element(kind=style.kind, text=text, level=style.level))

    def _footnote(self, piece: Piece) -> None:
        node = self.notes.get(piece.note)
        if node is None or piece.note in self._notes_read:
            return
        self._notes_read.add(piece.note)
        text = "\n".join(line for line in container_lines(node) if line)
        if text:
            self.elements.append(Element(kind=ElementKind.FOOTNOTE, text=text))

    def _table(self, node: etree._Element) -> None:
        rows = list(_rows(node))
        cells = [cell for row in rows for cell in _cells(row)]
        if len(cells) == 1:  # a frame around text
            self.read(cells[0])
            return
        table = _table(rows)
        if table.rows:
            self.elements.append(Element(kind=ElementKind.TABLE, table=table))
        for paragraph in node.iter("{*}p"):
            for piece in paragraph_pieces(paragraph):
                if piece.note:
                    self._footnote(piece)
                elif piece.graphic is not None:
                    self.elements.extend(self.package.graphic(piece.graphic))


def blocks(container: etree._Element) -> Iterator[etree._Element]:
    """Paragraphs, tables and inserted files directly inside, through content controls and insertions but not through
    deletions."""
    for child in children(container):
        name = local_name(child)
        if name in ("p", "tbl", "altChunk"):
            yield child
        elif name in _TRANSPARENT:
            yield from blocks(child)


def container_lines(container: etree._Element) -> Iterator[str]:
    """Text of a cell, a box or a note, a line a paragraph; rows of nested tables as `a | b`."""
    for child in blocks(container):
        if local_name(child) == "tbl":
            for row in _rows(child):
                parts = (" ".join(container_lines(cell)).strip() for cell in _cells(row))
                yield " | ".join(part for part in parts if part)
            continue
        if local_name(child) == "altChunk":
            continue
        pieces = list(paragraph_pieces(child))
        yield "".join(piece.text for piece in pieces).strip()
        for piece in pieces:
            if piece.box is not None:
                yield from container_lines(piece.box)


def _rows(table: etree._Element) -> Iterator[etree._Element]:
    for child in children(table):
        name = local_name(child)
        if name == "tr":
            properties = first(child, "trPr")
            if properties is None or first(properties, "del") is None:
                yield child
        elif name in _TRANSPARENT:
            yield from _rows(child)


def _cells(row: etree._Element) -> Iterator[etree._Element]:
    for child in children(row):
        name = local_name(child)
        if name == "tc":
            yield child
        elif name in _TRANSPARENT:
            yield from _cells(child)


@dataclass(slots=True)
class _Cell:
    text: str
    columns: int
    continues_above: bool
    rows: int = 1


def _table(rows: list[etree._Element]) -> Table:
    """The cells with spans filled. A vertical merge is a cell that says it continues the one above in its column."""
    grid: list[list[_Cell]] = []
    above: dict[int, _Cell] = {}
    for row in rows:
        line: list[_Cell] = []
        starts: dict[int, _Cell] = {}
        column = _skipped_columns(row)
        if column:
            line.append(_Cell("", column, continues_above=False))
        for node in _cells(row):
            cell = _read_cell(node)
            origin = above.get(column)
            if cell.continues_above and origin is not None:
                origin.rows += 1
                cell = origin
            else:
                line.append(cell)
            starts[column] = cell
            column += cell.columns
        above = starts
        grid.append(line)
    filled = fill_spans([[SpannedCell(cell.text, cell.columns, cell.rows) for cell in line] for line in grid])
    cells = without_empty_edges(filled)
    return Table(rows=cells, header_rows=_header_rows(rows, len(cells)))


def _skipped_columns(row: etree._Element) -> int:
    properties = first(row, "trPr")
    before = first(properties, "gridBefore") if properties is not None else None
    return _count(before, 0)


def _read_cell(node: etree._Element) -> _Cell:
    properties = first(node, "tcPr")
    span = first(properties, "gridSpan") if properties is not None else None
    merge = first(properties, "vMerge") if properties is not None else None
    text = "\n".join(line for line in container_lines(node) if line)
    return _Cell(
        text, max(_count(span, 1), 1), continues_above=merge is not None and attribute(merge, "val") != "restart"
    )


def _count(node: etree._Element | None, default: int) -> int:
    value = attribute(node, "val") if node is not None else ""
    return min(int(value), 1000) if value.isdecimal() else default


def _header_rows(rows: list[etree._Element], height: int) -> int:
    count = 0
    for row in rows:
        properties = first(row, "trPr")
        if properties is None or first(properties, "tblHeader") is None:
            break
        count += 1
    return min(count or 1, max(height - 1, 0))
