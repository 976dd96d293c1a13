"""HTML pages: everything that a reader sees, in document order."""

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from app.parsing.decoded import read_text
from app.parsing.document import Element, ElementKind, ParsedDocument, Table
from app.parsing.encoding import declared_html_encoding
from app.parsing.parsers.html_bounds import check_bounds
from app.parsing.parsers.html_inline import math_text, ruby_text
from app.parsing.parsers.html_pages import page_break, without_page_numbers
from app.parsing.parsers.html_styled_tables import (
    has_table_role,
    is_part_of_table,
    mark_styled_tables,
    styled_table,
)
from app.parsing.parsers.html_tables import is_layout_table, table_of
from app.parsing.parsers.xhtml import closed_as_html, is_xhtml
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_UNSEEN = frozenset(
    (
        *("script", "style", "head", "template", "noscript", "defs", "desc", "metadata", "symbol", "title", "iframe"),
        *("object", "embed", "canvas", "audio", "video", "select", "datalist", "input"),
    )
)
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "div", "dl"),
        *("dt", "fieldset", "figure", "footer", "form", "header", "hgroup", "hr", "html", "legend", "main", "nav"),
        *("ol", "p", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "li"),
        *("option", "pre", "figcaption"),
        *("text", "foreignobject"),  # of a drawing
    )
)
_GUTTER = re.compile(r"(?:^|[\s_-])(?:gutter|linenos?|line-?numbers?)(?:$|[\s_-])")
_HEADING_TAGS = {f"h{level}": level for level in range(1, 7)}
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source|brush:?)[-\s]([\w+#-]{1,30})")
_NOTE = re.compile(r"\b(?:footnote|endnote|rearnote)\b")
_NAMED_METADATA = {
    "author": "author",
    "description": "description",
    "date": "date",
    "article:published_time": "date",
    "og:title": "og_title",
}


class HtmlParser:
    def parse(self, source: Source) -> ParsedDocument:
        data = source.path.read_bytes()
        text, encoding, warnings = read_text(source, declared=declared_html_encoding(data), data=data)
        text = closed_as_html(text) if is_xhtml(text) else text
        check_bounds(text)
        tree = LexborHTMLParser(text)
        title = tree.css_first("head title")
        mark_styled_tables(tree)
        walker = _Walker(max_cells=source.limits.cells)
        if tree.body is not None:
            walker.walk(tree.body)
        elements = without_page_numbers(walker.elements, walker.page_ends)
        if source.settings.html_content == "main":
            elements, left_out = _main_elements(text, elements)
            warnings += left_out
        return ParsedDocument(
            media_type=source.media_type,
            parser="selectolax",
            title=title.text() if title else "",
            elements=elements,
            metadata={**_metadata(tree), "encoding": encoding},
            warnings=warnings,
        )


def _main_elements(page: str, elements: list[Element]) -> tuple[list[Element], list[str]]:
    from app.parsing.parsers.html_main import main_elements  # noqa: PLC0415 - 0.7 s and 20 MB for who asks for it

    return main_elements(page, elements)


def html_elements(fragment: str, *, max_cells: int = 1_000_000) -> list[Element]:
    """Elements of a piece of HTML that stands in another document. Raises `ParseFailed` (`too_complex`)."""
    check_bounds(fragment)
    body = LexborHTMLParser(fragment).body
    walker = _Walker(max_cells=max_cells)
    if body is not None:
        walker.walk(body)
    return walker.elements


def _metadata(tree: LexborHTMLParser) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.css("meta"):
        attributes = node.attributes
        name = _NAMED_METADATA.get((attributes.get("name") or attributes.get("property") or "").lower())
        if name and attributes.get("content"):
            found.setdefault(name, attributes["content"] or "")
    return found


@dataclass(slots=True)
class _Walker:
    """Goes over the tree with a stack of its own: pages nest deeper than Python recurses."""

    max_cells: int
    elements: list[Element] = field(default_factory=list)
    cells: int = 0
    page_ends: list[int] = field(default_factory=list)
    """Numbers of elements before which paper is changed."""
    _text: list[str] = field(default_factory=list)
    _kinds: list[tuple[ElementKind, int]] = field(default_factory=list)
    _lists: int = 0

    def walk(self, root: LexborNode) -> None:
        stack: list[tuple[LexborNode, bool]] = [(root, False)]
        while stack:
            node, leaving = stack.pop()
            if leaving:
                self._leave(node)
            elif node.is_text_node:
                self._text.append(re.sub(r"\s+", " ", node.text_content or ""))
            elif node.is_element_node and self._enter(node):
                stack.append((node, True))
                child = node.last_child
                while child is not None:
                    stack.append((child, False))
                    child = child.prev
        self._flush()

    def _enter(self, node: LexborNode) -> bool:
        """Whether to go on to its children; then `_leave` is called after them."""
        tag = node.tag or ""
        if tag in _UNSEEN or is_hidden(node) or _is_gutter(tag, node):
            return False
        if tag in ("pre", "math", "ruby"):
            self._whole(tag, node)
            return False
        table = _table_of(tag, node)
        if table is not None:
            self._table(table)
            return False
        if _is_block(tag, node):
            self._flush()
        if page_break(node) == "before":
            self._end_page()
        self._begin(tag, node)
        return True

    def _begin(self, tag: str, node: LexborNode) -> None:
        if tag == "br":
            self._text.append("\n")
        elif tag == "img":
            self._text.append(f" {node.attributes.get('alt') or ''} ")
        elif tag == "tspan":
            self._text.append(" ")
        elif tag in _HEADING_TAGS:
            self._kinds.append((ElementKind.HEADING, _HEADING_TAGS[tag]))
        elif tag in ("ul", "ol"):
            self._lists += 1
        elif tag == "li":
            self._kinds.append((ElementKind.LIST_ITEM, max(self._lists, 1)))
        elif tag in ("figcaption", "caption"):
            self._kinds.append((ElementKind.CAPTION, 0))
        elif _is_note(tag, node):
            self._kinds.append((ElementKind.FOOTNOTE, 0))

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if _is_block(tag, node) or tag == "caption":
            self._flush()
        if tag in _HEADING_TAGS or tag in ("figcaption", "caption", "li") or _is_note(tag, node):
            self._kinds.pop()
        elif tag in ("ul", "ol"):
            self._lists -= 1
        if page_break(node) == "after":
            self._end_page()

    def _end_page(self) -> None:
        self._flush()
        self.page_ends.append(len(self.elements))

    def _flush(self) -> None:
        text = "".join(self._text).strip()
        self._text.clear()
        if not text:
            return
        kind, level = self._kinds[-1] if self._kinds else (ElementKind.PARAGRAPH, 0)
        self.elements.append(Element(kind=kind, text=text, level=level))

    def _whole(self, tag: str, node: LexborNode) -> None:
        """What is read at once: code, formulas, characters with their reading."""
        if tag == "ruby":
            self._text.append(ruby_text(node))
        elif tag == "pre":
            self._code(node)
        elif node.attributes.get("display") == "block":
            self._flush()
            self.elements.append(Element(kind=ElementKind.FORMULA, text=math_text(node)))
        else:
            self._text.append(math_text(node))

    def _code(self, node: LexborNode) -> None:
        self._flush()
        inner = node.css_first("code")
        classes = f"{node.attributes.get('class') or ''} {(inner.attributes.get('class') if inner else '') or ''}"
        language = _LANGUAGE.search(classes)
        code = node.text(deep=True)
        self.elements.append(Element(kind=ElementKind.CODE, text=code, language=language[1] if language else ""))

    def _table(self, table: Table) -> None:
        self._flush()
        if table.caption:
            self.elements.append(Element(kind=ElementKind.CAPTION, text=table.caption))
        self.cells += sum(map(len, table.rows))
        if self.cells > self.max_cells:
            raise parse_failure("too_complex", "Its tables hold more cells than one document may.")
        if table.rows:
            self.elements.append(Element(kind=ElementKind.TABLE, table=table))


def _table_of(tag: str, node: LexborNode) -> Table | None:
    """The table that a node is, unless it only arranges a page."""
    if tag == "table":
        return None if is_layout_table(node) else table_of(node)
    return styled_table(node) if has_table_role(node) else None


def _is_block(tag: str, node: LexborNode) -> bool:
    return tag in _BLOCKS or tag in _HEADING_TAGS or is_part_of_table(node)


def _is_gutter(tag: str, node: LexborNode) -> bool:
    """Whether it is the column of line numbers beside code."""
    return tag == "td" and _GUTTER.search(node.attributes.get("class") or "") is not None


def _is_note(tag: str, node: LexborNode) -> bool:
    """Whether it is an aside that says it is a note (EPUB structural semantics, DPUB-ARIA)."""
    if tag != "aside":
        return False
    attributes = node.attributes
    return bool(_NOTE.search(f"{attributes.get('epub:type') or ''} {attributes.get('role') or ''}"))


def is_hidden(node: LexborNode) -> bool:
    """By its own attributes: style sheets are not read."""
    attributes = node.attributes
    return "hidden" in attributes or _HIDDEN_STYLE.search(attributes.get("style") or "") is not None
