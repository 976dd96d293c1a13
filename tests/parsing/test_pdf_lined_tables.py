"""Tables of PDFs with rules between rows only, and what has such rules and is no table."""

from itertools import pairwise

from app.parsing.document import ElementKind, ParsedDocument
from app.parsing.parsers.pdf_engine import pymupdf
from app.parsing.settings import ParsingSettings
from tests.parsing.conftest import Parse, of_kind
from tests.parsing.drawing import CHINESE, Draw, pdf

FAST = ParsingSettings(pdf="fast")
PROSE = "some words that fill a line of a column well"
Rule = tuple[float, float, float]
"""Its height, left and right end."""
Text = tuple[float, float, str]
"""Left, baseline, text."""


def ruled(rules: list[Rule], texts: list[Text], *, font: str = "helv") -> Draw:
    def draw(page: pymupdf.Page, _: int) -> None:
        for y, left, right in rules:
            page.draw_line((left, y), (right, y))
        for x, y, text in texts:
            page.insert_text((x, y), text, fontsize=9, fontname=font)

    return draw


def rows(document: ParsedDocument) -> list[list[list[str]]]:
    return [element.table.rows for element in of_kind(document, ElementKind.TABLE) if element.table is not None]


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
    assert rows(document) == [ROWS, ROWS]


def test_where_each_row_is_ruled_a_band_is_a_row(parse: Parse) -> None:
    """Two columns, and cells of several lines."""
    texts: list[Text] = [(65, 112, "业务"), (165, 112, "说明")]
    for number in range(3):
        y = 132 + 30 * number
        texts += [(65, y, f"第{number}项"), (165, y, "第一行的内容"), (165, y + 12, "第二行")]
    rules: list[Rule] = [(y, 60, 300) for y in (100, 120, 150, 180, 210)]
    document = parse(pdf(ruled(rules, texts, font=CHINESE)), "a.pdf", settings=FAST)
    assert rows(document) == [
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
    (table,) = rows(parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST))
    assert [row[0] for row in table] == ["Kind", "Input", "Output"]
    assert table[1][1:] == ["a long name that needs its column\na long name that needs its column", "a / b\na / b"]


def test_prose_in_columns_between_rules_is_no_table(parse: Parse) -> None:
    lines: list[Text] = []
    for row in range(20):
        y = 120 + 12 * row + (40 if row >= 10 else 0)
        lines += [(60, y, f"left {row} {PROSE}"), (310, y, f"right {row} {PROSE}")]
    rules: list[Rule] = [(100, 60, 535), (255, 60, 535), (410, 60, 535)]
    document = parse(pdf(ruled(rules, lines)), "a.pdf", settings=FAST)
    assert rows(document) == []
    assert document.text.index("left 9") < document.text.index("right 0")


def test_rules_of_sums_make_no_table(parse: Parse) -> None:
    """Each column of amounts has its own rules; the names stand beside them."""
    texts: list[Text] = []
    for row, name in enumerate(("Cash", "Debts", "Sum", "Rent", "Total")):
        y = 114.0 + 20 * row
        texts += [(60, y, name), (300, y, "$"), (350, y, f"{row},100"), (420, y, "$"), (470, y, f"{row},200")]
    rules: list[Rule] = [(y, left, left + 80) for y in (140, 160, 200) for left in (300, 420)]
    document = parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST)
    assert rows(document) == []
    assert "Cash $ 0,100 $ 0,200" in document.text


def test_lines_of_a_plot_make_no_table(parse: Parse) -> None:
    rules: list[Rule] = [(100 + 40.0 * line, 60, 400) for line in range(6)]
    texts: list[Text] = [(62, 118 + 40.0 * line, str(10 * line)) for line in range(5)]
    texts += [(120 + 60.0 * mark, 290, str(mark)) for mark in range(5)]
    assert rows(parse(pdf(ruled(rules, texts)), "a.pdf", settings=FAST)) == []


def test_raised_type_stays_in_its_line(parse: Parse) -> None:
    def draw(page: pymupdf.Page, number: int) -> None:
        ruled([(100, 60, 300), (120, 60, 300), (160, 60, 300)], [(65, 114, "Case"), (205, 114, "Dose")])(page, number)
        for row in range(2):
            page.insert_text((65, 134 + 20 * row), f"No {row}", fontsize=9)
            page.insert_text((205, 134 + 20 * row), "1.5 x 10", fontsize=9)
            page.insert_text((205 + pymupdf.get_text_length("1.5 x 10", fontsize=9), 130 + 20 * row), "6", fontsize=5)

    assert rows(parse(pdf(draw), "a.pdf", settings=FAST)) == [
        [["Case", "Dose"], ["No 0", "1.5 x 106"], ["No 1", "1.5 x 106"]]
    ]
