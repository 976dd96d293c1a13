"""Tables of PDFs that go on over the end of a page."""

import pytest

from app.parsing.document import ElementKind, ParsedDocument, Table
from app.parsing.settings import ParsingSettings
from tests.parsing.conftest import Parse, of_kind
from tests.parsing.drawing import Draw, grid, pdf, texts, together

FAST = ParsingSettings(pdf="fast")
HEADER = ["Berth", "Length", "Price"]
BERTHS = [[f"Quay {number}", f"{10 + number}", f"{3 * number}.50"] for number in range(1, 40)]
WORDS = [[f"Quay {number}", f"north of {number}", "open"] for number in range(1, 40)]
LAST_ROWS = together(texts((60, 60, "Prices of berths"), size=16), grid(640, [HEADER, *BERTHS[:6]]))
"""A table that reaches to the foot of its page."""


def tables_of(parse: Parse, *pages: Draw) -> list[Table]:
    found = of_kind(parse(pdf(*pages), "a.pdf", settings=FAST), ElementKind.TABLE)
    return [element.table for element in found if element.table is not None]


def texts_of(document: ParsedDocument) -> list[str]:
    return [element.text for element in document.elements if element.text and element.table is None]


@pytest.mark.parametrize("header", [[], [HEADER]], ids=["alone", "under its header again"])
def test_what_goes_on_is_one_table_that_knows_where_its_parts_stand(parse: Parse, header: list[list[str]]) -> None:
    middle = [*header, *BERTHS[6:36]]
    (table,) = tables_of(parse, LAST_ROWS, grid(60, middle), grid(60, [*header, *BERTHS[36:]]))
    assert table.rows == [HEADER, *BERTHS]
    assert table.header_rows == 1
    assert [(there.page, there.first_row) for there in table.continuations] == [(2, 7), (3, 37)]
    (second, third) = [there.bbox for there in table.continuations]
    assert second is not None
    assert third is not None
    assert (second.top, second.bottom) == pytest.approx((60, 60 + 20 * len(middle)), abs=2)
    assert third.bottom < second.bottom


def test_a_line_that_says_that_it_goes_on_goes(parse: Parse) -> None:
    note = texts((60, 50, "Table 3 (continued)"))
    document = parse(pdf(LAST_ROWS, together(note, grid(60, BERTHS[6:9]))), "a.pdf", settings=FAST)
    (element,) = of_kind(document, ElementKind.TABLE)
    assert element.table is not None
    assert element.table.rows == [HEADER, *BERTHS[:9]]
    assert texts_of(document) == ["Prices of berths"]


def test_what_follows_stays(parse: Parse) -> None:
    after = together(grid(60, BERTHS[6:9]), texts((60, 160, "The prices hold for a night.")))
    document = parse(pdf(LAST_ROWS, after), "a.pdf", settings=FAST)
    assert [element.kind for element in document.elements[-2:]] == [ElementKind.PAGE_BREAK, ElementKind.PARAGRAPH]
    assert len(of_kind(document, ElementKind.TABLE)) == 1


@pytest.mark.parametrize(
    "below",
    [
        grid(60, [["Boat", "Owner", "Since"], ["Ada", "Berg", "1987"]]),
        grid(60, [["Berth", "Length"], ["Quay 7", "17"]]),
        grid(60, BERTHS[6:9], left=90),
        grid(400, BERTHS[6:9]),
        together(texts((60, 50, "Prices in winter")), grid(60, BERTHS[6:9])),
    ],
    ids=["other names", "other columns", "another edge", "further down", "under a title"],
)
def test_another_table_is_another(parse: Parse, below: Draw) -> None:
    first, second = tables_of(parse, LAST_ROWS, below)
    assert len(first.rows) == 7
    assert not first.continuations
    assert not second.continuations


def test_a_table_that_ends_above_the_foot_ends(parse: Parse) -> None:
    assert len(tables_of(parse, grid(300, [HEADER, *BERTHS[:6]]), grid(60, BERTHS[6:9]))) == 2


def test_tables_of_words_go_on_too(parse: Parse) -> None:
    first = grid(640, [["Berth", "Place", "State"], *WORDS[:6]])
    (table,) = tables_of(parse, first, grid(60, WORDS[6:9]))
    assert table.rows[1:] == WORDS[:9]
