"""The text layer of a page and what is drawn beside it, as PyMuPDF gives them in one pass."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.parsers.pdf_lines import MATHEMATICAL, Box, Line, PageLines, direction, union, upright

TEXT_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
# Drawings come after the run of text that they stand in, so that an underline does not cut a line in two.
_WITH_DRAWINGS = pymupdf.TEXT_COLLECT_VECTORS | pymupdf.TEXT_LAZY_VECTORS
_DRAWING = 3  # the type of such a block
_BOLD, _MONO = pymupdf.TEXT_FONT_BOLD, pymupdf.TEXT_FONT_MONOSPACED
_SUPERSCRIPT = pymupdf.TEXT_FONT_SUPERSCRIPT


@dataclass(frozen=True, slots=True)
class Drawing:
    """One straight piece of a drawing, or the whole where it is not made of rectangles and straight lines."""

    box: Box
    """On the page as stored, with the width of the stroke."""
    stroked: bool
    plain: bool
    """Whether it is a rectangle or a line along an axis; of others only the box is known."""


class PageText:
    """MuPDF interprets a page's contents anew for every question, which costs more than all that we do with the answer:
    so lines, words and drawings are taken from one pass. The page must not be rotated: `set_rotation(0)` first.
    """

    def __init__(self, page: pymupdf.Page, *, drawings: bool) -> None:
        self._page = page
        self._textpage = page.get_textpage(flags=TEXT_FLAGS | (_WITH_DRAWINGS if drawings else 0))
        blocks = page.get_text("dict", textpage=self._textpage)["blocks"]
        self._blocks: list[dict[str, Any]] = blocks

    def lines(self) -> PageLines:
        found: list[tuple[tuple[int, int], Line]] = []
        for block in self._blocks:
            for raw in block.get("lines", ()):
                line = _line(raw["spans"])
                if line is not None:
                    found.append((direction(*raw["dir"]), line))
        return upright(found, self._page.rect.width, self._page.rect.height)

    def drawings(self) -> list[Drawing]:
        """Empty where they were not asked for."""
        return [
            Drawing(block["bbox"], block["stroked"], block["isrect"])
            for block in self._blocks
            if block["type"] == _DRAWING
        ]

    def words(self) -> list[Any]:
        """As PyMuPDF has them: box, text, numbers of block, line and word."""
        return list(self._page.get_text("words", textpage=self._textpage))


def _line(spans: list[dict[str, Any]]) -> Line | None:
    text = spans[0]["text"] if len(spans) == 1 else "".join([span["text"] for span in spans])
    if not text.strip():
        return None
    if len(spans) == 1:  # most lines
        (span,) = spans
        box = span["bbox"]
        bold, mono, formula = _style(span["font"], span["flags"])
        size = round(span["size"] * 2) / 2
        return Line(text=text, box=box, place=box, size=size, bold=bold, mono=mono, formula=formula)
    return _mixed_line(text, spans)


def _mixed_line(text: str, spans: list[dict[str, Any]]) -> Line:
    """Size and style are those of most of its characters; its box is around what shows, since blank spans may reach
    across a gutter."""
    sizes: dict[float, int] = {}
    boxes: list[Box] = []
    length = bold = mono = formula = 0
    for span in spans:
        shown = len(span["text"].strip())
        if not shown:
            continue
        boxes.append(span["bbox"])
        length += shown
        size = round(span["size"] * 2) / 2
        sizes[size] = sizes.get(size, 0) + (0 if span["flags"] & _SUPERSCRIPT else shown)
        is_bold, is_mono, is_formula = _style(span["font"], span["flags"])
        bold += shown * is_bold
        mono += shown * is_mono
        formula += shown * is_formula
    box = union(boxes)
    return Line(
        text=text,
        box=box,
        place=box,
        size=max(sizes, key=sizes.__getitem__),
        bold=bold * 10 >= length * 9,
        mono=mono * 10 >= length * 9,
        formula=formula * 10 >= length * 4,
    )


@lru_cache(maxsize=4096)
def _style(font: str, flags: int) -> tuple[bool, bool, bool]:
    """Whether it is bold, of one width, for mathematics."""
    return (
        bool(flags & _BOLD) or "bold" in font.lower(),
        bool(flags & _MONO),
        MATHEMATICAL.match(font.rpartition("+")[2]) is not None,
    )
