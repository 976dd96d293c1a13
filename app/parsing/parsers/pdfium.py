"""PDF documents through PDFium, which is under a permissive licence: chosen by `PDF_ENGINE=pdfium`.

It gives the text layer and pictures of pages, so columns, headings, lists and OCR are as with PyMuPDF. It lacks tables
(their text is read row by row), the model of page layout, and the repair of damaged files.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pypdfium2

from app.parsing.document import ParsedDocument
from app.parsing.ocr import Picture
from app.parsing.parsers import pdf_reader
from app.parsing.parsers.pdf_lines import UNMOVED, Box, Matrix, PageLines
from app.parsing.parsers.pdf_modes import DOTS_PER_INCH, MOST_PAINTED, MOST_PIXELS, PageFacts
from app.parsing.parsers.pdfium_text import page_lines
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_raw: Any = pypdfium2.raw
_METADATA = {
    "Title": "title",
    "Author": "author",
    "Subject": "subject",
    "CreationDate": "creationDate",
    "ModDate": "modDate",
}
_OBJECTS_LOOKED_AT = 10_000
_WEIGHTS = {_raw.FPDF_PAGEOBJ_IMAGE: 1.0, _raw.FPDF_PAGEOBJ_SHADING: 1.0, _raw.FPDF_PAGEOBJ_PATH: 0.1}
"""Of what `MOST_PAINTED` counts."""


class PdfiumParser:
    def parse(self, source: Source) -> ParsedDocument:
        document = _open(source)
        try:
            return pdf_reader.read(_File(document), source)
        except pypdfium2.PdfiumError as error:
            raise parse_failure("damaged") from error
        finally:
            document.close()


def _open(source: Source) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(source.path, password=source.password)
    except pypdfium2.PdfiumError as error:
        if error.err_code == _raw.FPDF_ERR_PASSWORD:
            note = "The password given does not open it." if source.password else ""
            raise parse_failure("encrypted", note) from error
        raise parse_failure("damaged") from error


class _File:
    name = f"pypdfium2 {pypdfium2.version.PYPDFIUM_INFO}"
    page_errors: tuple[type[Exception], ...] = (pypdfium2.PdfiumError,)
    is_repaired = False

    def __init__(self, document: pypdfium2.PdfDocument) -> None:
        self._document = document
        self.page_count = len(document)
        self.attachments: int = document.count_attachments()
        known = document.get_metadata_dict(skip_empty=True)
        self.information: dict[str, str] = {ours: known[name] for name, ours in _METADATA.items() if name in known}

    def page(self, number: int) -> "_Page":
        return _Page(self._document[number])

    def contents(self) -> list[tuple[int, str, int]]:
        found = []
        for entry in self._document.get_toc():
            target = entry.get_dest()
            page = target.get_index() if target else None
            if page is not None:
                found.append((entry.level + 1, entry.get_title(), page + 1))
        return found


class _Page:
    def __init__(self, page: pypdfium2.PdfPage) -> None:
        self._page = page
        left, bottom, right, top = page.get_bbox()
        self._bounds: Box = (left, bottom, right, top)
        self._shown = _shown(page.get_rotation(), right - left, top - bottom)

    def text(self) -> PageLines:
        layer = self._page.get_textpage()
        try:
            lines = page_lines(layer, self._bounds)
        finally:
            layer.close()
        lines.shown = self._shown
        return lines

    def facts(self, text: PageFacts) -> PageFacts:
        largest, strokes = 0.0, 0
        for item, share in self._items():
            if item.type == _raw.FPDF_PAGEOBJ_IMAGE:
                largest = max(largest, share)
            elif item.type == _raw.FPDF_PAGEOBJ_PATH:
                strokes += _raw.FPDFPath_CountSegments(item)
        return replace(text, pictured=largest, strokes=0 if largest else strokes)

    def picture(self) -> tuple[Picture, float] | None:
        if sum(share * _WEIGHTS.get(item.type, 0.0) for item, share in self._items()) > MOST_PAINTED:
            return None
        width, height = self._page.get_size()
        scale = max(72 / DOTS_PER_INCH, (width * height / MOST_PIXELS) ** 0.5)
        bitmap = self._page.render(scale=1 / scale, rev_byteorder=True)
        try:
            return np.array(bitmap.to_numpy()[:, :, :3], np.uint8), scale
        finally:
            bitmap.close()

    def _items(self) -> Iterator[tuple[Any, float]]:
        """The first of what is painted on the page, and on how much of it."""
        left, bottom, right, top = self._bounds
        whole = (right - left) * (top - bottom) or 1.0
        for item in islice(self._page.get_objects(max_depth=3), _OBJECTS_LOOKED_AT):
            x0, y0, x1, y1 = item.get_bounds()
            shown = max(0.0, min(x1, right) - max(x0, left)) * max(0.0, min(y1, top) - max(y0, bottom))
            yield item, shown / whole

    def find_tables(self, found: PageLines) -> bool:
        """There are none to be had; that is said once in the README, not on every page."""
        return True

    def lay_out(self, found: PageLines) -> bool:
        return False


def _shown(rotation: int, width: float, height: float) -> Matrix:
    """From the stored page of that size to the page as shown, turned clockwise by `rotation` degrees."""
    turns: dict[int, Matrix] = {
        90: (0, 1, -1, 0, height, 0),
        180: (-1, 0, 0, -1, width, height),
        270: (0, -1, 1, 0, 0, width),
    }
    return turns.get(rotation, UNMOVED)
