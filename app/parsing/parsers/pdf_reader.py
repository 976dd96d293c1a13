"""A PDF page by page, each the way that it needs, and then as a whole. The engine behind it is told by a protocol."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from app.parsing.document import ParsedDocument
from app.parsing.ocr import Picture, recognise
from app.parsing.parsers.ocr_lines import recognised_page
from app.parsing.parsers.pdf_elements import elements
from app.parsing.parsers.pdf_kinds import outline_of
from app.parsing.parsers.pdf_lines import PageLines
from app.parsing.parsers.pdf_modes import (
    PageFacts,
    PageMode,
    counted,
    is_suspect,
    listed,
    low_confidence,
    text_facts,
    unsure_pages,
)
from app.parsing.parsers.pdf_order import shows_table
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_METADATA = {"author": "author", "creationDate": "created", "modDate": "modified", "subject": "subject"}

_MOST_LAID_OUT = 600
"""Lines of a page that are given to the model of page layout, which takes ten seconds for as many that lie about
anyhow, and a minute for twice as many. Dense pages of print have 300."""


class PdfPage(Protocol):
    """One page of an engine's, opened when it is made. Any call may raise one of the file's `page_errors`."""

    def text(self) -> PageLines:
        """The lines of the text layer, in no order."""

    def facts(self, text: PageFacts) -> PageFacts:
        """Those of the text layer, with pictures and strokes looked up."""

    def picture(self) -> tuple[Picture, float] | None:
        """The page as it is shown, and how many points make one pixel; None where drawing it would take too long."""

    def find_tables(self, found: PageLines) -> bool:
        """Replaces the lines of each ruled table by the table; False where the page is too much for that."""

    def lay_out(self, found: PageLines) -> bool:
        """Marks lines with the regions of a layout model and puts in its tables; False where there is no model."""


class PdfFile(Protocol):
    name: str
    """Of the engine, with its version."""
    page_errors: tuple[type[Exception], ...]
    page_count: int
    attachments: int
    information: dict[str, str]
    """`title`, `author`, `subject`, `creationDate`, `modDate`, as far as they are known."""

    @property
    def is_repaired(self) -> bool:
        """Whether the file was damaged; known for good when its pages have been read."""

    def page(self, number: int) -> PdfPage:
        """From 0."""

    def contents(self) -> list[tuple[int, str, int]] | None:
        """The outline: level from 1, title, page from 1; None where it is too large or too deep to be read."""


def read(file: PdfFile, source: Source) -> ParsedDocument:
    """Raises `ParseFailed`: `damaged`, `too_complex`, `no_text_layer`, `no_text`."""
    if file.page_count == 0:
        raise parse_failure("damaged")
    if file.page_count > source.limits.pages:
        raise parse_failure("too_complex", f"It has {file.page_count} pages.")
    reader = _Reader(file, source)
    for number in range(file.page_count):
        reader.read_page(number)
        source.progress(number + 1, file.page_count)
    if not any(page.lines or page.strays for page in reader.pages):
        if file.is_repaired:
            raise parse_failure("damaged")
        if reader.overpainted:
            raise parse_failure("too_complex", "Its pages are painted over too often to be read as pictures.")
        raise parse_failure("no_text_layer" if reader.pictured else "no_text")
    contents = file.contents()
    left_out = ["Its outline is too large or nests too deeply, and was not read."] if contents is None else []
    return ParsedDocument(
        media_type=source.media_type,
        parser=file.name,
        title=_title(file.information.get("title", "")),
        page_modes=list(reader.modes),
        warnings=[*_warnings(file, reader), *left_out],
        elements=list(elements(reader.pages, outline_of(contents or []))),
        page_count=file.page_count,
        metadata={name: value for key, name in _METADATA.items() if (value := file.information.get(key))}
        | {"page_modes": counted(reader.modes)},
    )


def _title(title: str) -> str:
    """What programs put there by themselves is no title."""
    lowered = title.lower()
    if lowered.startswith(("microsoft word", "untitled", "无标题")) or lowered.endswith(
        (".doc", ".docx", ".dvi", ".indd", ".tex")
    ):
        return ""
    return title


class _Reader:
    """Pages are only lines until all are known: margins and sizes can't be judged before."""

    def __init__(self, file: PdfFile, source: Source) -> None:
        self._file = file
        self._source = source
        self._wanted = source.settings.pdf
        self._seconds = {
            PageMode.FAST: source.limits.table_seconds,
            PageMode.LAYOUT: source.limits.layout_seconds,
            PageMode.OCR: source.limits.ocr_seconds,
        }
        """Processor time left for looking for tables, for layout and for OCR."""
        self.modes: list[PageMode] = []
        self.pages: list[PageLines] = []
        self.pictured: set[int] = set()
        """Numbers of pages that show something in which no text was found."""
        self.overpainted: set[int] = set()
        """Those that paint so much that text in their pictures was not looked for."""
        self.unreadable: set[int] = set()
        self.left_out: dict[PageMode, set[int]] = {mode: set() for mode in PageMode}
        """Pages on which tables, layout or text in pictures were not looked for, for want of time."""

    def read_page(self, number: int) -> None:
        try:
            mode, lines = self._read(self._file.page(number), number + 1)
        except self._file.page_errors:  # one broken page must not take the others with it
            self.unreadable.add(number + 1)
            mode, lines = PageMode.FAST, PageLines()
        self.modes.append(mode)
        self.pages.append(lines)

    def _read(self, page: PdfPage, number: int) -> tuple[PageMode, PageLines]:
        found = page.text()
        if self._wanted != "fast" or not (found.lines or found.strays):
            recognised = self._better_than(found, page, number)
            if recognised is not None:
                return PageMode.OCR, recognised
        with self._in_time(PageMode.FAST, number) as in_time:
            if in_time and not page.find_tables(found):
                self.left_out[PageMode.FAST].add(number)
        if self._wanted == "layout" or (self._wanted == "auto" and shows_table(found.lines)):
            if len(found.lines) > _MOST_LAID_OUT:
                self.left_out[PageMode.LAYOUT].add(number)
                return PageMode.FAST, found
            with self._in_time(PageMode.LAYOUT, number) as in_time:
                if in_time and page.lay_out(found):
                    return PageMode.LAYOUT, found
        return PageMode.FAST, found

    def _better_than(self, found: PageLines, page: PdfPage, number: int) -> PageLines | None:
        """What OCR reads where that is wanted or the text layer can't be trusted, if it is more; notes what is only
        shown."""
        facts = text_facts((*found.lines, *found.strays))
        if is_suspect(facts):
            facts = page.facts(facts)
        if self._wanted == "ocr" or (self._wanted == "auto" and facts.needs_ocr):
            recognised = self._recognised(page, number)
            if recognised is not None and _says_more(recognised, facts, anything=self._wanted == "ocr"):
                return recognised
        if not facts.characters and facts.pictured:
            self.pictured.add(number)
        return None

    def _recognised(self, page: PdfPage, number: int) -> PageLines | None:
        """None where time for it is up, or the page takes too much of it."""
        self._source.recognising()
        with self._in_time(PageMode.OCR, number) as in_time:
            if not in_time:
                return None
            drawn = page.picture()
            if drawn is None:
                self.overpainted.add(number)
                return None
            picture, scale = drawn
            height, width = picture.shape[0] * scale, picture.shape[1] * scale
            return recognised_page(recognise(picture), width, height, scale)

    @contextmanager
    def _in_time(self, mode: PageMode, number: int) -> Iterator[bool]:
        """Whether there is processor time left for a way to read; what the block takes is counted."""
        if self._seconds[mode] <= 0:
            self.left_out[mode].add(number)
            yield False
            return
        started = time.process_time()
        yield True
        self._seconds[mode] -= time.process_time() - started


def _says_more(recognised: PageLines, facts: PageFacts, *, anything: bool) -> bool:
    """Whether OCR found more than the text layer holds, or `anything` at all."""
    found = text_facts((*recognised.lines, *recognised.strays)).characters
    return found > (0 if anything or facts.is_broken else facts.characters)


def _warnings(file: PdfFile, reader: _Reader) -> Iterator[str]:
    if file.is_repaired:
        yield "The file was damaged and has been repaired; parts may be missing."
    if reader.pictured:
        yield f"Pages that show pictures and no text: {listed(reader.pictured)}."
    unsure = unsure_pages((number, page.lines) for number, page in enumerate(reader.pages, start=1))
    if unsure:
        yield low_confidence(unsure)
    if reader.unreadable:
        yield f"Pages that could not be read: {listed(reader.unreadable)}."
    if reader.left_out[PageMode.FAST]:
        count = len(reader.left_out[PageMode.FAST])
        yield f"Tables were not looked for on {count} pages, because of their number or drawings."
    if reader.left_out[PageMode.LAYOUT]:
        left_out = listed(reader.left_out[PageMode.LAYOUT])
        yield f"The layout of pages was not looked at, because of time or of very many lines: {left_out}."
    if reader.left_out[PageMode.OCR]:
        yield f"Time for recognising text was up before pages: {listed(reader.left_out[PageMode.OCR])}."
    if reader.overpainted:
        yield f"Pages that are painted over too often to be read as pictures: {listed(reader.overpainted)}."
    if file.attachments:
        yield f"Attached files were not read: {file.attachments}."
