"""Tables of PDFs that go on over the end of a page."""

import pytest

from app.parsing.document import ElementKind, ParsedDocument, Table
from app.parsing.parsers import pdf_table_rows
from app.parsing.parsers.pdf_lines import Line, PageLines
from app.parsing.parsers.pdf_page_tables import join_tables
from app.parsing.parsers.pdf_paragraphs import Paragraph
from app.parsing.settings import ParsingSettings
from tests.parsing.conftest import Parse, of_kind
from tests.parsing.drawing import CHINESE, Draw, grid, pdf, texts, together

FAST = ParsingSettings(pdf="fast")
HEADER = ["Berth", "Length", "Price"]
BERTHS = [[f"Quay {number}", f"{10 + number}", f"{3 * number}.50"] for number in range(1, 40)]
WORDS = [[f"Quay {number}", f"north of {number}", "open"] for number in range(1, 40)]
PEOPLE = [["Ada", "Berg", "Oslo"], ["Mia", "Lund", "Rome"], ["Eva", "Holm", "Bern"], ["Ida", "Dahl", "Kiel"]]
"""Words that say nothing about those below them."""
LAST_ROWS = together(texts((60, 60, "Prices of berths"), size=16), grid(640, [HEADER, *BERTHS[:6]]))
"""A table that reaches to the foot of its page."""


def tables_of(parse: Parse, *pages: Draw) -> list[Table]:
    found = of_kind(parse(pdf(*pages), "a.pdf", settings=FAST), ElementKind.TABLE)
    return [element.table for element in found if element.table is not None]


def headed(top: float, names: list[str], rows: list[list[str]]) -> Draw:
    """A table whose header is bold."""
    row = texts(*((64 + 150 * column, top + 14, name) for column, name in enumerate(names)), size=9, font="hebo")
    return together(grid(top, [[""] * len(names), *rows]), row)


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
        together(texts((60, 50, "Income from continued operations rose")), grid(60, BERTHS[6:9])),
        together(texts((60, 50, "办理手续表如下"), font=CHINESE), grid(60, BERTHS[6:9])),
        together(
            grid(60, [row[:2] for row in BERTHS[6:9]], column=80),
            grid(60, [row[2:] for row in BERTHS[6:9]], left=220, column=290),
        ),
        grid(60, [["In winter", "", ""], ["Berth", "State", "Keeper"], ["Quay 7", "open", "Berg"]]),
        grid(60, [["Berth", "2023", "2024"], ["Quay 7", "17", "21.50"]]),
    ],
    ids=[
        "other names", "other columns", "another edge", "further down", "under a title", "of continued operations",
        "of a procedure", "columns at other places", "under a name of its own", "of years",
    ],
)  # fmt: skip
def test_another_table_is_another(parse: Parse, below: Draw) -> None:
    first, second = tables_of(parse, LAST_ROWS, below)
    assert len(first.rows) == 7
    assert not first.continuations
    assert not second.continuations


def test_a_table_that_ends_above_the_foot_ends(parse: Parse) -> None:
    assert len(tables_of(parse, grid(300, [HEADER, *BERTHS[:6]]), grid(60, BERTHS[6:9]))) == 2


@pytest.mark.parametrize("line", ["续表", "（续上表）", "表3（续）", "表 3-1 续表", "表3 续", "接上页"])
def test_chinese_tables_go_on_too(parse: Parse, line: str) -> None:
    document = parse(pdf(LAST_ROWS, together(texts((60, 50, line), font=CHINESE), grid(60, BERTHS[6:9]))), "a.pdf")
    (element,) = of_kind(document, ElementKind.TABLE)
    assert element.table is not None
    assert element.table.rows == [HEADER, *BERTHS[:9]]
    assert texts_of(document) == ["Prices of berths"]


def test_a_header_of_two_rows_goes_where_it_is_repeated(parse: Parse) -> None:
    header = [["", "Size", "Size"], ["Berth", "m", "ft"]]
    (table,) = tables_of(
        parse,
        grid(640, [*header, *BERTHS[:4]]),
        grid(60, [*header, *BERTHS[4:36]]),
        grid(60, [*header, *BERTHS[36:]]),
    )
    assert table.rows == [*header, *BERTHS]
    assert table.header_rows == 2


def test_the_name_of_a_group_that_is_repeated_under_the_header_is_a_row(parse: Parse) -> None:
    group = ["North side", "", ""]
    (table,) = tables_of(parse, grid(640, [HEADER, group, *BERTHS[:5]]), grid(60, [HEADER, group, *BERTHS[5:8]]))
    assert table.rows == [HEADER, group, *BERTHS[:5], group, *BERTHS[5:8]]
    assert table.header_rows == 1


def test_the_rest_of_a_row_that_the_page_cuts_stays_in_the_table(parse: Parse) -> None:
    rest = ["at the north side", "", ""]
    (table,) = tables_of(parse, LAST_ROWS, grid(60, [rest, *BERTHS[6:9]]))
    assert table.rows[7:] == [rest, *BERTHS[6:9]]


def test_columns_that_move_a_little_are_the_same(parse: Parse) -> None:
    (table,) = tables_of(parse, LAST_ROWS, grid(60, BERTHS[6:9], left=64))
    assert len(table.rows) == 10


def test_tables_of_words_go_on_under_a_bold_header_until_the_next_one(parse: Parse) -> None:
    first = headed(640, ["Name", "Surname", "Home"], PEOPLE[:3])
    (table,) = tables_of(parse, first, grid(60, PEOPLE[2:]))
    assert len(table.rows) == 6
    assert len(tables_of(parse, first, headed(60, ["Drink", "Maker", "Colour"], PEOPLE[2:]))) == 2


def test_tables_of_words_that_nothing_ties_stay_apart(parse: Parse) -> None:
    first, below = (
        grid(640, [["Name", "Surname", "Home"], *PEOPLE]),
        grid(60, [["Drink", "Maker", "Colour"], PEOPLE[0]]),
    )
    assert len(tables_of(parse, first, below)) == 2
    note = texts((60, 50, "Table 3, continued"))
    assert len(tables_of(parse, first, together(note, grid(60, PEOPLE[2:])))) == 1


def test_a_header_with_a_number_is_no_row_of_dates_and_codes(parse: Parse) -> None:
    rows = [[f"2024-01-{number}", "rent", f"ZC-{number}"] for number in range(10, 20)]
    first = grid(640, [["Date", "What", "Code"], *rows[:6]])
    assert len(tables_of(parse, first, grid(60, rows[6:]))) == 1
    assert len(tables_of(parse, first, grid(60, [["Day 1", "Kind", "Reference"], *rows[6:]]))) == 2


def test_a_table_over_a_thousand_pages_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all that stands above once more on each of its pages."""
    looked_at = 0

    def is_figure(text: str) -> bool:
        nonlocal looked_at
        looked_at += 1
        return text.isdecimal()

    monkeypatch.setattr(pdf_table_rows, "is_figure", is_figure)
    box = (60.0, 60.0, 500.0, 800.0)
    lines = [Line("", box, box, table=Table(rows=[["Quay", str(page)], ["Pier", "1"]])) for page in range(1_000)]
    by_page = [[Paragraph(number, [line])] for number, line in enumerate(lines, start=1)]
    join_tables(by_page, [PageLines([line], height=842) for line in lines])
    assert lines[0].table is not None
    assert len(lines[0].table.rows) == 2_000
    assert looked_at < 20_000


def test_tables_of_words_go_on_too(parse: Parse) -> None:
    first = grid(640, [["Berth", "Place", "State"], *WORDS[:6]])
    (table,) = tables_of(parse, first, grid(60, WORDS[6:9]))
    assert table.rows[1:] == WORDS[:9]
