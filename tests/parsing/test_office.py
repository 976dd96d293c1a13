"""Word documents and workbooks."""

import datetime
import io

import pytest
from docx import Document
from msoffcrypto.format.ooxml import OOXMLFile
from openpyxl import Workbook

from app.core.errors import ParseFailed
from app.parsing.document import ElementKind, Table
from tests.parsing.conftest import Parse, of_kind, outline
from tests.parsing.office_files import docx, paragraph

HEADING = (
    '<w:style w:type="paragraph" w:styleId="1"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="own"><w:name w:val="Own"/><w:basedOn w:val="1"/></w:style>'
)


def only_table(document_parse: Parse, content: bytes, name: str) -> Table:
    table = of_kind(document_parse(content, name), ElementKind.TABLE)[0].table
    assert table is not None
    return table


def test_word_styles_make_headings_and_lists(parse: Parse) -> None:
    numbered = '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="3"/></w:numPr>'
    body = (
        paragraph("By style", '<w:pStyle w:val="own"/>')
        + paragraph("By outline", '<w:outlineLvl w:val="2"/>')
        + paragraph("Item", numbered)
        + paragraph("Text")
    )
    assert outline(parse(docx(body, styles=HEADING), "a.docx")) == [
        ("heading", 2, "By style"),
        ("heading", 3, "By outline"),
        ("list_item", 2, "Item"),
        ("paragraph", 0, "Text"),
    ]


def test_word_reads_as_if_changes_were_accepted(parse: Parse) -> None:
    body = (
        "<w:p><w:r><w:t>The </w:t></w:r><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:r><w:rPr><w:vanish/></w:rPr><w:t> hidden</w:t></w:r>"
        "<w:r><w:instrText>PAGE</w:instrText><w:tab/><w:t>text</w:t></w:r></w:p>"
    )
    assert parse(docx(body), "a.docx").text == "The new text"


def test_word_notes_and_boxes_follow_their_paragraph(parse: Parse) -> None:
    body = (
        '<w:p><w:r><w:t>Fact</w:t><w:footnoteReference w:id="2"/></w:r>'
        f"<w:r><w:pict><w:txbxContent>{paragraph('In a box')}</w:txbxContent></w:pict></w:r></w:p>"
        f"<w:sdt><w:sdtContent>{paragraph('Control')}</w:sdtContent></w:sdt>"
    )
    notes = (
        f'<w:footnote w:type="separator" w:id="0">{paragraph("-")}</w:footnote>'
        f'<w:footnote w:id="2">{paragraph("Source")}</w:footnote>'
    )
    assert outline(parse(docx(body, footnotes=notes), "a.docx")) == [
        ("paragraph", 0, "Fact"),
        ("footnote", 0, "Source"),
        ("paragraph", 0, "In a box"),
        ("paragraph", 0, "Control"),
    ]


def test_word_tables_are_filled(parse: Parse) -> None:
    def cell(text: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"

    nested = f"<w:tc><w:tbl><w:tr>{cell('x')}{cell('y')}</w:tr></w:tbl><w:p/></w:tc>"
    header = "<w:trPr><w:tblHeader/></w:trPr>"
    top = cell("Region", '<w:vMerge w:val="restart"/>') + cell("2024", '<w:gridSpan w:val="2"/>')
    below = cell("", "<w:vMerge/>") + cell("H1") + cell("H2")
    body = (
        f"<w:tbl><w:tr>{header}{top}</w:tr><w:tr>{header}{below}</w:tr>"
        f"<w:tr>{cell('North')}{cell('1')}{nested}</w:tr>"
        f"<w:tr><w:trPr><w:del/></w:trPr>{cell('gone')}</w:tr></w:tbl>"
    )
    table = only_table(parse, docx(body), "a.docx")
    assert table.rows == [["Region", "2024", "2024"], ["Region", "H1", "H2"], ["North", "1", "x | y"]]
    assert table.header_rows == 2


def test_one_broken_part_does_not_take_the_text(parse: Parse) -> None:
    document = parse(docx(paragraph("Text"), extra={"word/styles.xml": "<broken"}), "a.docx")
    assert document.text == "Text"


def test_an_encrypted_office_file_asks_for_its_password(parse: Parse) -> None:
    plain_file, locked = io.BytesIO(), io.BytesIO()
    document = Document()
    document.add_paragraph("Secret")
    document.save(plain_file)
    OOXMLFile(plain_file).encrypt("geheim", locked)
    for password in (None, "wrong"):
        with pytest.raises(ParseFailed) as failed:
            parse(locked.getvalue(), "a.docx", password=password)
        assert failed.value.error_code == "encrypted"
    assert parse(locked.getvalue(), "a.docx", password="geheim").text == "Secret"


def saved(workbook: Workbook) -> bytes:
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def test_sheets_are_pages_and_gaps_part_tables(parse: Parse) -> None:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    sheet.title = "库存"
    sheet["A1"] = "Stock list"
    cells: tuple[tuple[int, list[str | float]], ...] = ((3, ["Name", "Amount"]), (4, ["螺丝", 20]), (5, ["Nut", 2.50]))
    for row, values in cells:
        for column, value in enumerate(values, start=1):
            sheet.cell(row, column, value)
            sheet.cell(row, column + 5, value)
    second = workbook.create_sheet("Dates")
    second.append(["Day", "Open"])
    second.append([datetime.date(2026, 5, 1), True])
    document = parse(saved(workbook), "a.xlsx")
    assert document.page_count == 2
    assert [(element.kind.value, element.page) for element in document.elements] == [
        ("heading", 1),
        ("caption", 1),
        ("table", 1),
        ("table", 1),
        ("heading", 2),
        ("table", 2),
    ]
    table = document.elements[2].table
    assert table is not None
    assert (table.rows, table.first_row, table.sheet) == (
        [["Name", "Amount"], ["螺丝", "20"], ["Nut", "2.5"]],
        3,
        "库存",
    )
    assert "| 2026-05-01 | TRUE |" in document.elements[5].text


def test_merged_cells_are_filled_and_spacer_columns_do_not_part_a_statement(parse: Parse) -> None:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    sheet["A1"], sheet["B1"] = "Item", "2024"
    sheet.merge_cells("B1:C1")
    sheet["A2"], sheet["B2"], sheet["C2"], sheet["E2"] = "", "H1", "H2", "Total"
    for column, value in (("A", "Sales"), ("B", 1), ("C", 2), ("E", 3)):
        sheet[f"{column}3"] = value
    table = only_table(parse, saved(workbook), "a.xlsx")
    assert table.rows == [["Item", "2024", "2024", ""], ["", "H1", "H2", "Total"], ["Sales", "1", "2", "3"]]
    assert table.header_rows == 2


def test_a_far_cell_is_refused_before_it_is_laid_out(parse: Parse) -> None:
    workbook = Workbook()
    workbook.worksheets[0]["A1"] = 1
    workbook.worksheets[0]["XFD1048576"] = 2
    with pytest.raises(ParseFailed) as failed:
        parse(saved(workbook), "a.xlsx")
    assert failed.value.error_code == "too_complex"
