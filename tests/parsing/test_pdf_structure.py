"""PDF pages drawn in the tests: what is joined, what is told apart, what belongs together."""

import pytest

from app.parsing.document import ElementKind
from app.parsing.parsers.pdf_elements import elements
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.parsers.pdf_lines import Line, PageLines
from app.parsing.settings import ParsingSettings
from tests.parsing.conftest import Parse, of_kind
from tests.parsing.drawing import pdf, texts

PROSE = "some words that fill a line of a column well"
FAST = ParsingSettings(pdf="fast")


def column(x: float, top: float, *lines: str) -> list[tuple[float, float, str]]:
    return [(x, top + 12 * row, line) for row, line in enumerate(lines)]


def test_a_word_and_a_sentence_go_on_in_the_next_column(parse: Parse) -> None:
    left = column(60, 100, f"First {PROSE}", f"second {PROSE}", "and here the column ends in the middle of an exam-")
    right = column(320, 100, "ple of how it goes on in the next one at its top", f"with {PROSE}", f"and {PROSE}.")
    document = parse(pdf(texts(*left, *right)), "a.pdf", settings=FAST)
    assert "in the middle of an example of how it goes on" in document.text
    assert len(of_kind(document, ElementKind.PARAGRAPH)) == 1


def test_columns_of_their_own_stay_apart(parse: Parse) -> None:
    left = column(
        60, 100, f"First {PROSE}", f"second {PROSE}", "and here the column ends with a full stop, as it does."
    )
    right = column(320, 100, f"Another {PROSE}", f"with {PROSE}", f"and {PROSE}.")
    paragraphs = of_kind(parse(pdf(texts(*left, *right)), "a.pdf", settings=FAST), ElementKind.PARAGRAPH)
    assert [paragraph.text.split()[0] for paragraph in paragraphs] == ["First", "Another"]


def test_only_the_rest_of_a_word_moves_over_the_end_of_a_page(parse: Parse) -> None:
    first = texts(*column(60, 300, f"Some {PROSE}", f"of which {PROSE} infor-"))
    second = texts(*column(60, 300, f"mation is {PROSE}", f"and {PROSE}."))
    elements = [element for element in parse(pdf(first, second), "a.pdf", settings=FAST).elements if element.text]
    assert elements[0].text.endswith(f"{PROSE} information")
    assert elements[1].text.startswith("is some words")
    assert [element.page for element in elements] == [1, 2]


def test_a_sidebar_is_read_after_what_it_stands_beside(parse: Parse) -> None:
    body = column(60, 100, *(f"body {row} {PROSE}" for row in range(12)))
    side = column(420, 124, *(f"aside {row} with few words" for row in range(4)))
    text = parse(pdf(texts(*sorted([*body, *side], key=lambda item: item[1]))), "a.pdf", settings=FAST).text
    order = ["body 0", "body 11", "aside 0", "aside 3"]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


def test_list_items_have_levels(parse: Parse) -> None:
    lines = [
        *(
            (60, 100, "• one thing of the list"),
            (80, 114, "– a part of that thing"),
            (100, 128, "– a part of that part"),
        ),
        *((80, 142, "– another part"), (60, 156, "• another thing"), (60, 190, "No item at all, but a sentence.")),
        (80, 224, "• a list of its own, indented"),
    ]
    items = of_kind(parse(pdf(texts(*lines, font="tiro")), "a.pdf", settings=FAST), ElementKind.LIST_ITEM)
    assert [item.level for item in items] == [1, 2, 3, 2, 1, 1]


def grid(page: pymupdf.Page, top: float) -> None:
    for y in (top, top + 20, top + 40, top + 60):
        page.draw_line((60, y), (360, y))
    for x in (60, 210, 360):
        page.draw_line((x, top), (x, top + 60))
    for row, cells in enumerate((("Name", "Value"), ("North", "1"), ("South", "2"))):
        for column_number, cell in enumerate(cells):
            page.insert_text((65 + 150 * column_number, top + 14 + 20 * row), cell)


@pytest.mark.parametrize("caption_at", [95, 177])
def test_a_caption_belongs_to_its_table(parse: Parse, caption_at: int) -> None:
    def draw(page: pymupdf.Page, _: int) -> None:
        page.insert_text((60, caption_at), "Table 1: Values of two regions, in million euros")
        grid(page, 100)
        page.insert_text((60, 240), "Figure 2: No table's caption")

    document = parse(pdf(draw), "a.pdf", settings=FAST)
    (table,) = of_kind(document, ElementKind.TABLE)
    assert table.table is not None
    assert table.table.caption == "Table 1: Values of two regions, in million euros"
    captions = [element.text for element in of_kind(document, ElementKind.CAPTION)]
    assert captions[-1] == "Figure 2: No table's caption"


def test_a_table_that_lies_on_its_side_is_read(parse: Parse) -> None:
    """Drawn upright on a page that is then put into another one on its side."""
    upright = pymupdf.open("pdf", pdf(lambda page, _: grid(page, 100)))
    document = pymupdf.open()
    page = document.new_page(width=842, height=595)
    page.show_pdf_page(page.rect, upright, 0, rotate=90)
    (table,) = of_kind(parse(document.tobytes(), "a.pdf", settings=FAST), ElementKind.TABLE)
    assert table.table is not None
    assert table.table.rows == [["Name", "Value"], ["North", "1"], ["South", "2"]]
    assert table.bbox is not None
    assert table.bbox.right - table.bbox.left == pytest.approx(60, abs=2)
    assert table.bbox.bottom - table.bbox.top == pytest.approx(300, abs=2)


def test_footnotes_are_told_from_the_text(parse: Parse) -> None:
    def draw(page: pymupdf.Page, _: int) -> None:
        for row in range(8):
            page.insert_text((60, 100 + 12 * row), PROSE, fontsize=10)
        page.insert_text((60, 740), "1 See the annual report, page 12.", fontsize=7.5)

    notes = of_kind(parse(pdf(draw), "a.pdf", settings=FAST), ElementKind.FOOTNOTE)
    assert [note.text for note in notes] == ["1 See the annual report, page 12."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("第一卷\ufffd第二期", "第一卷 第二期"), ("a \ufffd\ufffd\ufffd b", "a \ufffd\ufffd\ufffd b")],
)
def test_a_lone_character_without_meaning_is_a_gap(text: str, expected: str) -> None:
    """As where a font has a space of its own width and no map for it."""
    box = (60.0, 300.0, 160.0, 312.0)
    (element,) = elements([PageLines([Line(text, box, box, 10)], height=842)], {})
    assert element.text == expected


def test_columns_begin_below_a_title_that_is_centred_between_them(parse: Parse) -> None:
    """Though their first rows, a short heading beside a full line, leave room below it that the title does not bar."""
    title = [(265, 60, "Of Herons and Reeds"), (280, 80, "January 2024")]
    left = [(60, 105, "Abstract"), *column(60, 131, *(f"left {row} {PROSE}" for row in range(8)))]
    right = column(320, 105, *(f"right {row} {PROSE}" for row in range(9)))
    text = parse(pdf(texts(*title, *left, *right)), "a.pdf", settings=FAST).text
    order = ["January", "Abstract", "left 0", "left 7", "right 0", "right 8"]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


@pytest.mark.parametrize(
    ("second", "headings"),
    [
        ("and What Becomes of It", ["A Long Heading That Fills the Whole of Its Line and What Becomes of It"]),
        ("2 Methods", ["A Long Heading That Fills the Whole of Its Line", "2 Methods"]),
    ],
)
def test_a_heading_that_was_broken_is_one(parse: Parse, second: str, headings: list[str]) -> None:
    """Also where its lines are set further apart than those of the text."""
    with pymupdf.open() as made:
        page = made.new_page()
        for top, line in ((100, "A Long Heading That Fills the Whole of Its Line"), (132, second)):
            page.insert_text((60, top), line, fontsize=18)
        for row in range(12):
            page.insert_text((60, 170 + 12 * row), f"Text {row}, which {PROSE}, and then another {PROSE}.", fontsize=10)
        document = parse(made.tobytes(), "a.pdf", settings=FAST)
    assert [element.text for element in of_kind(document, ElementKind.HEADING)] == headings
