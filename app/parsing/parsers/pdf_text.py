"""The text layer of a page and what is drawn beside it, as PyMuPDF gives them in one pass."""

from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.parsers.pdf_lines import (
    MATHEMATICAL,
    UPRIGHT,
    Box,
    Line,
    LineNumber,
    PageLines,
    direction,
    union,
    upright,
)

TEXT_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
# Drawings come after the run of text that they stand in, so that an underline does not cut a line in two.
_WITH_DRAWINGS = pymupdf.TEXT_COLLECT_VECTORS | pymupdf.TEXT_LAZY_VECTORS
_TEXT, _DRAWING = 0, 3  # types of blocks
_BOLD, _MONO = pymupdf.TEXT_FONT_BOLD, pymupdf.TEXT_FONT_MONOSPACED
_SUPERSCRIPT = pymupdf.TEXT_FONT_SUPERSCRIPT
_Type = tuple[str, int, float]
"""Font, flags and size of a span."""
_text, _type = itemgetter("text"), itemgetter("font", "flags", "size")
_drawing = itemgetter("bbox", "stroked", "isrect")
Drawing = tuple[Box, bool, bool]
"""One straight piece of a drawing, or the whole where it is not made of rectangles and straight lines: its box on the
page as stored, with the width of the stroke; whether it is stroked; and whether it is plain, that is a rectangle or a
line along an axis: of others only the box is known."""
_SAME_PLACE = 0.15  # of the height of a line, which is some 1.4 times the size of its type


class PageText:
    """MuPDF interprets a page's contents anew for every question, which costs more than all that we do with the answer:
    so lines, words and drawings are taken from one pass. The page must not be rotated: `set_rotation(0)` first.
    """

    def __init__(self, page: pymupdf.Page, *, drawings: bool) -> None:
        self._textpage = page.get_textpage(flags=TEXT_FLAGS | (_WITH_DRAWINGS if drawings else 0))
        content = self._textpage.extractDICT()
        self.width: float = content["width"]
        self.height: float = content["height"]
        self._blocks: list[dict[str, Any]] = content["blocks"]

    def lines(self) -> PageLines:
        found: list[tuple[tuple[int, int], Line]] = []
        way, towards = UPRIGHT, (1.0, 0.0)  # of the line before: mostly all run the same way
        seen = _Seen()
        texts = [block for block in self._blocks if block["type"] == _TEXT]  # which alone are numbered, as for `words`
        for block_number, block in enumerate(texts):
            for line_number, raw in enumerate(block["lines"]):
                line = _line(raw, (block_number, line_number))
                if line is not None and seen.is_new(line.text, line.box):
                    if raw["dir"] != towards:
                        way, towards = direction(*raw["dir"]), raw["dir"]
                    found.append((way, line))
        return upright(found, self.width, self.height)

    def drawings(self) -> list[Drawing]:
        """Empty where they were not asked for."""
        return [_drawing(block) for block in self._blocks if block["type"] == _DRAWING]

    def words(self) -> list[Any]:
        """As PyMuPDF has them: box, text, numbers of block, line and word. Of lines that are printed twice, too."""
        words: list[Any] = self._textpage.extractWORDS()
        return words


class _Seen:
    """Tells lines that are printed once more at nearly the same place, as programs do for bold type and shadows."""

    def __init__(self) -> None:
        self._last: dict[str, Box] = {}

    def is_new(self, text: str, box: Box) -> bool:
        before = self._last.get(text)
        if before is not None:
            near = _SAME_PLACE * min(box[2] - box[0], box[3] - box[1])
            if abs(before[0] - box[0]) <= near and abs(before[1] - box[1]) <= near:
                return False
        self._last[text] = box
        return True


def _line(raw: dict[str, Any], number: LineNumber) -> Line | None:
    """Size and style are those of most of its characters; its box is around what shows, since blank spans may reach
    across a gutter. None where nothing shows."""
    spans = raw["spans"]
    text = spans[0]["text"] if len(spans) == 1 else "".join(map(_text, spans))
    if not text or text.isspace():
        return None
    style, box = (_style(*_type(spans[0])), raw["bbox"]) if len(spans) == 1 else _of_shown(raw)
    return Line(text, box, box, style.size, style.bold, style.mono, style.formula, number=number)


def _of_shown(raw: dict[str, Any]) -> tuple["_Style", Box]:
    """Style and box of those of a line's spans that are not blank."""
    spans = raw["spans"]
    lengths: dict[_Type, int] = {}
    boxes: list[Box] = []
    # MuPDF parts a line at each space that it puts in itself, so many spans may be of one type.
    for span in spans:
        length = len(span["text"].strip())
        if length:
            type_ = _type(span)
            lengths[type_] = lengths.get(type_, 0) + length
            boxes.append(span["bbox"])
    style = _mixed_style(lengths) if len(lengths) > 1 else _style(*type_)
    return style, raw["bbox"] if len(boxes) == len(spans) else union(boxes)


class _Style(NamedTuple):
    size: float
    """In points, to the half."""
    bold: bool
    mono: bool
    """Of one width."""
    formula: bool


def _mixed_style(lengths: dict[_Type, int]) -> _Style:
    """Of so many characters of each type."""
    sizes: dict[float, int] = {}
    length = bold = mono = formula = 0
    for type_, shown in lengths.items():
        style = _style(*type_)
        length += shown
        sizes[style.size] = sizes.get(style.size, 0) + (0 if type_[1] & _SUPERSCRIPT else shown)
        bold += shown * style.bold
        mono += shown * style.mono
        formula += shown * style.formula
    return _Style(
        size=max(sizes, key=sizes.__getitem__),
        bold=bold * 10 >= length * 9,
        mono=mono * 10 >= length * 9,
        formula=formula * 10 >= length * 4,
    )


@lru_cache(maxsize=4096)
def _style(font: str, flags: int, size: float) -> _Style:
    return _Style(
        size=round(size * 2) / 2,
        bold=bool(flags & _BOLD) or "bold" in font.lower(),
        mono=bool(flags & _MONO),
        formula=MATHEMATICAL.match(font.rpartition("+")[2]) is not None,
    )
