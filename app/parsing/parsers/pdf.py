"""PDF documents through PyMuPDF."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from app.parsing.document import ParsedDocument
from app.parsing.ocr import Picture
from app.parsing.parsers import pdf_layout, pdf_reader
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.parsers.pdf_figure_tables import figure_tables
from app.parsing.parsers.pdf_grids import FoundTable, Word, lies_in
from app.parsing.parsers.pdf_lined_tables import banded_tables, lined_tables
from app.parsing.parsers.pdf_lines import UNMOVED, UPRIGHT, Box, Line, PageLines, TableLook, as_stored, turned
from app.parsing.parsers.pdf_modes import DOTS_PER_INCH, MOST_PAINTED, MOST_PIXELS, PageFacts
from app.parsing.parsers.pdf_row_rules import banded, horizontal_rules
from app.parsing.parsers.pdf_tables import boxed_tables, ruled_tables
from app.parsing.parsers.pdf_text import Drawing, PageText
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_MAX_CONTENT = 2 * 1024 * 1024
_DEEPEST_OUTLINE = 100
"""Levels. MuPDF follows them by recursion, until the process has no stack left."""
_MOST_OUTLINED = 100_000
_CACHE_EVERY = 200  # pages after which MuPDF's cache is emptied, whose fonts have to be read again then


class PdfParser:
    def parse(self, source: Source) -> ParsedDocument:
        try:
            with _Document(source.path, filetype="pdf") as document:
                _unlock(document, source.password)
                return pdf_reader.read(_opened(document), source)
        except (pymupdf.FileDataError, pymupdf.EmptyFileError, pymupdf.mupdf.FzErrorBase) as error:
            raise parse_failure("damaged") from error


class _Document(pymupdf.Document):
    """Reads its outline when that is wanted, and not when it is opened, before anyone could look how deep it is."""

    reads_outline = False

    def _loadOutline(self) -> pymupdf.Outline | None:
        return super()._loadOutline() if self.reads_outline else None  # type: ignore[no-untyped-call]

    def has_sound_outline(self) -> bool:
        """Whether MuPDF may read the outline: it goes round no circle, but as deep as there are levels."""
        waiting, seen = [(self._entry(self.pdf_catalog(), "Outlines/First"), 1)], {0}
        while waiting:
            entry, level = waiting.pop()
            if entry in seen:
                continue
            seen.add(entry)
            if level > _DEEPEST_OUTLINE or len(seen) > _MOST_OUTLINED:
                return False
            waiting += [(self._entry(entry, "Next"), level), (self._entry(entry, "First"), level + 1)]
        return True

    def _entry(self, xref: int, key: str) -> int:
        """The number of the object that a dictionary names there, 0 for none."""
        kind, value = self.xref_get_key(xref, key)
        number = int(value.split()[0]) if kind == "xref" else 0
        return number if number < self.xref_length() else 0


def _unlock(document: pymupdf.Document, password: str | None) -> None:
    if not document.is_encrypted:  # `needs_pass` asks the file once more, which takes 20 ms with AES-256
        return
    if not password:
        raise parse_failure("encrypted")
    if not document.authenticate(password):
        raise parse_failure("encrypted", "The password given does not open it.")


def _opened(document: _Document) -> "_File":
    try:
        return _File(document)
    except RuntimeError as error:  # PyMuPDF's, for a page tree that names more pages than the file has objects
        raise parse_failure("damaged") from error


_ROTATION = {(0, -1): 270, (-1, 0): 180, (0, 1): 90}
"""Of a page, as `show_pdf_page` counts degrees, that makes text of a direction upright."""


_PICTURES = frozenset(("fill-image", "fill-imgmask", "fill-shade"))
_WEIGHTS = dict.fromkeys(_PICTURES, 1.0) | dict.fromkeys(("fill-path", "stroke-path"), 0.1)
"""Of what `MOST_PAINTED` counts. Type is left out: it is small, and drawn from a cache."""


class _File:
    name = f"pymupdf {pymupdf.VersionBind}"
    # PyMuPDF raises the latter two for bad page trees and contents.
    page_errors: tuple[type[Exception], ...] = (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError)

    def __init__(self, document: _Document) -> None:
        self._document = document
        self._is_small = Path(document.name).stat().st_size <= _MAX_CONTENT
        self.page_count: int = document.page_count
        self.attachments: int = document.embfile_count()
        self.information: dict[str, str] = {name: text for name, text in (document.metadata or {}).items() if text}

    @property
    def is_repaired(self) -> bool:
        return bool(self._document.is_repaired)

    def page(self, number: int) -> "_Page":
        if number % _CACHE_EVERY == _CACHE_EVERY - 1:
            pymupdf.TOOLS.store_shrink(100)
        page = self._document.load_page(number)
        return _Page(page, draws_little=self._is_small or _content_bytes(page) <= _MAX_CONTENT)

    def contents(self) -> list[tuple[int, str, int]] | None:
        if not self._document.has_sound_outline():
            return None
        self._document.reads_outline = True
        return [(level, title, page) for level, title, page, *_ in self._document.get_toc(simple=True)]


class _Page:
    def __init__(self, page: pymupdf.Page, *, draws_little: bool) -> None:
        self._page = page
        self._rotation = page.rotation
        self._shown = UNMOVED
        if self._rotation:
            matrix = page.rotation_matrix
            self._shown = (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)
            page.set_rotation(0)
        self._draws_little = draws_little
        self._read = PageText(page, drawings=draws_little)

    def text(self) -> PageLines:
        lines = self._read.lines()
        lines.shown = self._shown
        return lines

    def facts(self, text: PageFacts) -> PageFacts:
        covered = [share for kind, share in self._painted() if kind in _PICTURES]
        strokes = 0
        if not covered and self._draws_little:
            strokes = sum(len(path["items"]) for path in self._page.get_cdrawings())
        return replace(text, pictured=max(covered, default=0.0), strokes=strokes)

    def picture(self) -> tuple[Picture, float] | None:
        if sum(share * _WEIGHTS.get(kind, 0.0) for kind, share in self._painted()) > MOST_PAINTED:
            return None
        self._page.set_rotation(self._rotation)
        area = self._page.rect.width * self._page.rect.height
        scale = max(72 / DOTS_PER_INCH, (area / MOST_PIXELS) ** 0.5)
        pixels = self._page.get_pixmap(matrix=pymupdf.Matrix(1 / scale, 1 / scale), colorspace=pymupdf.csRGB)
        self._page.set_rotation(0)
        # Copied: the view does not keep the pixels alive.
        return np.array(pixels.samples_mv, np.uint8).reshape(pixels.height, pixels.width, 3), scale

    def _painted(self) -> Iterator[tuple[str, float]]:
        """What is painted on the page, and on how much of it; of pages of very many strokes the pictures alone."""
        page = self._page.rect
        whole = abs(page) or 1.0
        if self._draws_little:
            painted = self._page.get_bboxlog()
        else:
            painted = [("fill-image", image["bbox"]) for image in self._page.get_image_info()]
        for kind, (x0, y0, x1, y1) in painted:
            width, height = min(x1, page.x1) - max(x0, page.x0), min(y1, page.y1) - max(y0, page.y0)
            yield kind, max(0.0, width) * max(0.0, height) / whole

    def find_tables(self, found: PageLines) -> bool:
        if not self._draws_little:
            return False
        drawings = self._read.drawings()
        if found.turn != UPRIGHT:
            drawings = [(self._turned(box, found), stroked, plain) for box, stroked, plain in drawings]
        words = cache(partial(self._words, found))

        def upright_words() -> list[Word]:
            return _without(found.strays, words())

        tables = boxed_tables(drawings, words)
        if tables is None:
            with self._upright(found.turn) as page:
                tables = ruled_tables(page, words)
        drawings = _outside(tables, drawings)
        self._put_in(found, tables)
        rules = horizontal_rules(drawings)
        self._put_in(found, lined_tables(rules, upright_words))
        of_figures = list(figure_tables([rule for rule, _ in rules], drawings, found.lines, words))
        self._put_in(found, of_figures)
        bands = banded(_outside(of_figures, drawings))
        self._put_in(found, banded_tables(bands, upright_words))
        return True

    def _turned(self, box: Box, found: PageLines) -> Box:
        return turned(box, found.turn, self._read.width, self._read.height)

    def _words(self, found: PageLines) -> list[Word]:
        """Of the lines that are left."""
        left = {line.number for line in (*found.lines, *found.strays)}
        words = [word for word in self._read.words() if word[5:7] in left]
        if found.turn == UPRIGHT:
            return words
        return [(*self._turned((x0, y0, x1, y1), found), *rest) for x0, y0, x1, y1, *rest in words]

    def lay_out(self, found: PageLines) -> bool:
        if not found.lines or not self._draws_little:
            return False
        with self._upright(found.turn) as page:
            tables = pdf_layout.lay_out(page, found.lines, partial(self._words, found))
        self._put_in(found, tables)
        return True

    @contextmanager
    def _upright(self, turn: tuple[int, int]) -> Iterator[pymupdf.Page]:
        """The page, turned as `Line.box` has it: PyMuPDF's places stay those of the stored page in any rotation."""
        if turn == UPRIGHT:
            yield self._page
            return
        width, height = self._read.width, self._read.height
        with pymupdf.open() as copy:
            page = (
                copy.new_page(width=width, height=height) if turn[1] == 0 else copy.new_page(width=height, height=width)
            )
            page.show_pdf_page(page.rect, self._page.parent, self._page.number, rotate=_ROTATION[turn])
            yield page

    def _put_in(self, found: PageLines, tables: Iterable[FoundTable]) -> None:
        """Replaces lines by the tables that they are in; what stands in a table already stays there."""
        for table in tables:
            left = {line.number for line in (*found.lines, *found.strays)}
            holds_another = any(line.table is not None and lies_in(line.box, table.box) for line in found.lines)
            if holds_another or not table.lines <= left:
                continue
            place = as_stored(table.box, found.turn, self._read.width, self._read.height)
            look = TableLook(table.columns, _bold_head([line for line in found.lines if line.number in table.lines]))
            found.lines = [line for line in found.lines if line.number not in table.lines]
            found.lines.append(Line(text="", box=table.box, place=place, table=table.table(), look=look))
            found.strays = [line for line in found.strays if line.number not in table.lines]


def _bold_head(lines: list[Line]) -> bool:
    """Whether the uppermost of a table's lines, side by side, are bold, and of the others not half."""
    if not lines:
        return False
    upper = min(line.box[3] for line in lines)
    first = [line for line in lines if line.box[1] < upper]
    below = [line.bold for line in lines if line.box[1] >= upper]
    return all(line.bold for line in first) and 2 * sum(below) < len(below)


def _outside(tables: list[FoundTable], drawings: list[Drawing]) -> list[Drawing]:
    for table in tables:
        drawings = [drawing for drawing in drawings if not lies_in(drawing[0], table.box)]
    return drawings


def _without(lines: list[Line], words: list[Word]) -> list[Word]:
    numbers = {line.number for line in lines}
    return [word for word in words if word[5:7] not in numbers] if numbers else words


def _content_bytes(page: pymupdf.Page) -> int:
    """Of the page's own content streams, as stored: drawings of millions of strokes are maps, not tables."""
    document = page.parent
    lengths = (document.xref_get_key(xref, "Length") for xref in page.get_contents())
    return sum(int(value) for kind, value in lengths if kind == "int")
