"""PDF pages drawn in the tests: order, structure, places."""

import pytest

from app.core.errors import ParseFailed
from app.parsing.document import ElementKind
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.parsers.pdf_lines import Line
from app.parsing.parsers.pdf_order import in_reading_order
from app.parsing.settings import ParsingSettings
from tests.parsing.conftest import Parse, of_kind
from tests.parsing.drawing import CHINESE, pdf, texts

PROSE = "some words that fill a line of a column well"
FAST = ParsingSettings(pdf="fast")


def test_columns_are_read_one_after_the_other(parse: Parse) -> None:
    """Drawn row by row, as some programs write them."""
    lines = [(60.0, 80.0, "A title that runs over both columns of the page, from edge to edge of the text, so")]
    for row in range(6):
        y = 120 + 12 * row
        lines += [(60, y, f"left {row} {PROSE}"), (310, y, f"right {row} {PROSE}")]
    text = parse(pdf(texts(*lines)), "a.pdf").text
    order = ["A title", "left 0", "left 5", "right 0", "right 5"]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


def test_columns_of_figures_are_read_row_by_row(parse: Parse) -> None:
    lines = [
        (x, 100.0 + 14 * row, f"{name}{row}") for row in range(5) for x, name in ((60, "item "), (300, "x"), (400, "y"))
    ]
    text = parse(pdf(texts(*lines)), "a.pdf", settings=FAST).text
    assert "item 1 x1 y1" in text


def test_larger_and_bold_type_makes_headings(parse: Parse) -> None:
    def draw(page: pymupdf.Page, _: int) -> None:
        page.insert_text((60, 60), "The Title", fontsize=20)
        page.insert_text((60, 100), "A Section", fontsize=14)
        for row in range(8):
            page.insert_text((60, 130 + 12 * row), PROSE, fontsize=10)
        page.insert_text((60, 260), "Bold one", fontsize=10, fontname="hebo")
        page.insert_text((60, 290), "- an item of a list", fontsize=10)

    document = parse(pdf(draw), "a.pdf")
    headings = [(element.level, element.text) for element in of_kind(document, ElementKind.HEADING)]
    assert headings == [(1, "The Title"), (2, "A Section"), (3, "Bold one")]
    assert len(of_kind(document, ElementKind.PARAGRAPH)) == 1
    assert [element.text for element in of_kind(document, ElementKind.LIST_ITEM)] == ["- an item of a list"]


def test_the_outline_names_headings(parse: Parse) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((60, 100), "Plain Heading", fontsize=10)
    page.insert_text((60, 140), PROSE, fontsize=10)
    document.set_toc([[1, "Part", 1], [2, "Plain  heading", 1]])
    elements = parse(document.tobytes(), "a.pdf").elements
    assert (elements[0].kind, elements[0].level) == (ElementKind.HEADING, 2)


def test_running_lines_go_and_pages_do_not_shift(parse: Parse) -> None:
    def page(page: pymupdf.Page, number: int) -> None:
        page.insert_text((60, 40), "Annual report")
        page.insert_text((280, 810), f"Page {number} of 5")
        if number != 3:
            page.insert_text((60, 300), f"Body of page number {'abcde'[number]}")

    document = parse(pdf(*[page] * 4), "a.pdf")
    assert "Annual" not in document.text
    assert "of 5" not in document.text
    assert [(element.page, element.text) for element in document.elements if element.text] == [
        (1, "Body of page number b"),
        (2, "Body of page number c"),
        (4, "Body of page number e"),
    ]
    assert [element.page for element in of_kind(document, ElementKind.PAGE_BREAK)] == [2, 3, 4]
    assert document.page_count == 4


def test_hyphens_at_line_ends_are_joined(parse: Parse) -> None:
    document = parse(
        pdf(texts((60, 100, "This is an exam-"), (60, 112, "ple of a well-"), (60, 124, "Known word"))), "a.pdf"
    )
    assert document.text == "This is an example of a well- Known word"


def test_ruled_tables_become_cells(parse: Parse) -> None:
    def draw(page: pymupdf.Page, _: int) -> None:
        page.insert_text((60, 80), "Before the table")
        for y in (100, 120, 140, 160):
            page.draw_line((60, y), (360, y))
        for x in (60, 160, 260, 360):
            page.draw_line((x, 120 if x in (260,) else 100), (x, 160))
        for x, y, text in (
            *((65, 114, "Name"), (165, 114, "Both years"), (65, 134, "North"), (165, 134, "1"), (265, 134, "2")),
            *((65, 154, "South"), (165, 154, "3"), (265, 154, "4")),
        ):
            page.insert_text((x, y), text)
        page.insert_text((60, 200), "After the table")

    document = parse(pdf(draw), "a.pdf")
    assert [element.kind.value for element in document.elements] == ["paragraph", "table", "paragraph"]
    table = document.elements[1].table
    assert table is not None
    assert table.rows == [["Name", "Both years", "Both years"], ["North", "1", "2"], ["South", "3", "4"]]
    box = document.elements[1].bbox
    assert box is not None
    assert (box.left, box.top, box.right, box.bottom) == pytest.approx((60, 100, 360, 160), abs=1)


def test_cells_drawn_with_strokes_that_have_corners_are_a_table(parse: Parse) -> None:
    """Each cell with its upper and right border in one stroke: no rule of it is a line of its own."""

    def draw(page: pymupdf.Page, _: int) -> None:
        for row in range(20):
            for column in range(6):
                left, top = 60 + 70 * column, 100 + 20 * row
                page.draw_polyline([(left, top), (left + 70, top), (left + 70, top + 20)])
                page.insert_text((left + 5, top + 14), f"{row}:{column}")
        page.draw_polyline([(60, 100), (60, 500), (480, 500)])

    (table,) = of_kind(parse(pdf(draw), "a.pdf", settings=FAST), ElementKind.TABLE)
    assert table.table is not None
    assert table.table.rows == [[f"{row}:{column}" for column in range(6)] for row in range(20)]


def test_rules_in_a_frame_with_round_corners_are_a_table(parse: Parse) -> None:
    def draw(page: pymupdf.Page, _: int) -> None:
        page.draw_rect((60, 100, 260, 140), radius=0.2)
        page.draw_line((60, 120), (260, 120))
        page.draw_line((160, 100), (160, 140))
        for x, y, text in ((65, 114, "Name"), (165, 114, "Price"), (65, 134, "North"), (165, 134, "12")):
            page.insert_text((x, y), text)

    (table,) = of_kind(parse(pdf(draw), "a.pdf", settings=FAST), ElementKind.TABLE)
    assert table.table is not None
    assert table.table.rows == [["Name", "Price"], ["North", "12"]]


def test_text_printed_twice_for_bold_type_is_read_once(parse: Parse) -> None:
    def draw(page: pymupdf.Page, _: int) -> None:
        for shift in (0, 0.3):
            page.insert_text((60 + shift, 80), "A bold line", fontsize=12)
            page.insert_text((60, 110 + shift), "粗体", fontsize=12, fontname=CHINESE)
            for x, y, text in ((65, 214, "Name"), (165, 214, "Price"), (65, 234, "North"), (165, 234, "12")):
                page.insert_text((x + shift, y), text)
        page.insert_text((60, 140), "no no no", fontsize=12)
        page.insert_text((60, 154), "no no no", fontsize=12)
        for y in (200, 220, 240):
            page.draw_line((60, y), (260, y))
        for x in (60, 160, 260):
            page.draw_line((x, 200), (x, 240))

    document = parse(pdf(draw), "a.pdf", settings=FAST)
    table = document.elements[-1].table
    assert table is not None
    assert table.rows == [["Name", "Price"], ["North", "12"]]
    assert " ".join(element.text for element in document.elements[:-1]) == "A bold line 粗体 no no no no no no"


def test_a_row_of_thousands_of_texts_is_read_in_order() -> None:
    boxes = [(2.0 * at, 300.0, 2.0 * at + 1, 302.0) for at in range(10_000)]
    lines = [Line(str(at), box, box, 1) for at, box in enumerate(boxes)]
    (line,) = in_reading_order(lines[::-1])
    assert line.text == " ".join(map(str, range(10_000)))


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_places_are_those_of_the_page_as_shown(parse: Parse, rotation: int) -> None:
    """Text is drawn so that it is upright near the top left corner once the page is rotated."""

    def draw(page: pymupdf.Page, _: int) -> None:
        page.set_rotation(rotation)
        for row in range(3):
            point = pymupdf.Point(60, 100 + 14 * row) * page.derotation_matrix
            page.insert_text(point, f"row {row} {PROSE}", rotate=rotation)

    element = parse(pdf(draw), "a.pdf").elements[0]
    assert element.text == " ".join(f"row {row} {PROSE}" for row in range(3))
    assert element.bbox is not None
    assert (element.bbox.left, element.bbox.bottom) == pytest.approx((60, 128), abs=6)


def test_a_file_without_text_says_so(parse: Parse) -> None:
    def image(page: pymupdf.Page, _: int) -> None:
        blank = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 20, 20), False)
        blank.clear_with(255)  # its memory is not empty by itself
        page.insert_image(page.rect, pixmap=blank)

    for pages, reason in (((image,), "no_text_layer"), ((texts(),), "no_text")):
        with pytest.raises(ParseFailed) as failed:
            parse(pdf(*pages), "a.pdf")
        assert failed.value.error_code == reason
    document = parse(pdf(texts((60, 100, "Only here")), image), "a.pdf")
    assert any("show pictures and no text" in warning and "2" in warning for warning in document.warnings)


def test_an_encrypted_pdf_asks_for_its_password(parse: Parse) -> None:
    content = pdf(texts((60, 100, "Secret")), encryption=pymupdf.mupdf.PDF_ENCRYPT_AES_256, user_pw="u", owner_pw="o")
    for password in (None, "wrong"):
        with pytest.raises(ParseFailed) as failed:
            parse(content, "a.pdf", password=password)
        assert failed.value.error_code == "encrypted"
    assert parse(content, "a.pdf", password="u").text == "Secret"


def test_a_cut_off_pdf_is_damaged(parse: Parse) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(pdf(texts((60, 100, "Text")))[:100], "a.pdf")
    assert failed.value.error_code == "damaged"
