"""Lines of a page as they stand on it, turned so that they read from left to right. Every way to read a page ends here:
the text layer of either PDF engine, and OCR."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.parsing.document import BoundingBox, Table

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in points."""
Matrix = tuple[float, float, float, float, float, float]
"""a, b, c, d, e, f of x' = ax + cy + e, y' = bx + dy + f."""
UNMOVED: Matrix = (1, 0, 0, 1, 0, 0)
LineNumber = tuple[int, int]
"""Of a block of text on the page, and of a line in it: its words have the same."""
UPRIGHT = (1, 0)
"""The direction of text from left to right."""
MATHEMATICAL = re.compile(r"CM(?:MI|SY|EX|BSY|MIB)|MS[AB]M|EU[FRS]M|RSFS|.*Math", re.IGNORECASE)
"""Names of fonts for formulas: TeX's, and those that say so."""


class Role(StrEnum):
    """What a model of page layout says that a line is part of."""

    TEXT = "text"
    HEADING = "heading"
    LIST_ITEM = "list_item"
    CAPTION = "caption"
    FOOTNOTE = "footnote"
    FORMULA = "formula"


@dataclass(frozen=True, slots=True)
class TableLook:
    """What a table shows besides its cells. By it the parts of one are told that stand on other pages."""

    columns: tuple[tuple[float, float] | None, ...]
    """Of each the left and right end of its text, on the turned page; None where no cell of it alone holds any."""
    bold_head: bool
    """Whether its first row is set in bold and what stands below it is not."""


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
    formula: bool = False
    """Set in type for mathematics, most of it."""
    table: Table | None = None
    look: TableLook | None = None
    """Of the table."""
    confidence: float | None = None
    """Of OCR, 0 to 1; None where the file itself holds the text."""
    role: Role | None = None
    region: int = 0
    """Number of the region of the page that a model of layout put it into; lines of two regions are two paragraphs."""
    number: LineNumber | None = None
    """In the text layer; None for what is made of other lines, and where an engine does not number them."""
    column: int = 0
    """Number of the text column on the page, set with the reading order: lines of one column may be one paragraph."""


@dataclass(slots=True)
class PageLines:
    lines: list[Line] = field(default_factory=list)
    strays: list[Line] = field(default_factory=list)
    """Text in another direction than most of the page: stamps, labels of axes."""
    turn: tuple[int, int] = UPRIGHT
    height: float = 0.0
    """Of the turned page."""
    shown: Matrix = UNMOVED
    """From the page as stored to the page as shown."""


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


def as_stored(box: Box, turn: tuple[int, int], width: float, height: float) -> Box:
    """The reverse of `turned`; width and height are again those of the page as it is stored."""
    back = (turn[0], -turn[1])
    return turned(box, back, *((width, height) if turn[1] == 0 else (height, width)))


def direction(x: float, y: float) -> tuple[int, int]:
    """The nearest of the four; a scan's slight skew is no direction of its own."""
    if abs(x) >= abs(y):
        return (1, 0) if x >= 0 else (-1, 0)
    return (0, 1) if y > 0 else (0, -1)


def upright(found: list[tuple[tuple[int, int], Line]], width: float, height: float) -> PageLines:
    """Lines with their directions to a page that is turned the way most of its text runs."""
    turn = _main_direction(found)
    result = PageLines(turn=turn, height=height if turn[1] == 0 else width)
    result.lines = [line for way, line in found if way == turn]
    if len(result.lines) < len(found):
        result.strays = [line for way, line in found if way != turn]
    if turn != UPRIGHT:
        for _, line in found:
            line.box = turned(line.place, turn, width, height)
    return result


def _main_direction(found: list[tuple[tuple[int, int], Line]]) -> tuple[int, int]:
    """In which most of the text runs."""
    ways = {way for way, _ in found}
    if len(ways) < 2:
        return next(iter(ways), UPRIGHT)
    weights: Counter[tuple[int, int]] = Counter()
    for way, line in found:
        weights[way] += len(line.text)
    return weights.most_common(1)[0][0]


def union(boxes: Sequence[Box]) -> Box:
    left, top, right, bottom = boxes[0]
    for x0, y0, x1, y1 in boxes[1:]:  # compared here: `min` and `max` take several times as long for a few boxes
        left = x0 if x0 < left else left
        top = y0 if y0 < top else top
        right = x1 if x1 > right else right
        bottom = y1 if y1 > bottom else bottom
    return left, top, right, bottom


def displayed(place: Box, matrix: Matrix) -> BoundingBox:
    """A box of the stored page on the page as it is shown."""
    if matrix == UNMOVED:
        left, top, right, bottom = place
        return BoundingBox(left=round(left, 2), top=round(top, 2), right=round(right, 2), bottom=round(bottom, 2))
    a, b, c, d, e, f = matrix
    xs = [a * x + c * y + e for x in (place[0], place[2]) for y in (place[1], place[3])]
    ys = [b * x + d * y + f for x in (place[0], place[2]) for y in (place[1], place[3])]
    return BoundingBox(left=round(min(xs), 2), top=round(min(ys), 2), right=round(max(xs), 2), bottom=round(max(ys), 2))
