"""PDF documents by their text layer. Pages without one are named in a warning; a file without any is refused."""

import time
from collections.abc import Iterator

from app.parsing.document import BoundingBox, Element, ElementKind, ParsedDocument
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.parsers.pdf_kinds import KindOf, outline_of
from app.parsing.parsers.pdf_lines import Box, Line, PageLines, page_lines, turned
from app.parsing.parsers.pdf_margins import drop_running_lines
from app.parsing.parsers.pdf_order import in_reading_order
from app.parsing.parsers.pdf_paragraphs import Paragraph, paragraphs
from app.parsing.parsers.pdf_tables import lies_in, ruled_tables
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_METADATA = {"author": "author", "creationDate": "created", "modDate": "modified", "subject": "subject"}
_MAX_CONTENT = 2 * 1024 * 1024
_CACHE_EVERY = 50  # pages after which MuPDF's cache of fonts and images is emptied


class PdfParser:
    def parse(self, source: Source) -> ParsedDocument:
        try:
            with pymupdf.open(source.path, filetype="pdf") as document:
                return _read(document, source)
        except (pymupdf.FileDataError, pymupdf.EmptyFileError, pymupdf.mupdf.FzErrorBase) as error:
            raise parse_failure("damaged") from error


def _read(document: pymupdf.Document, source: Source) -> ParsedDocument:
    _unlock(document, source.password)
    count = document.page_count
    if count == 0:
        raise parse_failure("damaged")
    if count > source.limits.pages:
        raise parse_failure("too_complex", f"It has {count} pages.")
    reader = _Reader(source.limits.table_seconds)
    for number in range(count):
        reader.read_page(document, number)
        source.progress(number + 1, count)
        if number % _CACHE_EVERY == _CACHE_EVERY - 1:
            pymupdf.TOOLS.store_shrink(100)
    if not any(page.lines or page.strays for page in reader.pages):
        if document.is_repaired:
            raise parse_failure("damaged")
        raise parse_failure("no_text_layer" if reader.images else "no_text")
    information = document.metadata or {}
    return ParsedDocument(
        media_type=source.media_type,
        parser=f"pymupdf {pymupdf.VersionBind}",
        title=_title(information.get("title") or ""),
        elements=list(reader.elements(outline_of(_contents(document)))),
        page_count=count,
        metadata={name: information[key] for key, name in _METADATA.items() if information.get(key)},
        warnings=list(_warnings(document, reader)),
    )


def _unlock(document: pymupdf.Document, password: str | None) -> None:
    if not document.needs_pass:
        return
    if not password:
        raise parse_failure("encrypted")
    if not document.authenticate(password):
        raise parse_failure("encrypted", "The password given does not open it.")


def _title(title: str) -> str:
    """What programs put there by themselves is no title."""
    lowered = title.lower()
    if lowered.startswith(("microsoft word", "untitled", "无标题")) or lowered.endswith(
        (".doc", ".docx", ".dvi", ".indd", ".tex")
    ):
        return ""
    return title


def _contents(document: pymupdf.Document) -> list[tuple[int, str, int]]:
    return [(level, title, page) for level, title, page, *_ in document.get_toc(simple=True)]


def _warnings(document: pymupdf.Document, reader: "_Reader") -> Iterator[str]:
    if document.is_repaired:
        yield "The file was damaged and has been repaired; parts may be missing."
    blank = [number for number, page in enumerate(reader.pages, start=1) if number in reader.images and not page.lines]
    if blank:
        listed = ", ".join(map(str, blank[:20])) + (" and more" if len(blank) > 20 else "")
        yield f"Pages without a text layer (images only): {listed}."
    if reader.unreadable:
        listed = ", ".join(map(str, sorted(reader.unreadable)[:20]))
        yield f"Pages that could not be read: {listed}."
    if reader.without_tables:
        yield f"Tables were not looked for on {len(reader.without_tables)} pages, because of their number or drawings."
    if document.embfile_count():
        yield f"Attached files were not read: {document.embfile_count()}."


class _Reader:
    """Lines page by page, then elements: margins and sizes can only be judged when all pages are known."""

    def __init__(self, table_seconds: float) -> None:
        self._table_seconds = table_seconds
        self.without_tables: set[int] = set()
        """Pages on which no table was looked for, because time was up."""
        self.pages: list[PageLines] = []
        self.images: set[int] = set()
        """Numbers of pages that show an image."""
        self.unreadable: set[int] = set()
        self._matrices: list[pymupdf.Matrix] = []

    def read_page(self, document: pymupdf.Document, number: int) -> None:
        try:
            page = document.load_page(number)
            matrix = page.rotation_matrix
            page.set_rotation(0)
            lines = page_lines(page)
            self._read_tables(page, lines, number + 1)
            if page.get_images():
                self.images.add(number + 1)
        except (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError):
            # One broken page must not take the others with it; PyMuPDF raises these for bad page trees and contents.
            self.unreadable.add(number + 1)
            lines, matrix = PageLines(), pymupdf.Matrix(1, 1)
        self.pages.append(lines)
        self._matrices.append(matrix)

    def _read_tables(self, page: pymupdf.Page, found: PageLines, number: int) -> None:
        """Replaces the lines inside a ruled table by the table."""
        if self._table_seconds <= 0 or _content_bytes(page) > _MAX_CONTENT:
            self.without_tables.add(number)
            return
        started = time.process_time()
        for table in ruled_tables(page, found.turn):
            outside = [line for line in found.lines if not lies_in(line.place, table.place)]
            if len(outside) == len(found.lines):
                continue
            box = turned(table.place, found.turn, page.rect.width, page.rect.height)
            found.lines = [*outside, Line(text="", box=box, place=table.place, table=table.table())]
        self._table_seconds -= time.process_time() - started

    def elements(self, outline: dict[int, list[tuple[int, str]]]) -> Iterator[Element]:
        drop_running_lines(self.pages)
        by_page = [_page_paragraphs(page, number) for number, page in enumerate(self.pages, start=1)]
        kind_of = KindOf([paragraph for page in by_page for paragraph in page], outline)
        for number, (page, matrix) in enumerate(zip(by_page, self._matrices, strict=True), start=1):
            if number > 1:
                yield Element(kind=ElementKind.PAGE_BREAK, page=number)
            for paragraph in page:
                box = _displayed(paragraph.place, matrix)
                yield kind_of.element(paragraph).model_copy(update={"bbox": box})


def _content_bytes(page: pymupdf.Page) -> int:
    """Of the page's own content streams, as stored: drawings of millions of strokes are maps, not tables."""
    document = page.parent
    lengths = (document.xref_get_key(xref, "Length") for xref in page.get_contents())
    return sum(int(value) for kind, value in lengths if kind == "int")


def _page_paragraphs(page: PageLines, number: int) -> list[Paragraph]:
    upright = paragraphs(in_reading_order(page.lines), number)
    return [*upright, *(Paragraph(number, [line]) for line in page.strays)]


def _displayed(place: Box, matrix: pymupdf.Matrix) -> BoundingBox:
    """A box of the stored page on the page as it is shown."""
    shown = (pymupdf.Rect(place) * matrix).normalize()
    return BoundingBox(
        left=round(shown.x0, 2), top=round(shown.y0, 2), right=round(shown.x1, 2), bottom=round(shown.y1, 2)
    )
