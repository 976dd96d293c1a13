"""The text layer of a page as PDFium gives it: characters in the order of the file, with boxes, sizes and fonts."""

import ctypes
import math
from typing import Any

import pypdfium2

from app.parsing.parsers.pdf_lines import MATHEMATICAL, Box, Line, PageLines, direction, union, upright

_raw: Any = pypdfium2.raw
_LINE_ENDS = (0x0A, 0x0D)
_HYPHENS = (0x02, 0xFFFE)  # what PDFium puts in the place of a hyphen at the end of a line
_FIXED_PITCH, _FORCE_BOLD = 1 << 0, 1 << 18  # ISO 32000-1, table 123
_BOLD_FROM = 600
_COLUMN_GAP = 1.5  # sizes of type: wider gaps part two runs of text that PDFium takes for one
_NAME_BYTES = 128


def page_lines(layer: pypdfium2.PdfTextPage, bounds: Box) -> PageLines:
    """`bounds` are the page's left, bottom, right and top as PDF counts them: upwards."""
    left, bottom, right, top = bounds
    run = _Run(layer, left, top)
    for number in range(layer.count_chars()):
        run.take(number)
    run.end()
    return upright(run.found, right - left, top - bottom)


class _Run:
    """Characters up to the end of a line or a wide gap."""

    def __init__(self, layer: pypdfium2.PdfTextPage, left: float, top: float) -> None:
        self._layer, self._left, self._top = layer, left, top
        self._rectangle = _raw.FS_RECTF()
        self._matrix = _raw.FS_MATRIX()
        self._text: list[str] = []
        self._boxes: list[Box] = []
        self._seen: list[int] = []
        """Numbers of the characters that show something."""
        self.found: list[tuple[tuple[int, int], Line]] = []

    def take(self, number: int) -> None:
        code = _raw.FPDFText_GetUnicode(self._layer, number)
        if code in _LINE_ENDS:
            self.end()
            return
        if code in _HYPHENS:  # PDFium itself would join the word, and with it the lines
            self._text.append("-")
            self.end()
            return
        character = chr(code) if code else "\ufffd"
        if character.isspace() or _raw.FPDFText_IsGenerated(self._layer, number) == 1:
            self._text.append(character)
            return
        box = self._box(number)
        if self._boxes and self._is_apart(box):
            self.end()
        self._text.append(character)
        self._boxes.append(box)
        self._seen.append(number)

    def _box(self, number: int) -> Box:
        """Over the whole height of the font, from the top left."""
        if not _raw.FPDFText_GetLooseCharBox(self._layer, number, self._rectangle):
            return self._boxes[-1] if self._boxes else (0, 0, 0, 0)
        rectangle = self._rectangle
        return (
            rectangle.left - self._left,
            self._top - rectangle.top,
            rectangle.right - self._left,
            self._top - rectangle.bottom,
        )

    def _is_apart(self, box: Box) -> bool:
        before = self._boxes[-1]
        same_row = box[1] < before[3] and before[1] < box[3]
        return same_row and box[0] - before[2] > _COLUMN_GAP * (before[3] - before[1])

    def end(self) -> None:
        text, boxes, seen = "".join(self._text), self._boxes, self._seen
        self._text, self._boxes, self._seen = [], [], []
        if not boxes:
            return
        fonts = [self._font(seen[place]) for place in {0, len(seen) // 2, len(seen) - 1}]
        middle = seen[len(seen) // 2]
        angle = max(_raw.FPDFText_GetCharAngle(self._layer, middle), 0.0)  # clockwise; -1 where it is not known
        box = union(boxes)
        line = Line(
            text=text,
            box=box,
            place=box,
            size=self._size(middle),
            bold=all(bold for bold, _, _ in fonts),
            mono=all(mono for _, mono, _ in fonts),
            formula=sum(formula for _, _, formula in fonts) * 2 >= len(fonts),
        )
        self.found.append((direction(math.cos(angle), math.sin(angle)), line))

    def _size(self, number: int) -> float:
        """In points on the page: the font's own size times what the text's matrix makes of it."""
        size = _raw.FPDFText_GetFontSize(self._layer, number)
        if _raw.FPDFText_GetMatrix(self._layer, number, self._matrix):
            size *= math.hypot(self._matrix.c, self._matrix.d)
        return round(float(size) * 2) / 2

    def _font(self, number: int) -> tuple[bool, bool, bool]:
        """Whether it is bold, of one width, for mathematics."""
        flags, name = ctypes.c_int(), ctypes.create_string_buffer(_NAME_BYTES)
        _raw.FPDFText_GetFontInfo(self._layer, number, name, _NAME_BYTES, flags)
        known = name.value.decode("utf-8", "replace").rpartition("+")[2]
        heavy = _raw.FPDFText_GetFontWeight(self._layer, number) >= _BOLD_FROM
        bold = heavy or bool(flags.value & _FORCE_BOLD) or "bold" in known.lower()
        return bold, bool(flags.value & _FIXED_PITCH), MATHEMATICAL.match(known) is not None
