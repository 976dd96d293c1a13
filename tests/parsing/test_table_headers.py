"""Names of columns: in one row or in several, merged or only drawn as if, and the titles and units around them."""

from io import BytesIO

import pytest
from openpyxl import Workbook

from app.parsing.document import ElementKind, ParsedDocument
from app.parsing.table_headers import read_headers, stacked_header_rows
from tests.parsing.conftest import Parse, of_kind, outline

Cells = list[list[str | float | None]]


def sheet(rows: Cells, *merged: str) -> bytes:
    workbook = Workbook()
    for row in rows:
        workbook.worksheets[0].append(row)
    for area in merged:
        workbook.worksheets[0].merge_cells(area)
    out = BytesIO()
    workbook.save(out)
    return out.getvalue()


def tables(document: ParsedDocument) -> list[tuple[int, list[list[str]]]]:
    return [(element.table.header_rows, element.table.rows) for element in document.elements if element.table]


def test_a_name_at_the_end_of_its_columns_is_that_of_all_of_them(parse: Parse) -> None:
    """As in reports of companies: a year right above the last column of its group, a gap between the groups."""
    rows: Cells = [
        ["In millions of CHF", None, "2023", None, None, "2022"],
        [None, "Sales", "Profit", None, "Sales", "Profit"],
        [],
        ["North", 5, 1, None, "—", -3],
        ["South", 7, 2, None, "—", "—"],
    ]
    assert tables(parse(sheet(rows), "a.xlsx")) == [
        (
            2,
            [
                ["In millions of CHF", "2023", "2023", "2022", "2022"],
                ["", "Sales", "Profit", "Sales", "Profit"],
                ["North", "5", "1", "—", "-3"],
                ["South", "7", "2", "—", "—"],
            ],
        )
    ]


def test_a_name_alone_in_its_row_is_that_of_every_column(parse: Parse) -> None:
    rows: Cells = [
        ["千元", None, None, "January–June"],
        [None, "Sales", "Costs", "Profit"],
        ["North", 5, 1, 4],
    ]
    ((header, found),) = tables(parse(sheet(rows), "a.xlsx"))
    assert (header, found[0]) == (2, ["千元", *["January–June"] * 3])


def test_merged_names_of_three_rows_fill_their_columns(parse: Parse) -> None:
    rows: Cells = [
        ["Region", "2024", None, None, None],
        [None, "H1", None, "H2", None],
        [None, "Plan", "Actual", "Plan", "Actual"],
        ["North", 1, 2, 3, 4],
    ]
    ((header, found),) = tables(parse(sheet(rows, "A1:A3", "B1:E1", "B2:C2", "D2:E2"), "a.xlsx"))
    assert header == 3
    assert found[:3] == [
        ["Region", *["2024"] * 4],
        ["Region", "H1", "H1", "H2", "H2"],
        ["Region", "Plan", "Actual", "Plan", "Actual"],
    ]


def test_titles_over_the_table_are_its_caption_and_notes_below_are_text(parse: Parse) -> None:
    rows: Cells = [
        ["3.1 Segments", None, None],
        ["Revenue and results"],
        [],
        ["In millions", "2023", "2022"],
        ["North", 5, 6],
        ["South", 7, 8],
        [],
        ["(a) without sales to each other", None, None],
        ["(b) before tax", None, None],
        ["(c) estimated", None, None],
        ["(d) restated", None, None],
    ]
    notes = [f"A{row}:C{row}" for row in (8, 9, 10, 11)]
    document = parse(sheet(rows, "A1:C1", *notes), "a.xlsx")
    assert [kind for kind, _, _ in outline(document)] == ["heading", "caption", "table", *["paragraph"] * 4]
    assert of_kind(document, ElementKind.CAPTION)[0].text == "3.1 Segments\nRevenue and results"
    assert tables(document)[0][0] == 1


def test_two_rows_of_names_in_delimited_text(parse: Parse) -> None:
    ((header, found),) = tables(parse(",2023,,2022,\n,Sales,Profit,Sales,Profit\nNorth,5,1,4,2\n", "a.csv"))
    assert (header, found[0]) == (2, ["", "2023", "2023", "2022", "2022"])


@pytest.mark.parametrize(
    "rows",
    [
        [["name", "city"], ["Li", "上海"], ["Ann", "Oslo"]],
        [["", "A Corp", "B Corp"], ["Founded", "1998", "2001"], ["Staff", "50", "70"]],
        [["", "2023", "2022"], ["Assets", "", ""], ["Cash", "5", "6"]],
        [["", "Q1", "Q2"], ["Note", "n/a", "n/a"], ["Cash", "5", "6"]],
        [["Item", "Price"], ["Nut", "—"], ["Bolt", "2"]],
    ],
    ids=["words", "years as figures", "a section", "no figures yet", "a dash"],
)
def test_rows_of_the_table_are_no_names(rows: list[list[str]]) -> None:
    before = [list(row) for row in rows]
    assert stacked_header_rows(rows) == 1
    assert read_headers(rows) == 1
    assert rows == before
