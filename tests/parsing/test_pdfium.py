"""The other engine for PDF: the same reading without PyMuPDF, less tables and layout."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.core.errors import ParseFailed
from app.parsing.assemble import finish
from app.parsing.document import ElementKind, ParsedDocument
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.parsers.pdfium import PdfiumParser
from app.parsing.sandbox import parse_file, start_sandbox
from app.parsing.settings import ParsingSettings
from app.parsing.source import Source
from tests.files.manifest import ExpectedFile, manifest, match
from tests.parsing import bombs
from tests.parsing.conftest import of_kind
from tests.parsing.drawing import CHINESE, pdf, scanned, texts

PROSE = "some words that fill a line of a column well"


def parse(
    path: Path, content: bytes, *, password: str | None = None, settings: ParsingSettings | None = None
) -> ParsedDocument:
    path.write_bytes(content)
    source = Source(path, "a.pdf", "application/pdf", password=password, settings=settings or ParsingSettings())
    return finish(PdfiumParser().parse(source))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "content"


def test_columns_headings_and_hyphens(path: Path) -> None:
    def draw(page: pymupdf.Page, number: int) -> None:
        page.insert_text((60, 60), "The Title", fontsize=20)
        left = [(60.0, 100.0 + 12 * row, f"left {row} {PROSE}") for row in range(5)]
        right = [(320.0, 100.0 + 12 * row, f"right {row} {PROSE}") for row in range(5)]
        texts(*left, *right, (60, 200, "• an item of a list with an exam-"), (66, 212, "ple in it"), font="tiro")(
            page, number
        )
        page.insert_text((60, 300), "中文段落也在这里。", fontname=CHINESE)

    document = parse(path, pdf(draw))
    order = ["The Title", "left 0", "left 4", "an example in it", "中文段落也在这里。", "right 0", "right 4"]
    places = [document.text.find(part) for part in order]
    assert -1 not in places
    assert places == sorted(places)
    assert [heading.text for heading in of_kind(document, ElementKind.HEADING)] == ["The Title"]
    assert document.page_modes == ["fast"]
    assert document.parser.startswith("pypdfium2")
    first = next(element for element in document.elements if element.text.startswith("left 0"))
    assert first.bbox is not None
    assert (first.bbox.left, first.bbox.bottom) == pytest.approx((60, 150), abs=6)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_places_are_those_of_the_page_as_shown(path: Path, rotation: int) -> None:
    def draw(page: pymupdf.Page, _: int) -> None:
        page.set_rotation(rotation)
        for row in range(3):
            point = pymupdf.Point(60, 100 + 14 * row) * page.derotation_matrix
            page.insert_text(point, f"row {row} {PROSE}", rotate=rotation)

    element = parse(path, pdf(draw)).elements[0]
    assert element.text == " ".join(f"row {row} {PROSE}" for row in range(3))
    assert element.bbox is not None
    assert (element.bbox.left, element.bbox.bottom) == pytest.approx((60, 128), abs=6)


def test_the_outline_names_headings(path: Path) -> None:
    document = pymupdf.open("pdf", pdf(texts((60, 100, "Plain Heading"), (60, 140, PROSE))))
    document.set_toc([[1, "Part", 1], [2, "Plain  heading", 1]])
    element = parse(path, document.tobytes()).elements[0]
    assert (element.kind, element.level) == (ElementKind.HEADING, 2)


def test_scans_are_recognised(path: Path) -> None:
    document = parse(path, pdf(texts((60, 100, PROSE)), scanned(texts((60, 100, "A scan of the lighthouse"), size=16))))
    assert document.page_modes == ["fast", "ocr"]
    assert document.elements[-1].text == "A scan of the lighthouse"


def test_bad_files_say_why(path: Path) -> None:
    secret = pdf(texts((60, 100, "Secret")), encryption=pymupdf.mupdf.PDF_ENCRYPT_AES_256, user_pw="u", owner_pw="o")
    for content, password, reason in (
        (secret, None, "encrypted"),
        (secret, "wrong", "encrypted"),
        (pdf(texts())[:100], None, "damaged"),
        (pdf(texts()), None, "no_text"),
        (bombs.pdf_painted_over(5000), None, "too_complex"),
    ):
        with pytest.raises(ParseFailed) as failed:
            parse(path, content, password=password)
        assert failed.value.error_code == reason
    assert parse(path, secret, password="u").text == "Secret"


WITHOUT = """
import sys
sys.modules["pymupdf"] = None
from app.parsing.parsers import pdfium, image
print(sorted(name for name in sys.modules if "mupdf" in name))
"""


def test_pymupdf_is_not_imported() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['pymupdf']", done.stderr


@pytest.fixture
def plain(path: Path) -> Path:
    path.write_bytes(pdf(texts((60, 100, PROSE))))
    return path


async def test_the_sandbox_reads_with_the_engine_that_was_chosen(plain: Path) -> None:
    await start_sandbox("pdfium")
    try:
        document = await parse_file(plain, file_name="a.pdf")
    finally:
        await start_sandbox()
    assert document.parser.startswith("pypdfium2")
    assert (await parse_file(plain, file_name="a.pdf")).parser.startswith("pymupdf")


FILES = [file for file in manifest() if file.folder == "pdf" and file.is_text]
NOT_EXPECTED = ("\x07",)  # see test_manifest


@pytest.mark.skipif(not FILES, reason="the real documents (../shared/files) are not here")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_real_documents(file: ExpectedFile, path: Path) -> None:
    document = parse(path, file.path.read_bytes(), password=file.password or None, settings=ParsingSettings(pdf="fast"))
    strings = tuple(string for string in file.strings if not any(mark in string for mark in NOT_EXPECTED))
    matches = match(document.text, strings)
    assert (matches.missing, matches.out_of_order) == ((), ())
