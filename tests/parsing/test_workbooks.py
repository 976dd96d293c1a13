"""Workbooks other than XLSX: XLS, XLSB, ODS."""

import pytest

from app.core.errors import ParseFailed
from app.parsing.document import Table
from app.parsing.limits import ParseLimits
from tests.parsing.conftest import Parse
from tests.parsing.office_files import archive
from tests.parsing.open_document_files import cell, open_document, row, table
from tests.parsing.workbook_files import xls, xlsb

BROKEN_XLSB = archive({"[Content_Types].xml": "<Types/>", "xl/workbook.bin": b"\xff" * 50})
EMPTY = "<table:table-cell/>"


def read(parse: Parse, content: bytes, name: str) -> Table:
    """The one table of a workbook with one sheet, which is page 1 and heads it."""
    heading, element = parse(content, name).elements
    assert (heading.kind.value, heading.page, element.page) == ("heading", 1, 1)
    assert element.table is not None
    assert element.table.sheet == heading.text
    return element.table


def test_old_workbooks(parse: Parse) -> None:
    found = read(parse, xls([["名称", "", ""], ["螺丝", "x", 2.5], ["Nut", "y", 20]], merged=(0, 0, 0, 2)), "a.doc")
    assert found.rows == [["名称", "名称", "名称"], ["螺丝", "x", "2.5"], ["Nut", "y", "20"]]


def test_binary_workbooks(parse: Parse) -> None:
    cells = [(2, 1, "名称"), (2, 2, "Amount"), (3, 1, "螺丝"), (3, 2, "x" * 300)]
    found = read(parse, xlsb(cells), "a.xlsx")
    assert found.rows == [["名称", "Amount"], ["螺丝", "x" * 300]]
    assert found.first_row == 3


def test_open_document_spreadsheets(parse: Parse) -> None:
    sheet = table(
        row(EMPTY, attributes='table:number-rows-repeated="2"'),
        row(cell("名称"), cell("Amount")),
        row(cell("螺丝"), '<table:table-cell office:value-type="float" office:value="2.5"/>'),
        row(
            '<table:table-cell table:number-columns-repeated="16384"/>',
            attributes='table:number-rows-repeated="1048572"',
        ),
        name="库存",
    )
    found = read(parse, open_document("spreadsheet", sheet), "a.ods")
    assert (found.rows, found.sheet, found.first_row) == ([["名称", "Amount"], ["螺丝", "2.5"]], "库存", 3)


def test_open_document_spreadsheets_show_percent(parse: Parse) -> None:
    percent = '<table:table-cell table:number-columns-repeated="2" office:value-type="percentage" office:value="0.07"/>'
    sheet = table(
        row(cell("Item"), cell("H1"), cell("H2"), cell("Amount")),
        row(cell("Nut"), percent, '<table:table-cell office:value-type="float" office:value="0.07"/>'),
    )
    assert read(parse, open_document("spreadsheet", sheet), "a.ods").rows[1] == ["Nut", "7%", "7%", "0.07"]


def test_open_document_spreadsheets_fill_merged_cells(parse: Parse) -> None:
    covered = "<table:covered-table-cell/>"
    sheet = table(
        row(cell("Region", 'table:number-rows-spanned="2"'), cell("2024", 'table:number-columns-spanned="2"'), covered),
        row(covered, cell("H1"), cell("H2")),
        row(cell("North"), cell("1"), cell("2")),
    )
    found = read(parse, open_document("spreadsheet", sheet), "a.ods")
    assert found.rows == [["Region", "2024", "2024"], ["Region", "H1", "H2"], ["North", "1", "2"]]
    assert found.header_rows == 2


@pytest.mark.parametrize(
    "content",
    [
        xlsb([(0, 0, "a"), (1_048_575, 16_383, "b")]),
        open_document(
            "spreadsheet",
            table(
                row(
                    cell("x", 'table:number-columns-repeated="16384"'),
                    attributes='table:number-rows-repeated="1048576"',
                )
            ),
        ),
        open_document(
            "spreadsheet",
            table(
                row(EMPTY, attributes='table:number-rows-repeated="1048575"'),
                row('<table:table-cell table:number-columns-repeated="16383"/>', cell("x")),
            ),
        ),
    ],
    ids=["xlsb", "repeated cells", "a far cell"],
)
def test_far_cells_are_refused_before_they_are_laid_out(parse: Parse, content: bytes) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(content, "a")
    assert failed.value.error_code == "too_complex"


def test_merged_cells_may_claim_any_size(parse: Parse) -> None:
    spans = f'table:number-rows-spanned="{10**11}" table:number-columns-spanned="{10**11}"'
    found = read(parse, open_document("spreadsheet", table(row(cell("a", spans), cell("b")), row(cell("c")))), "a.ods")
    assert found.rows == [["a", "b"], ["c", "a"]]


def test_filled_cells_are_counted(parse: Parse) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(xls([["a", "b"], ["c", "d"]]), "a.xls", limits=ParseLimits(cells=3))
    assert failed.value.error_code == "too_complex"


@pytest.mark.parametrize(
    "content",
    [
        xls([["a"]])[:1500],
        BROKEN_XLSB,
        open_document("spreadsheet", "<broken"),
    ],
    ids=["xls", "xlsb", "ods"],
)
def test_damaged_workbooks_say_so(parse: Parse, content: bytes) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(content, "a")
    assert failed.value.error_code == "damaged"


@pytest.mark.parametrize("password", [None, "wrong"])
def test_a_protected_workbook_asks_for_its_password(parse: Parse, password: str | None) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(xls([["a", "b"]], protected=True), "a.xls", password=password)
    assert failed.value.error_code == "encrypted"
