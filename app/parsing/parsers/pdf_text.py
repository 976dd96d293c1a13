"""The text layer of a page as PyMuPDF gives it."""

from collections import Counter
from typing import Any

from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.parsers.pdf_lines import MATHEMATICAL, Box, Line, PageLines, direction, union, upright

_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
_BOLD, _MONO = pymupdf.TEXT_FONT_BOLD, pymupdf.TEXT_FONT_MONOSPACED
_SUPERSCRIPT = pymupdf.TEXT_FONT_SUPERSCRIPT


def page_lines(page: pymupdf.Page) -> PageLines:
    """The page must not be rotated: `set_rotation(0)` first."""
    found: list[tuple[tuple[int, int], Line]] = []
    for block in page.get_text("dict", flags=_FLAGS)["blocks"]:
        for raw in block.get("lines", ()):
            line = _line(raw)
            if line is not None:
                found.append((direction(*raw["dir"]), line))
    return upright(found, page.rect.width, page.rect.height)


def _line(raw: dict[str, Any]) -> Line | None:
    spans = raw["spans"]
    text = "".join(span["text"] for span in spans)
    if not text.strip():
        return None
    sizes: Counter[float] = Counter()
    bold = mono = formula = 0
    for span in spans:
        length = len(span["text"].strip())
        sizes[round(span["size"] * 2) / 2] += length if not span["flags"] & _SUPERSCRIPT else 0
        bold += length if span["flags"] & _BOLD or "bold" in span["font"].lower() else 0
        mono += length if span["flags"] & _MONO else 0
        formula += length if MATHEMATICAL.match(span["font"].rpartition("+")[2]) else 0
    length = sum(len(span["text"].strip()) for span in spans)
    box = _visible_box(spans)
    return Line(
        text=text,
        box=box,
        place=box,
        size=sizes.most_common(1)[0][0],
        bold=bold * 10 >= length * 9,
        mono=mono * 10 >= length * 9,
        formula=formula * 10 >= length * 4,
    )


def _visible_box(spans: list[dict[str, Any]]) -> Box:
    """Around the spans that show something: blank ones may reach across a gutter."""
    return union([span["bbox"] for span in spans if span["text"].strip()])
