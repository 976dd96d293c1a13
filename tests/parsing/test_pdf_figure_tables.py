"""Tables of figures in PDFs whose rules or bands don't part all cells, and what looks like them and is no table."""

from collections.abc import Iterable

import pytest

from app.parsing.document import ElementKind, Table
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.settings import ParsingSettings
from tests.parsing.conftest import Parse, of_kind, table_rows
from tests.parsing.drawing import Draw, Rule, Text, pdf, ruled, table_of

FAST = ParsingSettings(pdf="fast")
COLUMNS = (320.0, 420.0, 520.0)
"""Right ends of figures."""
PROSE = "The following table shows what was earned in the three months that ended then, in millions of dollars, and how"
CELLS = [
    ["Sales:", "", "", ""],
    ["Boats", "60,584", "1,355", "(901)"],
    ["Nets and lines", "213", "-", "(86)"],
    ["Total", "60,797", "1,355", "(987)"],
]


def ending(right: float, y: float, text: str) -> Text:
    return right - pymupdf.get_text_length(text, fontsize=9), y, text


def figures(top: float, cells: Iterable[list[str]], *, step: float = 14) -> list[Text]:
    """Names at the left, figures that end below one another; one row a step."""
    texts: list[Text] = []
    for row, (name, *of_row) in enumerate(cells):
        y = top + step * row
        texts += [(60, y, name)] if name else []
        texts += [ending(right, y, figure) for right, figure in zip(COLUMNS, of_row, strict=False) if figure]
    return texts


def under(y: float, columns: Iterable[float] = COLUMNS) -> list[Rule]:
    """A rule for each column, as wide as its figures."""
    return [(y, right - 70, right + 2) for right in columns]


def banded(texts: list[Text], top: float, count: int, *, step: float = 14) -> Draw:
    """Every second row on grey, cell by cell."""

    def draw(page: pymupdf.Page, number: int) -> None:
        for row in range(0, count, 2):
            for left, right in ((56, 240), (240, 324), (324, 424), (424, 524)):
                y = top + step * row
                page.draw_rect((left, y - 10, right, y + 4), color=None, fill=(0.9, 0.9, 0.9))
        ruled([], texts)(page, number)

    return draw


def table_in(parse: Parse, draw: Draw) -> Table:
    (element,) = of_kind(parse(pdf(draw), "a.pdf", settings=FAST), ElementKind.TABLE)
    assert element.table is not None
    return element.table


def test_a_statement_has_rules_under_heads_and_sums_only(parse: Parse) -> None:
    """Heads of two rows and several lines, signs apart from their amounts, names of groups and a name of two lines; and
    the model of page layout is not asked."""
    texts: list[Text] = [
        *((60, 80, f"{PROSE}."), (345, 108, "Three months ended")),
        *((290, 122, "July 1,"), (290, 132, "2023"), (390, 122, "June 25,"), (390, 132, "2022"), (490, 132, "Change")),
        *((60, 150, "Sales:"), (70, 164, "Boats"), (252, 164, "$"), ending(320, 164, "60,584")),
        *((352, 164, "$"), ending(420, 164, "1,355"), ending(520, 164, "9 %")),
        *((70, 176, "Nets, lines and"), (76, 184, "other things"), ending(320, 180, "213")),
        *(ending(420, 180, "-"), ending(523, 180, "(86)%")),
        *((80, 196, "Total"), ending(320, 196, "60,797"), ending(420, 196, "1,355"), ending(520, 196, "8 %")),
        (60, 230, f"{PROSE}."),
    ]
    rules: list[Rule] = [(111, 250, 522), *under(135), *under(186), *under(199), *under(201)]
    document = parse(pdf(ruled(rules, texts)), "a.pdf")
    assert document.page_modes == ["fast"]
    (element,) = of_kind(document, ElementKind.TABLE)
    assert element.table is not None
    assert element.table.header_rows == 2
    assert element.table.rows == [
        ["", *["Three months ended"] * 3],
        ["", "July 1,\n2023", "June 25,\n2022", "Change"],
        ["Sales:", "", "", ""],
        ["Boats", "$60,584", "$1,355", "9 %"],
        ["Nets, lines and other things", "213", "-", "(86)%"],
        ["Total", "60,797", "1,355", "8 %"],
    ]
    assert document.text.count(PROSE) == 2


def test_bands_tell_as_much_as_rules(parse: Parse) -> None:
    head = figures(100, [["", "2021", "2022", "Change"]])
    table = table_in(parse, banded([*head, *figures(114, CELLS)], 114, len(CELLS)))
    assert (table.rows, table.header_rows) == ([["", "2021", "2022", "Change"], *CELLS], 1)


def test_figures_that_are_only_aligned_are_left_to_the_model(parse: Parse) -> None:
    texts = [*figures(100, [["", "2021", "2022", "Change"]]), *figures(114, CELLS)]
    assert table_rows(parse(pdf(ruled([], texts)), "a.pdf", settings=FAST)) == []
    one_bare = [*under(116, COLUMNS[:2]), *under(158, COLUMNS[:2])]
    assert table_rows(parse(pdf(ruled(one_bare, texts)), "a.pdf", settings=FAST)) == []


def test_years_may_be_names_and_one_column_a_table_of_amounts(parse: Parse) -> None:
    cells = [["2023", "$ 1,260"], ["2024", "3,417"], ["Thereafter", "8,198"], ["Total", "$ 12,875"]]
    table = table_in(parse, ruled(under(144, COLUMNS[:1]), figures(100, cells)))
    assert (table.rows, table.header_rows) == (cells, 0)


def test_a_column_may_refer_to_notes(parse: Parse) -> None:
    cells = [["Revenue", "5, 6", "1,204", "998"], ["Costs", "12(a)", "(800)", "(702)"], ["Profit", "", "404", "296"]]
    head = figures(100, [["", "Notes", "2021", "2022"]])
    table = table_in(parse, ruled(under(131, COLUMNS[1:]), [*head, *figures(114, cells)]))
    assert table.rows == [["", "Notes", "2021", "2022"], *cells]


def test_two_statements_are_parted_by_the_head_of_the_second(parse: Parse) -> None:
    head = ["", "2021", "2022", "Change"]
    texts = [
        *figures(100, [head, *CELLS]),
        (60, 180, "The same at the end of the year:"),
        *figures(194, [head, *CELLS]),
    ]
    rules = [rule for y in (103, 145, 197, 239) for rule in under(y)]
    document = parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST)
    assert table_rows(document) == [[head, *CELLS]] * 2
    assert "The same at the end of the year:" in document.text


def test_a_group_may_be_named_in_the_middle(parse: Parse) -> None:
    texts = [*figures(100, [["", "2021", "2022", "Change"]]), (240, 114, "ASSETS"), *figures(128, CELLS)]
    rules = [*under(103), *under(173)]
    table = table_in(parse, ruled(rules, texts))
    assert table.rows[:2] == [["", "2021", "2022", "Change"], ["ASSETS", "", "", ""]]
    assert table.header_rows == 1


def test_rows_padded_with_spaces_have_their_cells(parse: Parse) -> None:
    """As programs print them; a line of the text layer is a whole row then."""
    lines = ["Boats       60,584     1,355", "Nets           213        -", "Total       60,797     1,355"]

    def draw(page: pymupdf.Page, _: int) -> None:
        for row, line in enumerate(lines):
            page.insert_text((60, 100 + 14 * row), line, fontname="cour", fontsize=9)
        for left, right in ((118, 160), (170, 220)):
            page.draw_line((left, 131), (right, 131))

    assert table_in(parse, draw).rows == [line.split() for line in lines]


def test_a_raised_mark_stays_where_it_was_in_a_name(parse: Parse) -> None:
    def draw(page: pymupdf.Page, number: int) -> None:
        ruled(under(117), figures(100, CELLS[1:], step=16))(page, number)
        page.insert_text((60, 148), "Level 2    :", fontsize=9)
        page.insert_text((91, 145), "(2)", fontsize=6)
        ruled([], figures(148, [["", "1", "2", "3"]]))(page, number)

    assert table_in(parse, draw).rows[-1] == ["Level 2 (2):", "1", "2", "3"]


@pytest.mark.parametrize("turn", [90, 270])
def test_a_statement_may_lie_on_its_side(parse: Parse, turn: int) -> None:
    def draw(page: pymupdf.Page, _: int) -> None:
        with pymupdf.open(stream=pdf(ruled(under(131), figures(100, CELLS)))) as upright:
            page.show_pdf_page(page.rect, upright, 0, rotate=turn)

    assert table_in(parse, draw).rows == CELLS[1:]


def contents(leaders: str) -> list[Text]:
    titles = ("Financial Statements", "Risk Factors", "Legal Proceedings", "Exhibits", "Signatures")
    return figures(100, [[f"{title}{leaders}", str(7 * at)] for at, title in enumerate(titles, 1)])


def equations() -> list[Text]:
    return figures(100, [[f"a = b + {number}", f"(2.{number})"] for number in range(1, 6)])


def listing() -> list[Text]:
    return [(60, 100 + 14.0 * row, f"{row}") for row in range(5)] + [
        (x, 100 + 14.0 * row, text) for row in range(5) for x, text in ((80.0, "move(boat,"), (300.0, "12);"))
    ]


def plot() -> list[Text]:
    return [(x, 100 + 14.0 * row, str(10 * row + x)) for row in range(5) for x in (60, 300, 400, 500)]


def bibliography() -> list[Text]:
    entry = "Boats and nets of the northern coast. Journal of Harbours, pages 345-367,"
    return [text for row in range(5) for text in ((60.0, 100 + 14.0 * row, entry), (480.0, 100 + 14.0 * row, "1998"))]


def ragged() -> list[Text]:
    """Prose with wide spaces, whose lines happen to end in numbers."""
    return [
        text
        for row in range(6)
        for text in ((60.0, 100 + 14.0 * row, PROSE[:60]), (400.0 + 23 * (row % 3), 100 + 14.0 * row, f"{row},450"))
    ]


def index() -> list[Text]:
    return figures(100, [["anchor", "12, 34"], ["bay", "7"], ["cliff", "45, 46"], ["dune", "103"], ["eddy", "9"]])


def speech() -> list[Text]:
    return table_of(86, [[str(row), "Q.", "And where was the boat?"] for row in range(1, 6)], step=14)


@pytest.mark.parametrize(
    "texts",
    [
        contents(""),
        contents(" . . . . . ."),
        equations(),
        listing(),
        plot(),
        bibliography(),
        ragged(),
        index(),
        speech(),
    ],
    ids=["contents", "leaders", "equations", "listing", "plot", "bibliography", "prose", "index", "speech"],
)
@pytest.mark.parametrize("marks", ["rules", "bands"])
def test_what_ends_in_numbers_is_no_table_yet(parse: Parse, texts: list[Text], marks: str) -> None:
    rules = [rule for row in range(5) for rule in under(103 + 14.0 * row, (*COLUMNS, 470.0))]
    draw = ruled(rules, texts) if marks == "rules" else banded(texts, 100, 6)
    document = parse(pdf(draw), "a.pdf", settings=FAST)
    assert table_rows(document) == []
