"""Files made to exhaust who reads them: each ends with its own reason or is read, in bounded memory, without a trace.

What would run for ever is ended by the limit on processor time without progress, which is set low here.
"""

import io
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from msoffcrypto.format.ooxml import OOXMLFile

from app.core.errors import ParseFailed
from app.parsing.document import ParsedDocument
from app.parsing.limits import MEBIBYTE, ParseLimits
from app.parsing.macros import WARNING
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.sandbox import ParseUsage, parse_file
from tests.parsing import bombs, open_document_files, slide_files, workbook_files
from tests.parsing.bombs import LAUGHS, xlsx, xlsx_cell
from tests.parsing.office_files import docx, paragraph
from tests.parsing.test_books_and_mail import epub
from tests.parsing.test_sandbox import names_in, write

pytestmark = pytest.mark.usefixtures("sandbox", "scratch")
READ = ""
HASTY = ParseLimits(step_seconds=1, step_seconds_per_mebibyte=0)
"""For what never ends."""
PATIENT = ParseLimits(step_seconds=20)
PASSWORD = "传递 pass"


@dataclass(frozen=True, slots=True)
class Bomb:
    name: str
    content: Callable[[], bytes]
    expected: str
    """A reason code, or nothing where it is read; parted by bars where the speed of the machine decides."""
    mebibytes: int = 100
    """The most memory that may be resident in the parser, 60 of which it has before it begins."""
    limits: ParseLimits = PATIENT


def odt(body: str, prologue: str = "") -> bytes:
    return open_document_files.open_document("text", body, prologue=prologue)


def spanning_rows(rows: int) -> str:
    """A table of text documents whose cells reach over a thousand columns and all rows."""
    spans = 'table:number-columns-spanned="1000" table:number-rows-spanned="60000"'
    return open_document_files.table(*[open_document_files.row(open_document_files.cell("x", spans))] * rows)


def html(content: str) -> bytes:
    return f"<html><body>{content}</body></html>".encode()


def attributes(count: int) -> str:
    return " ".join(f'a{number}="1"' for number in range(count))


def spread(form: str, count: int) -> str:
    return "".join(map(form.format, range(count)))


def packed_by(packing: int) -> bytes:
    return bombs.packed_otherwise(docx(paragraph("text")), "word/media/zeros.bin", packing)


def merged_over_and_over() -> bytes:
    merges = '<mergeCell ref="A1:XFD1048576"/>' * 100_000
    rows = [xlsx_cell(row, "A") for row in range(1, 1001)]
    return xlsx(*rows, after=f"<mergeCells>{merges}</mergeCells>")


def rtf_row(cells: int) -> bytes:
    return b"\\trowd\\intbl" + b" x\\cell" * cells + b"\\row"


CHART = "<chart>" + "<point/>" * 100_000 + "</chart>"
CORNER = [xlsx_cell(1, "A"), xlsx_cell(1_048_576, "XFD")]
SINGLE_QUOTED = [xlsx_cell(1, "A", quote="'"), xlsx_cell(1_048_576, "XFD", quote="'")]
ENTITIES = f'<?xml version="1.0"?>{LAUGHS}'
BEHIND_BLANKS = '<?xml version="1.0"?>' + " " * 5000 + LAUGHS
"""Past where a look at the beginning of a part would find it."""
CORNERS = [(0, 0, "text"), (1_048_575, 16_383, "text")]

BOMBS = [
    Bomb("archives in a picture.docx", lambda: bombs.nested_archives(50), READ),
    Bomb("archives as parts.docx", lambda: bombs.word_of_archives(2000), READ),
    Bomb("a gigabyte of zeros.docx", lambda: bombs.word_with_zeros("word/media/zeros.bin", 1024), "too_complex"),
    Bomb("a part packed by bzip2.docx", lambda: packed_by(zipfile.ZIP_BZIP2), "damaged"),
    Bomb("a part packed by lzma.docx", lambda: packed_by(zipfile.ZIP_LZMA), "damaged"),
    Bomb("a directory of 100,000 parts.docx", lambda: bombs.crowded_directory(100_000), "too_complex"),
    Bomb("a chart 2,000 times.docx", lambda: bombs.word_that_names("chart", 2000, CHART), READ, 150, HASTY),
    Bomb("a file 2,000 times.docx", lambda: bombs.word_that_names("aFChunk", 2000, CHART), READ, 150, HASTY),
    Bomb("deep navigation.epub", lambda: epub({"a": "text"}, navigation="<nav>" * 50_000), "too_complex", limits=HASTY),
    Bomb("blanks.docx", lambda: docx(paragraph("text") + " " * (64 * MEBIBYTE)), "too_complex", 250),
    Bomb("empty paragraphs.docx", lambda: docx("<w:p/>" * 2_000_000), "timed_out", 1500, HASTY),
    Bomb("deep.docx", lambda: docx("<w:p>" * 10_000 + "</w:p>" * 10_000), "too_complex"),
    Bomb("entities.docx", bombs.word_with_entities, "too_complex"),
    Bomb("entities behind blanks.docx", lambda: bombs.word_with_entities(" " * 5000), "too_complex"),
    Bomb("entities.xlsx", lambda: xlsx(xlsx_cell(1, "A", "&a9;"), prologue=ENTITIES), "too_complex"),
    Bomb("entities behind blanks.xlsx", lambda: xlsx(xlsx_cell(1, "A", "&a9;"), prologue=BEHIND_BLANKS), "damaged"),
    Bomb("entities.odt", lambda: odt(open_document_files.paragraph("&a9;"), ENTITIES), "too_complex"),
    Bomb("entities behind blanks.odt", lambda: odt("<text:p>&a9;</text:p>", BEHIND_BLANKS), "too_complex"),
    Bomb("entities.html", f"{ENTITIES}<html><body>text &a9;</body></html>".encode, READ),
    Bomb("entities.svg", f"{ENTITIES}<svg><text>text &a9;</text></svg>".encode, READ),
    Bomb("30,000 attributes.odt", lambda: odt(f"<text:p {attributes(30_000)}>text</text:p>"), READ, limits=HASTY),
    Bomb("the last cell.xlsx", lambda: xlsx(CORNER[1]), READ),
    Bomb("first and last cell.xlsx", lambda: xlsx(*CORNER), "too_complex"),
    Bomb("first and last, otherwise quoted.xlsx", lambda: xlsx(*SINGLE_QUOTED), "too_complex"),
    Bomb("first and last, otherwise named.xlsx", lambda: xlsx(*CORNER, part="other/s.bin"), "too_complex"),
    Bomb("a dimension too large.xlsx", lambda: xlsx(CORNER[0], before='<dimension ref="A1:XFD1048576"/>'), READ),
    Bomb("a dimension too small.xlsx", lambda: xlsx(*CORNER, before='<dimension ref="A1:B2"/>'), "too_complex"),
    Bomb("first and last cell.xlsb", lambda: workbook_files.xlsb(CORNERS), "too_complex"),
    Bomb("all cells merged 100,000 times.xlsx", merged_over_and_over, READ, limits=HASTY),
    Bomb("20,001 sheets.xlsx", lambda: xlsx(CORNER[0], sheets=20_001), "too_complex"),
    Bomb("spans.odt", lambda: odt(spanning_rows(5_000)), "too_complex", 300),
    Bomb("spans.html", lambda: html("<table>" + "<tr><td colspan=1000 rowspan=60000>x" * 5_000), "too_complex", 300),
    # Its text grows until the time is up: by some 100 MiB a second, on a fast machine.
    Bomb("nested forms.pdf", lambda: bombs.nested_forms(levels=12, times=10), "timed_out", 900, HASTY),
    Bomb("a page 100,000 times.pdf", lambda: bombs.pdf_of_pages(100_000, shared=True), "damaged", 150),
    Bomb("100,000 pages.pdf", lambda: bombs.pdf_of_pages(100_000, shared=False), "too_complex", 150),
    Bomb("blanks.pdf", lambda: bombs.pdf_of_zeros(256), "timed_out|no_text", 150, HASTY),  # fast machines read it
    Bomb("an outline of 100,000 levels.pdf", lambda: bombs.pdf_with_outline(100_000), READ, 150),
    Bomb("painted over.pdf", lambda: bombs.pdf_painted_over(20_000), "too_complex", 150),
    Bomb("20,000 x 20,000.png", lambda: bombs.png(20_000), "too_complex"),
    Bomb("20,000 x 20,000.pdf", lambda: bombs.pdf_with_picture(20_000), "no_text_layer", 900),
    Bomb("a million columns.csv", lambda: (b"a," * 1_000_000 + b"b\n") * 2, "too_complex", 200),
    Bomb("uneven rows.csv", lambda: b"a," * 16_000 + b"b\n" + b"1\n" * 200_000, "too_complex", 200),
    Bomb("uneven rows.html", lambda: html("<table><tr>" + "<td>x" * 20_000 + "<tr><td>x" * 20_000), "too_complex", 200),
    Bomb("uneven rows.rtf", lambda: b"{\\rtf1" + rtf_row(20_000) + rtf_row(1) * 20_000 + b"}", "too_complex", 200),
    Bomb("deep blocks.html", lambda: html("<div>" * 100_000 + "text"), "too_complex", 300),
    Bomb("deep links.html", lambda: html("<a><div>" * 50_000 + "text"), "too_complex", 300),
    Bomb("deep blocks with marks.html", lambda: html("<div x='<'>" * 50_000 + "text"), "too_complex", limits=HASTY),
    Bomb("deep after a comment.html", lambda: html("<!-->" + "<div>" * 50_000 + "text"), "too_complex", limits=HASTY),
    Bomb("30,000 attributes.html", lambda: html(f"<p {attributes(30_000)}>text"), "too_complex", limits=HASTY),
    Bomb(
        "attributes by the body.html", lambda: html(spread("<body a{}>", 30_000) + "text"), "too_complex", limits=HASTY
    ),
    Bomb("names of tags.html", lambda: html(spread("<t{0}>x</t{0}>", 150_000)), "too_complex", 150, HASTY),
    Bomb("names of attributes.html", lambda: html(spread("<p a{}>x", 75_000)), "too_complex", 150, HASTY),
    Bomb("an encoding of Python alone.html", lambda: html('<meta charset="undefined">text') + b"\xff", READ),
    Bomb("open tags.html", lambda: html("text" + "<" * 5_000_000), READ, 300),
    Bomb("open tags with names.html", lambda: html("text" + "<a " * 100_000), READ, limits=HASTY),
    Bomb("open comments.html", lambda: html("text" + "<!--" * 2_000_000), READ, 300),
    Bomb("blanks in a style.html", lambda: html('text<p style="display' + " " * 5_000_000 + '">x'), READ, 300),
    Bomb("paragraphs.txt", lambda: b"text " * 100 + (b"\n\n" + b"text " * 100) * 80_000, READ, 240),
    Bomb("one line.txt", lambda: b"text " * (10 * MEBIBYTE), READ, 600),
    Bomb("deep.json", lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "too_complex", 200),
    Bomb("deep quotes.md", lambda: b">" * 100_000 + b" text", READ, 300),
    Bomb("deep groups.rtf", lambda: b"{\\rtf1 " + b"{" * 1_000_000 + b"text", "too_complex", 300),
]


@pytest.mark.parametrize("bomb", BOMBS, ids=[bomb.name for bomb in BOMBS])
async def test_bombs_are_held(bomb: Bomb, tmp_path: Path, scratch: Path) -> None:
    usage: list[ParseUsage] = []
    path = write(tmp_path, bomb.content())
    try:
        document = await parse_file(path, file_name=bomb.name, limits=bomb.limits, usage=usage)
        assert "text" in document.text
        ended = READ
    except ParseFailed as failed:
        ended = failed.error_code
    assert ended in bomb.expected.split("|")
    assert usage[0].peak_memory_kib < bomb.mebibytes * 1024
    assert names_in(scratch) == []
    assert (await parse_file(write(tmp_path, "next"), file_name="a.txt")).text == "next"


MACROS: dict[str, bytes] = {
    "a.docm": docx(paragraph("text"), extra={"word/vbaProject.bin": b"\xd0\xcf"}),
    "a.pptm": slide_files.pptx(slide_files.shape(slide_files.line("text")), extra={"ppt/vbaProject.bin": b"\xd0\xcf"}),
}


async def read(content: bytes, name: str, folder: Path, password: str | None = None) -> ParsedDocument:
    return await parse_file(write(folder, content), file_name=name, password=password)


@pytest.mark.parametrize("name", list(MACROS))
async def test_macros_are_ignored_and_told(name: str, tmp_path: Path) -> None:
    document = await read(MACROS[name], name, tmp_path)
    assert document.text == "text"
    assert WARNING in document.warnings


def encrypted(content: bytes) -> bytes:
    """An OOXML file under the password; padded, since msoffcrypto writes no good container of less than 4 KB."""
    plain, out = io.BytesIO(content), io.BytesIO()
    with zipfile.ZipFile(plain, "a") as file:
        file.writestr("padding", random.Random(1).randbytes(8192))
    OOXMLFile(plain).encrypt(PASSWORD, out)
    return out.getvalue()


def encrypted_pdf() -> bytes:
    with pymupdf.open("pdf", bombs.pdf_of_pages(1, shared=True)) as document:
        return bytes(document.tobytes(encryption=pymupdf.mupdf.PDF_ENCRYPT_AES_256, user_pw=PASSWORD, owner_pw="other"))


ENCRYPTED: dict[str, Callable[[], bytes]] = {
    "a.docx": lambda: encrypted(docx(paragraph("text"), extra={"[Content_Types].xml": bombs.CONTENT_TYPES})),
    "a.xlsx": lambda: encrypted(xlsx(xlsx_cell(1, "A"))),
    "a.pptx": lambda: encrypted(slide_files.pptx(slide_files.shape(slide_files.line("text")))),
    "a.pdf": encrypted_pdf,
}


@pytest.mark.parametrize("name", list(ENCRYPTED))
async def test_encrypted_files_want_their_password(name: str, tmp_path: Path, scratch: Path) -> None:
    content = ENCRYPTED[name]()
    for wrong in (None, "wrong"):
        with pytest.raises(ParseFailed) as failed:
            await read(content, name, tmp_path, wrong)
        assert failed.value.error_code == "encrypted"
    assert "text" in (await read(content, name, tmp_path, PASSWORD)).text
    assert names_in(scratch) == []


async def test_a_bomb_under_a_password_is_held_as_well(tmp_path: Path) -> None:
    with pytest.raises(ParseFailed) as failed:
        await read(encrypted(xlsx(*CORNER)), "a.xlsx", tmp_path, PASSWORD)
    assert failed.value.error_code == "too_complex"


async def test_progress_gives_more_time(tmp_path: Path) -> None:
    """Pages that are read one after another may take longer together than a step, and never longer than all may."""
    path = write(tmp_path, bombs.pdf_of_pages(400, shared=False))
    document = await parse_file(path, file_name="a.pdf", limits=HASTY)
    assert document.page_count == 400
