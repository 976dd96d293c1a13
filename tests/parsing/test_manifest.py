"""The real documents: every expected string in order, every unreadable file with its reason."""

import pytest

from app.core.errors import ParseFailed
from app.parsing.sandbox import parse_file
from app.parsing.settings import ParsingSettings
from tests.files.manifest import ExpectedFile, manifest, match

FOLDERS = ("pdf", "docx", "xlsx", "pptx", "csv", "html", "md", "txt")
FILES = [file for file in manifest() if file.folder in FOLDERS]
REASONS = {
    "pdf/pdfplumber__empty.pdf": {"empty_file"},
    "docx/poi__truncated62886.docx": {"damaged"},
    "xlsx/poi__poc-xmlbomb.xlsx": {"too_complex"},
    "pdf/derived__truncated_10q.pdf": {"damaged"},
}
# A control character stands inside this string in the file; it is no text and is cleaned away.
NOT_EXPECTED = ("\x07",)

pytestmark = pytest.mark.skipif(not FILES, reason="the real documents (../shared/files) are not here")


@pytest.mark.parametrize("file", [file for file in FILES if file.is_text], ids=lambda file: file.name)
async def test_expected_strings_are_found_in_order(file: ExpectedFile) -> None:
    # The text layer holds them all; `python -m tests.files` tells the same of the slower ways.
    settings = ParsingSettings(pdf="fast")
    document = await parse_file(file.path, file_name=file.name, password=file.password or None, settings=settings)
    strings = tuple(string for string in file.strings if not any(mark in string for mark in NOT_EXPECTED))
    matches = match(document.text, strings)
    assert matches.missing == ()
    assert matches.out_of_order == ()


@pytest.mark.parametrize("file", [file for file in FILES if file.expect != "text"], ids=lambda file: file.name)
async def test_unreadable_files_say_why(file: ExpectedFile) -> None:
    if file.expect == "text_or_clean_error":
        pytest.skip("reads as text")
    expected = REASONS.get(file.name) or {"encrypted" if file.password else file.expect}
    with pytest.raises(ParseFailed) as failed:
        await parse_file(file.path, file_name=file.name, settings=ParsingSettings(pdf="fast"))
    assert failed.value.error_code in expected


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pdf/OCRmyPDF__skew.pdf", ("32 Track MIDI Sequence Recorder", "Recording a Sequence", "Creating a Song")),
        ("pdf/unstructured__table-multi-row-column-cells.pdf", ("Ballots Participants", "Low Vision", "1716 sec")),
    ],
)
async def test_scans_are_recognised(name: str, words: tuple[str, ...]) -> None:
    (file,) = [file for file in FILES if file.name == name]
    document = await parse_file(file.path, file_name=file.name)
    assert document.page_modes == ["ocr"]
    matches = match(document.text, words)
    assert (matches.missing, matches.out_of_order) == ((), ())
