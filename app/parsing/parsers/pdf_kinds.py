"""What a paragraph of a PDF is: by the outline first, then by type size and weight, then by how it begins."""

import re
from collections import Counter

from app.parsing.document import BoundingBox, Element, ElementKind
from app.parsing.parsers.pdf_lines import Role
from app.parsing.parsers.pdf_paragraphs import Paragraph

_CAPTION = re.compile(
    r"(?:figure|fig\.?|table|tab\.|abbildung|图|圖|表|그림|표)\s*[\dA-Z一二三四五六七八九十]+(?:[.\-–]\d+)*[\s.:：、)]",
    re.IGNORECASE,
)
_OF_TABLE = re.compile(r"table|tab\.|表|표", re.IGNORECASE)
_NOTE = re.compile(r"(?:\d{1,3}|[*†‡§¶]{1,3}|[①-⑳¹²³⁴-⁹]|\[\d{1,3}\])\s*[^\W\d_]")
_EQUATION = re.compile(r"[=≈≡≤≥<>∈∑∏∫√∂∇±×÷→⇒∝]")
_NUMBERED = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[IVX]{1,5}\.|[A-Z]\.|第[一二三四五六七八九十百\d]+[章节條条篇]|[一二三四五六七八九十]{1,3}、)\s*\S"
)
_DECIMAL_NUMBER = re.compile(r"\d{1,2}(?:\.\d{1,2}){1,4}(?=\s)")
_BLANKS = re.compile(r"\s+")
_MAX_HEADING = 160
_LARGER = 1.12  # times the body's size
_NOTE_SIZE = 0.92
_DEEPEST = 6

Outline = dict[int, list[tuple[int, str]]]
"""Page (from 1) to level (from 1) and title without white space."""


def outline_of(entries: list[tuple[int, str, int]]) -> Outline:
    """From PyMuPDF's table of contents: level, title, page."""
    found: Outline = {}
    for level, title, page in entries:
        key = _key(title)
        if key:
            found.setdefault(page, []).append((min(level, _DEEPEST), key))
    return found


_BY_ROLE = {
    Role.CAPTION: ElementKind.CAPTION,
    Role.FOOTNOTE: ElementKind.FOOTNOTE,
    Role.FORMULA: ElementKind.FORMULA,
}
"""Kinds that a model of layout tells better than type and words do."""


def names_table(caption: str) -> bool:
    """Whether a caption says that it is a table's."""
    return _OF_TABLE.match(caption) is not None


class KindOf:
    """Decides for all paragraphs of a document; `sizes` are how many characters are set in each size of type."""

    def __init__(self, paragraphs: list[Paragraph], outline: Outline, sizes: Counter[float]) -> None:
        self._outline = outline
        self._body_size = _body_size(sizes)
        self._levels = self._heading_levels(paragraphs)

    def _heading_levels(self, paragraphs: list[Paragraph]) -> dict[int, int]:
        """By the identity of a paragraph: what the outline names is as deep as it says there; of what looks like a
        heading, larger type is higher, or has the level that the outline gives to headings of its size."""
        outlined: dict[int, int] = {}
        named: dict[float, Counter[int]] = {}
        others: list[Paragraph] = []
        for paragraph in paragraphs:
            level = self._by_outline(paragraph)
            if level:
                outlined[id(paragraph)] = level
                named.setdefault(self._size_class(paragraph), Counter())[level] += 1
            elif self._may_be_heading(paragraph):
                others.append(paragraph)
        sizes = sorted({0.0, *map(self._size_class, others)}, reverse=True)
        by_size = {size: min(rank, _DEEPEST) for rank, size in enumerate(sizes, start=1)}
        by_size.update({size: counts.most_common(1)[0][0] for size, counts in named.items()})
        return outlined | {
            id(paragraph): _level_by_number(paragraph.text()) or by_size[self._size_class(paragraph)]
            for paragraph in others
            if paragraph.role not in (Role.TEXT, Role.LIST_ITEM)
        }

    def _size_class(self, paragraph: Paragraph) -> float:
        """Its size where that is larger than the body's; 0 for headings that only weight sets off."""
        return paragraph.size if paragraph.size >= self._body_size * _LARGER else 0.0

    def element(self, paragraph: Paragraph, box: BoundingBox) -> Element:
        """With its box on the page as it is shown."""
        page, sure, table = paragraph.page, paragraph.confidence, paragraph.first.table
        if table is not None:
            return Element(kind=ElementKind.TABLE, table=table, page=page, bbox=box, confidence=sure)
        text = paragraph.text()
        kind = _BY_ROLE.get(paragraph.role) if paragraph.role else None
        level = 0 if kind else self._levels.get(id(paragraph), 0)
        if level:
            kind = ElementKind.HEADING
        else:
            kind = kind or self._by_words(paragraph, text)
            level = 1 if kind is ElementKind.LIST_ITEM else 0
        text = paragraph.code() if kind is ElementKind.CODE else text
        return Element(kind=kind, text=text, level=level, page=page, bbox=box, confidence=sure)

    def _by_words(self, paragraph: Paragraph, text: str) -> ElementKind:
        """What is no heading, by its type and by how it begins."""
        if paragraph.mono and len(paragraph.lines) > 1:
            return ElementKind.CODE
        if _CAPTION.match(text) and len(text) <= 400:
            return ElementKind.CAPTION
        if self._is_footnote(paragraph, text):
            return ElementKind.FOOTNOTE
        if paragraph.formula and _EQUATION.search(text):
            return ElementKind.FORMULA
        is_item = paragraph.is_list_item or paragraph.role is Role.LIST_ITEM
        return ElementKind.LIST_ITEM if is_item else ElementKind.PARAGRAPH

    def _is_footnote(self, paragraph: Paragraph, text: str) -> bool:
        """By its mark and its smaller type: the body's text stands above it."""
        return paragraph.size <= _NOTE_SIZE * self._body_size and _NOTE.match(text) is not None

    def _by_outline(self, paragraph: Paragraph) -> int:
        entries = self._outline.get(paragraph.page)
        if not entries or len(paragraph.lines) > 4 or paragraph.first.table is not None:
            return 0
        key = _key(paragraph.text())
        for level, title in entries:
            if key == title or (key.endswith(title) and len(key) - len(title) <= 12):
                return level
        return 0

    def _may_be_heading(self, paragraph: Paragraph) -> bool:
        if paragraph.first.table is not None or len(paragraph.lines) > 3:
            return False
        size = paragraph.size
        larger = size >= self._body_size * _LARGER
        bold = size >= self._body_size * 0.95 and paragraph.bold
        if not (larger or bold or paragraph.role is Role.HEADING) or paragraph.mono:
            return False
        text = paragraph.text()
        letters = sum(map(str.isalpha, text))
        if letters < 2 or letters * 2 < len(_BLANKS.sub("", text)) or len(text) > _MAX_HEADING:
            return False
        if larger:
            return not text.endswith((",", "，", "；", ";"))
        if text.endswith((".", "。", ",", "，", ";", ":", "：")):
            return False
        return len(paragraph.lines) == 1 or _NUMBERED.match(text) is not None


def _level_by_number(heading: str) -> int:
    """2 for "1.1", 3 for "1.1.1"; 0 where none is before it."""
    numbered = _DECIMAL_NUMBER.match(heading)
    return min(numbered[0].count(".") + 1, _DEEPEST) if numbered else 0


def _body_size(sizes: Counter[float]) -> float:
    """The largest size in which a good part of the text is set: papers set body, abstract and notes in several."""
    total = sizes.total()
    return max((size for size, count in sizes.items() if count >= 0.15 * total), default=10.0)


def _key(text: str) -> str:
    return _BLANKS.sub("", text).casefold()
