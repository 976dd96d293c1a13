"""Whatever tables are found on a page of a PDF, each of its words is told once: in a cell or outside."""

from collections import Counter
from itertools import product

import pytest

from app.parsing.document import ElementKind, ParsedDocument
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.settings import ParsingSettings, PdfMode
from tests.parsing.conftest import Parse, of_kind
from tests.parsing.drawing import Draw, pdf

LEFT, TOP, WIDE, HIGH = 100, 200, 80, 30
"""Of a table of 3 rows and 3 columns: its corner, and the size of its cells."""


def grid(*, left: float = LEFT, down: bool = True, rows: int = 3) -> Draw:
    """Ruled all around its cells, or only between rows; its cells are numbered from the left end on."""

    def draw(page: pymupdf.Page, _: int) -> None:
        for row in range(rows + 1):
            page.draw_line((left, TOP + row * HIGH), (left + 3 * WIDE, TOP + row * HIGH))
        for column in range(4 if down else 0):
            page.draw_line((left + column * WIDE, TOP), (left + column * WIDE, TOP + rows * HIGH))
        for row, column in product(range(rows), range(3)):
            cell = f"{'abc'[row]}{column}of{left}"
            page.insert_text((left + column * WIDE + 5, TOP + row * HIGH + 18), cell, fontsize=9)

    return draw


def text(x: float, y: float, words: str, *, size: float = 9, rotate: int = 0) -> Draw:
    def draw(page: pymupdf.Page, _: int) -> None:
        page.insert_text((x, y), words, fontsize=size, rotate=rotate)

    return draw


def together(*draws: Draw) -> Draw:
    def draw(page: pymupdf.Page, number: int) -> None:
        for one in draws:
            one(page, number)

    return draw


def words_of(document: ParsedDocument) -> Counter[str]:
    """No table has merged cells here, whose text stands in each of them."""
    told: list[str] = []
    for element in document.elements:
        told += [element.text] if element.table is None else [cell for row in element.table.rows for cell in row]
    return Counter(" ".join(told).split())


BESIDE = {
    "a note to the right": text(400, TOP + 18, "See the note"),
    "a note to the left": text(30, TOP + 48, "See the note"),
    "a note on each side": together(text(30, TOP + 48, "Left note"), text(400, TOP + 60, "Right one")),
    "another table": grid(left=350),
    "a line that begins in it": text(LEFT + 2.6 * WIDE, TOP + 18 + HIGH, "words that run on far beyond the edge of it"),
    "a line that ends in it": text(10, TOP + 27 + HIGH, "words of a margin to it"),
    "a line on its upper edge": text(LEFT + 20, TOP + 3, "upon the rule"),
    "a caption that touches it": text(LEFT, TOP - 1, "Table 1: Its caption", size=14),
    "a label on its side": text(LEFT + 74, TOP + 25, "up", rotate=90),
    "a stamp over its rows": text(LEFT + 74, TOP + 85, "A stamp of the office", rotate=90),
    "two tables that share a place": grid(left=LEFT + WIDE / 2),
}


@pytest.mark.parametrize("mode", ["fast", "layout"])
@pytest.mark.parametrize("down", [True, False], ids=["ruled", "lined"])
@pytest.mark.parametrize("beside", BESIDE)
def test_every_word_is_told_once(parse: Parse, beside: str, down: bool, mode: PdfMode) -> None:
    page = together(grid(down=down), BESIDE[beside])
    with pymupdf.open(stream=pdf(page)) as document:
        expected = Counter(document[0].get_text().split())
    found = parse(pdf(page), "a.pdf", settings=ParsingSettings(pdf=mode))
    assert words_of(found) == expected
    assert of_kind(found, ElementKind.TABLE) or (not down and "line" in beside)


def test_what_stands_left_of_a_table_comes_first(parse: Parse) -> None:
    page = together(grid(), text(30, TOP + 48, "before"), text(400, TOP + 18, "after"))
    texts = [element.text if element.table is None else "" for element in parse(pdf(page), "a.pdf").elements]
    assert texts == ["before", "", "after"]


def test_a_label_on_its_side_is_in_its_cell_and_a_stamp_is_not(parse: Parse) -> None:
    page = together(grid(), BESIDE["a label on its side"], text(LEFT + 154, TOP + 85, "of the office", rotate=90))
    document = parse(pdf(page), "a.pdf")
    (table,) = of_kind(document, ElementKind.TABLE)
    assert table.table is not None
    assert table.table.rows[0] == ["a0of100\nup", "a1of100", "a2of100"]
    assert [element.text for element in document.elements if element.table is None] == ["of the office"]
