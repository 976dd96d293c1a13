"""Tables of PDFs whose rules do not tell all that their cells do."""

from itertools import product

import pytest

from app.parsing.document import ElementKind
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.settings import ParsingSettings
from tests.parsing.conftest import Parse, of_kind
from tests.parsing.drawing import Draw, pdf

FAST = ParsingSettings(pdf="fast")


def rows_of(parse: Parse, draw: Draw) -> list[list[str]]:
    (table,) = of_kind(parse(pdf(draw), "a.pdf", settings=FAST), ElementKind.TABLE)
    assert table.table is not None
    return table.table.rows


def test_rows_without_rules_between_columns_have_their_cells(parse: Parse) -> None:
    """As word processors draw every second row of some styles; what runs over the border stays one cell."""

    def draw(page: pymupdf.Page, _: int) -> None:
        for row in range(5):
            page.draw_line((60, 100 + 20 * row), (360, 100 + 20 * row))
        for x in (60, 360):
            page.draw_line((x, 100), (x, 180))
        for x, row in product((160, 260), (0, 2)):
            page.draw_line((x, 100 + 20 * row), (x, 120 + 20 * row))
        for row, column in product(range(3), range(3)):
            page.insert_text((65 + 100 * column, 114 + 20 * row), f"{row}:{column}")
        page.insert_text((65, 174), "A remark on all of the rows that are above")

    assert rows_of(parse, draw) == [
        *([f"{row}:{column}" for column in range(3)] for row in range(3)),
        ["A remark on all of the rows that are above"] * 3,
    ]


def test_frames_inside_cells_do_not_cut_the_rules_around(parse: Parse) -> None:
    def draw(page: pymupdf.Page, _: int) -> None:
        for row in range(4):
            page.draw_line((60, 100 + 40 * row), (360, 100 + 40 * row))
        for x in (60, 210, 360):
            page.draw_line((x, 100), (x, 220))
        for row, column in product(range(3), range(2)):
            page.insert_text((65 + 150 * column, 124 + 40 * row), f"{row}:{column}")
        for row in range(3):
            page.draw_rect((212, 102 + 40 * row, 300, 138 + 40 * row))

    assert [row[0] for row in rows_of(parse, draw)] == ["0:0", "1:0", "2:0"]


@pytest.mark.parametrize("down_to", [120, 180], ids=["only in the head", "all the way"])
def test_rows_of_figures_below_a_ruled_head_are_rows(parse: Parse, down_to: int) -> None:
    """In a frame, with rules between columns, and none between rows."""
    cells = [["Item", "Weight", "Price"], ["Corn", "1.5", "3.20"], ["Rye", "2.0", "4.10"], ["Oats", "0.7", "2.90"]]

    def draw(page: pymupdf.Page, _: int) -> None:
        page.draw_rect((60, 100, 360, 180))
        page.draw_line((60, 120), (360, 120))
        for x in (160, 260):
            page.draw_line((x, 100), (x, down_to))
        for (row, of_row), column in product(enumerate(cells), range(3)):
            page.insert_text((65 + 100 * column, 114 + 20 * row), of_row[column])

    assert rows_of(parse, draw) == cells


def test_lines_of_text_side_by_side_in_two_cells_are_no_rows(parse: Parse) -> None:
    def draw(page: pymupdf.Page, _: int) -> None:
        for y in (100, 120, 170):
            page.draw_line((60, y), (360, y))
        for x in (60, 210, 360):
            page.draw_line((x, 100), (x, 170))
        for x, head in ((65, "Risk"), (215, "Answer")):
            page.insert_text((x, 114), head)
            for row, line in enumerate(("one line of it", "and another one", "and the last")):
                page.insert_text((x, 134 + 14 * row), line)

    assert rows_of(parse, draw) == [["Risk", "Answer"], ["one line of it\nand another one\nand the last"] * 2]
