"""Every format that is a ZIP archive is held to the same limits before anything unpacks it."""

import pytest

from app.core.errors import ParseFailed
from app.parsing.limits import ParseLimits
from tests.parsing.conftest import Parse
from tests.parsing.office_files import docx
from tests.parsing.office_files import paragraph as word_paragraph
from tests.parsing.open_document_files import cell, open_document, paragraph, row, table
from tests.parsing.slide_files import line, pptx, shape
from tests.parsing.test_books_and_mail import epub
from tests.parsing.workbook_files import xlsb

ARCHIVES = {
    "docx": docx(word_paragraph("text")),
    "pptx": pptx(shape(line("text"))),
    "xlsb": xlsb([(0, 0, "text"), (0, 1, "text"), (1, 0, "text")]),
    "odt": open_document("text", paragraph("text")),
    "ods": open_document("spreadsheet", table(row(cell("text")))),
    "odp": open_document("presentation", f"<draw:page><draw:frame>{paragraph('text')}</draw:frame></draw:page>"),
    "epub": epub({"one": "<p>text</p>"}),
}
TIGHT = [ParseLimits(expanded_bytes=100), ParseLimits(archive_members=1)]


@pytest.mark.parametrize("kind", list(ARCHIVES))
def test_archives_are_read_within_their_limits(parse: Parse, kind: str) -> None:
    assert "text" in parse(ARCHIVES[kind], f"a.{kind}").text


@pytest.mark.parametrize("limits", TIGHT, ids=["size", "members"])
@pytest.mark.parametrize("kind", list(ARCHIVES))
def test_archives_beyond_their_limits_are_refused(parse: Parse, kind: str, limits: ParseLimits) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(ARCHIVES[kind], f"a.{kind}", limits=limits)
    assert failed.value.error_code == "too_complex"


@pytest.mark.parametrize("kind", list(ARCHIVES))
def test_archives_that_are_cut_off_are_damaged(parse: Parse, kind: str) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(ARCHIVES[kind][: len(ARCHIVES[kind]) // 2], f"a.{kind}")
    assert failed.value.error_code == "damaged"
