"""Which way pages of a PDF are read, and what is said about it."""

import pytest

from app.core.errors import ParseFailed
from app.parsing.document import ElementKind
from app.parsing.limits import ParseLimits
from app.parsing.parsers.pdf_elements import elements
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.parsers.pdf_lines import Line, PageLines
from app.parsing.parsers.pdf_modes import low_confidence, unsure_pages
from app.parsing.settings import ParsingSettings, PdfMode
from tests.parsing.conftest import Parse, of_kind
from tests.parsing.drawing import Draw, pdf, scanned, texts

WORDS = texts(
    *((60, 100 + 20 * row, f"row {row} tells of the harbour and its lighthouse") for row in range(6)), size=13
)
FIGURES = texts(
    *((x, 100 + 18 * row, f"{name}{row}") for row in range(6) for x, name in ((60, "item "), (300, "4"), (400, "7")))
)


def mode(name: PdfMode) -> ParsingSettings:
    return ParsingSettings(pdf=name)


def with_broken_layer(draw: Draw) -> bytes:
    """Its glyphs look right, but their map says that they are of private use: as in many a file in Chinese."""
    document = pymupdf.open("pdf", pdf(draw))
    font = next(font[0] for font in document.get_page_fonts(0))
    document.update_object(font, document.xref_object(font))
    broken = document.get_new_xref()
    document.update_object(broken, "<<>>")
    document.update_stream(
        broken,
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def "
        b"1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <00> <ff> <e000> endbfrange "
        b"endcmap end end",
    )
    document.xref_set_key(font, "ToUnicode", f"{broken} 0 R")
    content: bytes = document.tobytes()
    return content


def test_each_page_is_read_as_it_needs(parse: Parse) -> None:
    document = parse(pdf(WORDS, scanned(WORDS), FIGURES), "a.pdf")
    assert document.page_modes == ["fast", "ocr", "layout"]
    assert document.metadata["page_modes"] == "fast 1, layout 1, ocr 1"
    for page in (1, 2):
        found = [element for element in document.elements if element.page == page and element.text]
        assert "row 5 tells of the harbour" in found[-1].text
        assert (found[-1].confidence is None) == (page == 1)
    recognised = next(element for element in document.elements if element.page == 2 and element.text)
    assert recognised.confidence is not None
    assert 0.8 < recognised.confidence <= 1
    assert recognised.bbox is not None
    assert (recognised.bbox.left, recognised.bbox.bottom) == pytest.approx((60, 200), abs=8)
    (table,) = of_kind(document, ElementKind.TABLE)
    assert table.table is not None
    assert [row[1] for row in table.table.rows] == [f"4{row}" for row in range(6)]


@pytest.mark.parametrize(
    ("name", "modes"), [("fast", ["fast", "fast"]), ("layout", ["layout", "layout"]), ("ocr", ["ocr", "ocr"])]
)
def test_a_way_can_be_chosen(parse: Parse, name: PdfMode, modes: list[str]) -> None:
    document = parse(pdf(WORDS, FIGURES), "a.pdf", settings=mode(name))
    assert document.page_modes == modes
    assert "row 5 tells of the harbour" in document.text
    assert "item 4" in document.text


def test_a_broken_text_layer_is_not_believed(parse: Parse) -> None:
    document = parse(with_broken_layer(WORDS), "a.pdf")
    assert document.page_modes == ["ocr"]
    assert "row 5 tells of the harbour" in document.text
    with pytest.raises(ParseFailed) as failed:  # private-use characters are no text
        parse(with_broken_layer(WORDS), "a.pdf", settings=mode("fast"))
    assert failed.value.error_code == "no_text"


def test_a_scan_that_somebody_has_recognised_already_keeps_its_text(parse: Parse) -> None:
    def searchable(page: pymupdf.Page, number: int) -> None:
        scanned(WORDS)(page, number)
        for row in range(6):
            page.insert_text((60, 100 + 20 * row), f"hidden {row} says just what the picture shows", render_mode=3)

    document = parse(pdf(searchable), "a.pdf")
    assert document.page_modes == ["fast"]
    assert "hidden 5" in document.text


def test_a_stamp_does_not_make_a_scan_a_text(parse: Parse) -> None:
    def stamped(page: pymupdf.Page, number: int) -> None:
        scanned(WORDS)(page, number)
        page.insert_text((450, 820), "Bates 000123")

    document = parse(pdf(stamped), "a.pdf")
    assert document.page_modes == ["ocr"]
    assert "row 5 tells" in document.text
    assert "000123" in document.text


def test_without_ocr_a_scan_has_no_text_layer(parse: Parse) -> None:
    for settings, limits in ((mode("fast"), ParseLimits()), (mode("auto"), ParseLimits(ocr_seconds=0))):
        with pytest.raises(ParseFailed) as failed:
            parse(pdf(scanned(WORDS)), "a.pdf", settings=settings, limits=limits)
        assert failed.value.error_code == "no_text_layer"


def test_pages_for_which_there_was_no_time_are_named(parse: Parse) -> None:
    document = parse(pdf(WORDS, scanned(WORDS)), "a.pdf", limits=ParseLimits(ocr_seconds=0))
    assert document.page_modes == ["fast", "fast"]
    assert any("Time for recognising text was up before pages: 2" in warning for warning in document.warnings)


def test_of_pages_with_very_many_lines_the_layout_is_not_looked_at(parse: Parse) -> None:
    labels = texts(*((20 + 35 * (at % 16), 30 + 15 * (at // 16), str(at)) for at in range(800)), size=5)
    document = parse(pdf(labels), "map.pdf", settings=mode("layout"))
    assert document.page_modes == ["fast"]
    assert document.warnings == ["The layout of pages was not looked at, because of time or of very many lines: 1."]


def test_low_confidence_is_told_and_its_text_kept() -> None:
    def line(text: str, confidence: float | None) -> Line:
        box = (60.0, 300.0, 160.0, 312.0)
        return Line(text, box, box, 10, confidence=confidence)

    pages = [PageLines([line("sure", 0.97)]), PageLines([line("doubtfvl", 0.41)]), PageLines([line("written", None)])]
    assert unsure_pages((number, page.lines) for number, page in enumerate(pages, start=1)) == [2]
    assert "(below 0.6) on pages: 2" in low_confidence([2])
    found = [(element.text, element.confidence) for element in elements(pages, {}) if element.text]
    assert found == [("sure", 0.97), ("doubtfvl", 0.41), ("written", None)]
