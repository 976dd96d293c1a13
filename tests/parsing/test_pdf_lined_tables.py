"""Tables of PDFs with rules between rows only, and what has such rules and is no table."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from app.parsing.document import ElementKind
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.settings import ParsingSettings
from tests.parsing.conftest import Parse, of_kind, table_rows
from tests.parsing.drawing import CHINESE, Draw, Rule, Text, pdf, ruled, table_of

FAST = ParsingSettings(pdf="fast")
PROSE = "some words that fill a line of a column well"


def three_lines(top: float) -> tuple[list[Rule], list[Text]]:
    """A head of two rows, with a rule below what it says of two columns, and a row without a name."""
    rules: list[Rule] = [(top, 60, 400), (top + 14, 200, 400), (top + 28, 60, 400), (top + 72, 60, 400)]
    texts: list[Text] = [
        *((65, top + 18, "Group"), (282, top + 11, "Change in %"), (205, top + 24, "First year")),
        *((330, top + 24, "A column with a long head"), (65, top + 40, "Rats"), (215, top + 40, "1.2")),
        *((370, top + 40, "3.4"), (215, top + 54, "5.6"), (370, top + 54, "7.8"), (65, top + 68, "White mice")),
        *((215, top + 68, "9.0"), (370, top + 68, "0.1")),
    ]
    return rules, texts


ROWS = [
    ["Group", "Change in %", "Change in %"],
    ["Group", "First year", "A column with a long head"],
    ["Rats", "1.2", "3.4"],
    ["", "5.6", "7.8"],
    ["White mice", "9.0", "0.1"],
]


def test_of_a_three_line_table_each_line_is_a_row(parse: Parse) -> None:
    (table,) = of_kind(parse(pdf(ruled(*three_lines(100))), "a.pdf", settings=FAST), ElementKind.TABLE)
    assert table.table is not None
    assert (table.table.rows, table.table.header_rows) == (ROWS, 2)


def test_two_tables_of_one_width_are_parted(parse: Parse) -> None:
    (upper, upper_texts), (lower, lower_texts) = three_lines(100), three_lines(220)
    caption = (60.0, 205.0, "Table 2: The same once more")
    document = parse(pdf(ruled([*upper, *lower], [*upper_texts, caption, *lower_texts])), "a.pdf", settings=FAST)
    assert table_rows(document) == [ROWS, ROWS]


def test_where_each_row_is_ruled_a_band_is_a_row(parse: Parse) -> None:
    """Two columns, and cells of several lines."""
    texts: list[Text] = [(65, 112, "业务"), (165, 112, "说明")]
    for number in range(3):
        y = 132 + 30 * number
        texts += [(65, y, f"第{number}项"), (165, y, "第一行的内容"), (165, y + 12, "第二行")]
    rules: list[Rule] = [(y, 60, 300) for y in (100, 120, 150, 180, 210)]
    document = parse(pdf(ruled(rules, texts, font=CHINESE)), "a.pdf", settings=FAST)
    assert table_rows(document) == [
        [["业务", "说明"], *([f"第{number}项", "第一行的内容\n第二行"] for number in range(3))],
    ]


def test_rules_drawn_cell_by_cell_tell_columns(parse: Parse) -> None:
    """As word processors draw them; the text alone leaves no gap."""
    edges = (60, 140, 300, 400)
    rules: list[Rule] = [(y, left + 0.5, right) for y in (100, 120, 155, 190) for left, right in pairwise(edges)]
    texts: list[Text] = [(65, 114, "Kind"), (145, 114, "Name"), (305, 114, "Formula")]
    for kind, y in (("Input", 135), ("Output", 170)):
        texts += [(65, y + 6, kind)]
        for line in range(2):
            texts += [(142, y + 12 * line, "a long name that needs its column"), (302, y + 12 * line, "a / b")]
    (table,) = table_rows(parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST))
    assert [row[0] for row in table] == ["Kind", "Input", "Output"]
    assert table[1][1:] == ["a long name that needs its column\na long name that needs its column", "a / b\na / b"]


def test_prose_in_columns_between_rules_is_no_table(parse: Parse) -> None:
    lines: list[Text] = []
    for row in range(20):
        y = 120 + 12 * row + (40 if row >= 10 else 0)
        lines += [(60, y, f"left {row} {PROSE}"), (310, y, f"right {row} {PROSE}")]
    rules: list[Rule] = [(100, 60, 535), (255, 60, 535), (410, 60, 535)]
    document = parse(pdf(ruled(rules, lines)), "a.pdf", settings=FAST)
    assert table_rows(document) == []
    assert document.text.index("left 9") < document.text.index("right 0")


def test_lines_of_a_plot_make_no_table(parse: Parse) -> None:
    rules: list[Rule] = [(100 + 40.0 * line, 60, 400) for line in range(6)]
    texts: list[Text] = [(62, 118 + 40.0 * line, str(10 * line)) for line in range(5)]
    texts += [(120 + 60.0 * mark, 290, str(mark)) for mark in range(5)]
    assert table_rows(parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST)) == []


def test_raised_type_stays_in_its_line(parse: Parse) -> None:
    def draw(page: pymupdf.Page, number: int) -> None:
        ruled([(100, 60, 300), (120, 60, 300), (160, 60, 300)], [(65, 114, "Case"), (205, 114, "Dose")])(page, number)
        for row in range(2):
            page.insert_text((65, 134 + 20 * row), f"No {row}", fontsize=9)
            page.insert_text((205, 134 + 20 * row), "1.5 x 10", fontsize=9)
            page.insert_text((205 + pymupdf.get_text_length("1.5 x 10", fontsize=9), 130 + 20 * row), "6", fontsize=5)

    assert table_rows(parse(pdf(draw), "a.pdf", settings=FAST)) == [
        [["Case", "Dose"], ["No 0", "1.5 x 106"], ["No 1", "1.5 x 106"]]
    ]


FRUIT = [["Item", "Weight", "Price"], ["Apples", "1.5", "3.20"], ["Pears", "2.0", "4.10"], ["Plums", "0.7", "2.90"]]


def thick(page: pymupdf.Page, y: float) -> None:
    page.draw_line((60, y), (400, y), width=2)


def doubled(page: pymupdf.Page, y: float) -> None:
    for shift in (0, 2):
        page.draw_line((60, y + shift), (400, y + shift), width=0.5)


def dashed(page: pymupdf.Page, y: float) -> None:
    for number in range(68):
        left = 60 + 5 * number
        page.draw_rect((left, y, left + 3, y + 0.75), color=None, fill=(0, 0, 0))


@pytest.mark.parametrize("draw_rule", [thick, doubled, dashed])
def test_rules_may_be_thick_or_doubled_or_dashed(
    parse: Parse, draw_rule: Callable[[pymupdf.Page, float], None]
) -> None:
    def draw(page: pymupdf.Page, number: int) -> None:
        for row in range(5):
            draw_rule(page, 100 + 20 * row)
        ruled([], table_of(100, FRUIT))(page, number)

    assert table_rows(parse(pdf(draw), "a.pdf", settings=FAST)) == [FRUIT]


def test_a_head_may_have_no_rule_above(parse: Parse) -> None:
    rules: list[Rule] = [(y, 60, 400) for y in (120, 140, 160, 180)]
    prose: Text = (60, 80, "What stands above the head is no part of the table.")
    document = parse(pdf(ruled(rules, [prose, *table_of(100, FRUIT)])), "a.pdf", settings=FAST)
    assert table_rows(document) == [FRUIT]
    assert prose[2] in document.text


def test_groups_between_rules_have_a_row_for_each_line(parse: Parse) -> None:
    cells = [*FRUIT, *FRUIT[1:], ["Total", "8.4", "20.40"]]
    rules: list[Rule] = [(y, 60, 400) for y in (100, 120, 180, 240, 260)]
    assert table_rows(parse(pdf(ruled(rules, table_of(100, cells))), "a.pdf", settings=FAST)) == [cells]


def test_marks_that_hang_over_the_end_of_the_rules_make_no_column(parse: Parse) -> None:
    cells = [*FRUIT, *FRUIT[1:], ["Total", "8.4", "20.40"]]
    rules: list[Rule] = [(y, 60, 400) for y in (100, 120, 180, 240, 260)]
    texts = table_of(100, cells)
    marks: list[Text] = [(56, y, "*") for x, y, _ in texts if x == 65]
    assert table_rows(parse(pdf(ruled(rules, [*marks, *texts])), "a.pdf", settings=FAST)) == [cells]


def test_lines_that_stand_closer_than_rows_are_of_one_cell(parse: Parse) -> None:
    """In the first column and in another."""
    rules: list[Rule] = [(100, 60, 400), (120, 60, 400), (240, 60, 400)]
    texts = table_of(100, FRUIT, step=36)[:3]
    for row, (name, weight, price) in enumerate(FRUIT[1:]):
        y = 134.0 + 36 * row
        texts += [
            (65, y, name),
            (65, y + 11, "of the region"),
            (205, y, weight),
            (205, y + 11, "or so"),
            (305, y, price),
        ]
        texts += [(65, y + 22, "last year")]
    document = parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST)
    assert table_rows(document) == [
        [
            FRUIT[0],
            *([f"{name}\nof the region\nlast year", f"{weight}\nor so", price] for name, weight, price in FRUIT[1:]),
        ]
    ]


def test_rules_of_some_columns_part_the_rows_beside_a_merged_cell(parse: Parse) -> None:
    edges = (60, 200, 300, 400)
    whole: list[Rule] = [(y, left, right) for y in (100, 120, 160, 200) for left, right in pairwise(edges)]
    some: list[Rule] = [(y, left, right) for y in (140, 180) for left, right in pairwise(edges[1:])]
    texts = table_of(100, [["Region", "Item", "Price"], *([["", *row[::2]] for row in (*FRUIT[1:], FRUIT[1])])])
    document = parse(
        pdf(ruled([*whole, *some], [*texts, (65, 144, "North"), (65, 184, "South")])), "a.pdf", settings=FAST
    )
    assert [row[0] for row in table_rows(document)[0]] == ["Region", "North", "North", "South", "South"]
    assert [row[1] for row in table_rows(document)[0]] == ["Item", "Apples", "Pears", "Plums", "Apples"]


@pytest.mark.parametrize("pieces", [((160, 410),), ((160, 285), (285, 410))], ids=["one rule", "two pieces"])
def test_a_rule_below_two_spans_is_two(parse: Parse, pieces: tuple[tuple[float, float], ...]) -> None:
    rules: list[Rule] = [(y, 60, 410) for y in (100, 140, 200)] + [(120.0, *ends) for ends in pieces]
    texts = table_of(
        120,
        [["Item", *("2001", "2002") * 2], ["Corn", "1", "2", "3", "4"], ["Rye", "5", "6", "7", "8"], ["Oats", *"9012"]],
        columns=(65, 165, 225, 290, 350),
    )
    (table,) = of_kind(
        parse(pdf(ruled(rules, [(165, 114, "North"), (290, 114, "South"), *texts])), "a.pdf", settings=FAST),
        ElementKind.TABLE,
    )
    assert table.table is not None
    assert table.table.rows[:2] == [["Item", "North", "North", "South", "South"], ["Item", *("2001", "2002") * 2]]
    assert table.table.header_rows == 2


def test_an_algorithm_with_numbered_lines_is_no_table(parse: Parse) -> None:
    steps = ["Input: a graph", "colour it", "take the next", "return all"]
    cells = [["", "", ""], *([f"{number}:", step, "// why"] for number, step in enumerate(steps, 1))]
    rules: list[Rule] = [(y, 60, 400) for y in (100, 120, 200)]
    title: Text = (65, 114, "Algorithm 1 Greedy colouring")
    texts = [title, *table_of(100, cells, columns=(65, 95, 305))]
    assert table_rows(parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST)) == []


@pytest.mark.parametrize("count", [2, 3])
def test_short_columns_of_prose_between_rules_are_no_table(parse: Parse, count: int) -> None:
    texts: list[Text] = []
    width = 480 / count
    for row in range(20):
        y = 114.0 + 12 * row + 6 * (row // 4)
        texts += [(60 + width * column, y, f"{row}.{column} some words of a text") for column in range(count)]
    rules: list[Rule] = [(100 + 54.0 * part, 60, 540) for part in range(6)]
    document = parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST)
    assert table_rows(document) == []


def test_an_abstract_beside_keywords_is_no_table(parse: Parse) -> None:
    """As journals print it; the keywords would name the lines of the abstract."""
    texts: list[Text] = [(65, 114, "Article info"), (205, 114, "Abstract")]
    texts += [(65, 134 + 12.0 * row, word) for row, word in enumerate(("Keywords", "grapes", "wine", "soil", "rain"))]
    texts += [(205, 134 + 12.0 * row, PROSE) for row in range(8)]
    rules: list[Rule] = [(y, 60, 400) for y in (100, 120, 230)]
    assert table_rows(parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST)) == []


def test_numbered_equations_between_rules_are_no_table(parse: Parse) -> None:
    texts = table_of(100, [[f"a = b + {number}", f"({number})"] for number in range(1, 6)], columns=(120, 305))
    rules: list[Rule] = [(100 + 20.0 * row, 60, 400) for row in range(6)]
    assert table_rows(parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST)) == []


def test_most_rows_may_go_on_with_the_name_above(parse: Parse) -> None:
    cells = [["Region", "Item", "Price"], ["North", "Corn", "1.0"], *(["", item, "2.0"] for item in ("Rye", "Oats"))]
    cells += [["South", "Corn", "3.0"], *(["", item, "4.0"] for item in ("Rye", "Oats"))]
    rules: list[Rule] = [(y, 60, 400) for y in (100, 120, 240)]
    assert table_rows(parse(pdf(ruled(rules, table_of(100, cells))), "a.pdf", settings=FAST)) == [cells]


def test_a_form_and_the_lines_of_a_play_are_no_tables(parse: Parse) -> None:
    form = [["Name:", "First name:"], ["Street:", "Number:"], ["Town:", "Postcode:"], ["Telephone:", "E-mail:"]]
    play = [["Anna", "Come in."], ["Bob", "I am in."], ["Anna", "So I see."], ["Bob", "Then look."]] * 2
    texts = [*table_of(100, form, columns=(65, 205)), *table_of(300, play, columns=(65, 205))]
    rules: list[Rule] = [
        *((100 + 20.0 * row, 60, 400) for row in range(5)),
        *((y, 60, 410) for y in (300, 340, 380, 420, 460)),
    ]
    assert table_rows(parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST)) == []


@pytest.mark.parametrize("turn", [90, 270])
def test_a_lined_table_may_lie_on_its_side(parse: Parse, turn: int) -> None:
    rules, texts = three_lines(100)

    def draw(page: pymupdf.Page, _: int) -> None:
        with pymupdf.open(stream=pdf(ruled(rules, texts))) as upright:
            page.show_pdf_page(page.rect, upright, 0, rotate=turn)

    assert table_rows(parse(pdf(draw), "a.pdf", settings=FAST)) == [ROWS]


PEOPLE = [
    ["Name", "Work", "Town"],
    ["Anna Berg", "fishing", "Skagen"],
    ["Bo Lund", "mending of nets", "Hirtshals"],
    ["Carl Holm", "building boats", "Thyboron"],
    ["Dora Vig", "keeping the light", "Hanstholm"],
]


def on_bands(texts: list[Text], bands: list[int], *, edges: tuple[float, ...] = (60, 400)) -> Draw:
    """Rows of 20 points from 100 on, with colour behind those of some numbers."""

    def draw(page: pymupdf.Page, number: int) -> None:
        for row in bands:
            for left, right in pairwise(edges):
                page.draw_rect((left, 100 + 20 * row, right, 120 + 20 * row), color=None, fill=(0.9, 0.9, 0.9))
        ruled([], texts)(page, number)

    return draw


@pytest.mark.parametrize("bands", [[0, 2, 4], [1, 3]], ids=["with the head", "without it"])
@pytest.mark.parametrize("edges", [(60, 400), (60, 200, 300, 400)], ids=["whole", "cell by cell"])
def test_colour_behind_every_second_row_tells_rows(parse: Parse, bands: list[int], edges: tuple[float, ...]) -> None:
    """The last row, with colour or without; prose that follows is none."""
    prose: Text = (60, 214, "What follows below the table goes on over all of its columns.")
    document = parse(pdf(on_bands([*table_of(100, PEOPLE), prose], bands, edges=edges)), "a.pdf", settings=FAST)
    assert table_rows(document) == [PEOPLE]
    assert prose[2] in document.text


@pytest.mark.parametrize("count", [1, 2])
def test_colour_behind_prose_or_a_listing_makes_no_table(parse: Parse, count: int) -> None:
    """Notes in boxes, with prose in one or two columns; and each line of a listing with its number."""
    notes: list[Text] = [
        (62 + 170.0 * column, 108 + 10.0 * line, f"note {line} of boats and their nets"[: 60 // count])
        for column in range(count)
        for line in range(10)
    ]
    listing: list[Text] = [
        text
        for line in range(5)
        for text in (
            (62.0, 114 + 20.0 * line, str(line)),
            (90.0, 114 + 20.0 * line, "while boats.remain(): sail()"),
        )
    ]
    document = parse(pdf(on_bands(notes, [0, 2, 4]), on_bands(listing, [0, 1, 2, 3, 4])), "a.pdf", settings=FAST)
    assert table_rows(document) == []


def test_colour_behind_some_cells_only_makes_no_table(parse: Parse) -> None:
    beside: list[Text] = [(440, 114 + 20.0 * row, f"goes on {row}") for row in range(5)]
    document = parse(pdf(on_bands([*table_of(100, PEOPLE), *beside], [0, 2, 4])), "a.pdf", settings=FAST)
    assert table_rows(document) == []
