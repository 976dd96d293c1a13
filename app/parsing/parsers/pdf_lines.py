"""Lines of a PDF page as they stand on it, turned so that they read from left to right."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from app.parsing.document import Table
from app.parsing.parsers.pdf_engine import pymupdf

_FLAGS = (
    pymupdf.TEXT_PRESERVE_WHITESPACE
    | pymupdf.TEXT_MEDIABOX_CLIP
    | pymupdf.TEXT_USE_CID_FOR_UNKNOWN_UNICODE  # text without a Unicode map stays visible as broken, not as missing
)
_BOLD, _MONO = pymupdf.TEXT_FONT_BOLD, pymupdf.TEXT_FONT_MONOSPACED
_SUPERSCRIPT = pymupdf.TEXT_FONT_SUPERSCRIPT

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in points."""


@dataclass(slots=True)
class Line:
    """A run of text on one baseline, or a whole table that takes its place."""

    text: str
    box: Box
    """In the page turned so that most of its text is upright: what layout is worked out in."""
    place: Box
    """In the page as it is stored, before its rotation."""
    size: float = 0.0
    """Of most of its characters, in points."""
    bold: bool = False
    mono: bool = False
    table: Table | None = None
    column: int = 0
    """Number of the text column on the page, set with the reading order: lines of one column may be one paragraph."""


@dataclass(slots=True)
class PageLines:
    lines: list[Line] = field(default_factory=list)
    strays: list[Line] = field(default_factory=list)
    """Text in another direction than most of the page: stamps, labels of axes."""
    turn: tuple[int, int] = (1, 0)
    height: float = 0.0
    """Of the turned page."""


def page_lines(page: pymupdf.Page) -> PageLines:
    """The page must not be rotated: `set_rotation(0)` first."""
    found: list[tuple[tuple[int, int], Line]] = []
    for block in page.get_text("dict", flags=_FLAGS)["blocks"]:
        for raw in block.get("lines", ()):
            line = _line(raw)
            if line is not None:
                found.append((_direction(raw["dir"]), line))
    weights: Counter[tuple[int, int]] = Counter()
    for direction, line in found:
        weights[direction] += len(line.text)
    turn = weights.most_common(1)[0][0] if weights else (1, 0)
    width, height = page.rect.width, page.rect.height
    result = PageLines(turn=turn, height=height if turn[1] == 0 else width)
    for direction, line in found:
        line.box = turned(line.place, turn, width, height)
        (result.lines if direction == turn else result.strays).append(line)
    return result


def turned(box: Box, turn: tuple[int, int], width: float, height: float) -> Box:
    """A box of a page of that size, after the page is turned so that text running in direction `turn` is upright."""
    left, top, right, bottom = box
    if turn == (0, -1):
        return height - bottom, left, height - top, right
    if turn == (0, 1):
        return top, width - right, bottom, width - left
    if turn == (-1, 0):
        return width - right, height - bottom, width - left, height - top
    return box


def _direction(vector: tuple[float, float]) -> tuple[int, int]:
    """The nearest of the four; a scan's slight skew is no direction of its own."""
    x, y = vector
    if abs(x) >= abs(y):
        return (1, 0) if x >= 0 else (-1, 0)
    return (0, 1) if y > 0 else (0, -1)


def _line(raw: dict[str, Any]) -> Line | None:
    spans = raw["spans"]
    text = "".join(span["text"] for span in spans)
    if not text.strip():
        return None
    sizes: Counter[float] = Counter()
    bold = mono = 0
    for span in spans:
        length = len(span["text"].strip())
        sizes[round(span["size"] * 2) / 2] += length if not span["flags"] & _SUPERSCRIPT else 0
        bold += length if span["flags"] & _BOLD or "bold" in span["font"].lower() else 0
        mono += length if span["flags"] & _MONO else 0
    length = sum(len(span["text"].strip()) for span in spans)
    box = _visible_box(spans)
    return Line(
        text=text,
        box=box,
        place=box,
        size=sizes.most_common(1)[0][0],
        bold=bold * 10 >= length * 9,
        mono=mono * 10 >= length * 9,
    )


def _visible_box(spans: list[dict[str, Any]]) -> Box:
    """Around the spans that show something: blank ones may reach across a gutter."""
    boxes = [span["bbox"] for span in spans if span["text"].strip()]
    return union(boxes)


def union(boxes: list[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
