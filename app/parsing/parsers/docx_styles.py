"""What a Word paragraph is, by its style and its own properties: heading, list item, caption, code."""

import re
from dataclasses import dataclass

from lxml import etree

from app.parsing.document import ElementKind
from app.parsing.parsers.xml_tree import attribute, children, first, local_name

_HEADING_NAME = re.compile(r"(?:heading|überschrift|titre|标题|標題|見出し)\s*([1-9])$", re.IGNORECASE)
_TITLE_NAMES = frozenset(("title", "标题", "標題", "titel", "titre"))
_CODE_NAME = re.compile(r"code|preformatted|代码|source", re.IGNORECASE)
_CAPTION_NAMES = frozenset(("caption", "题注", "標號"))
_LIST_NAME = re.compile(r"list\s+(?:bullet|number|paragraph)?\s*([2-5])?", re.IGNORECASE)
_MAX_BASES = 20


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    kind: ElementKind = ElementKind.PARAGRAPH
    level: int = 0
    is_title: bool = False


@dataclass(frozen=True, slots=True)
class _Numbering:
    id: str
    level: int


class Styles:
    """Paragraph styles by id, resolved along what they are based on, once each."""

    def __init__(self, root: etree._Element | None) -> None:
        nodes = [] if root is None else [node for node in children(root) if local_name(node) == "style"]
        self._nodes = {attribute(node, "styleId"): node for node in nodes}
        self._resolved: dict[str, tuple[ParagraphStyle, _Numbering | None]] = {}

    def of(self, paragraph: etree._Element) -> ParagraphStyle:
        properties = first(paragraph, "pPr")
        if properties is None:
            return ParagraphStyle()
        named = first(properties, "pStyle")
        style, numbering = self._resolve(attribute(named, "val") if named is not None else "")
        outline = _outline_level(properties)
        if outline is not None:
            return ParagraphStyle(ElementKind.HEADING, outline) if outline else ParagraphStyle()
        if style.kind is not ElementKind.PARAGRAPH:
            return style
        numbering = _numbering(properties) or numbering
        if numbering is not None and numbering.id != "0":
            return ParagraphStyle(ElementKind.LIST_ITEM, numbering.level + 1)
        return style

    def _resolve(self, style_id: str) -> tuple[ParagraphStyle, _Numbering | None]:
        if style_id not in self._resolved:
            self._resolved[style_id] = self._look_up(style_id)
        return self._resolved[style_id]

    def _look_up(self, style_id: str) -> tuple[ParagraphStyle, _Numbering | None]:
        """The first style on the way to the base that says what it is."""
        current, numbering = style_id, None
        for _ in range(_MAX_BASES):
            node = self._nodes.get(current)
            if node is None:
                break
            properties = first(node, "pPr")
            if properties is not None:
                numbering = numbering or _numbering(properties)
            style = style_by_name(_name(node)) or _by_outline(properties)
            if style is not None:
                return style, numbering
            base = first(node, "basedOn")
            current = attribute(base, "val") if base is not None else ""
        return ParagraphStyle(), numbering


def _name(style: etree._Element) -> str:
    node = first(style, "name")
    return attribute(node, "val").strip() if node is not None else ""


def style_by_name(name: str) -> ParagraphStyle | None:
    """What Word's built-in styles are called in several languages; None for a name that says nothing."""
    lowered = name.lower()
    heading = _HEADING_NAME.match(name)
    if heading:
        return ParagraphStyle(ElementKind.HEADING, int(heading[1]))
    if lowered in _TITLE_NAMES:
        return ParagraphStyle(ElementKind.HEADING, 1, is_title=True)
    if lowered in _CAPTION_NAMES:
        return ParagraphStyle(ElementKind.CAPTION)
    if _CODE_NAME.search(name):
        return ParagraphStyle(ElementKind.CODE)
    listed = _LIST_NAME.fullmatch(name)
    if listed and lowered != "list paragraph":  # which Word also gives to indented text
        return ParagraphStyle(ElementKind.LIST_ITEM, int(listed[1] or 1))
    return None


def _by_outline(properties: etree._Element | None) -> ParagraphStyle | None:
    level = _outline_level(properties) if properties is not None else None
    return ParagraphStyle(ElementKind.HEADING, level) if level else None


def _outline_level(properties: etree._Element) -> int | None:
    """1 to 9; 0 where the paragraph says that it is body text; None where it says nothing."""
    node = first(properties, "outlineLvl")
    value = attribute(node, "val") if node is not None else ""
    if not value.isdecimal():
        return None
    return int(value) + 1 if int(value) < 9 else 0


def _numbering(properties: etree._Element) -> _Numbering | None:
    node = first(properties, "numPr")
    if node is None:
        return None
    number, level = first(node, "numId"), first(node, "ilvl")
    depth = attribute(level, "val") if level is not None else ""
    identity = attribute(number, "val") if number is not None else ""
    return _Numbering(identity, min(int(depth), 8) if depth.isdecimal() else 0)
