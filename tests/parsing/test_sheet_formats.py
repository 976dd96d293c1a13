"""What a sheet shows and its cells do not hold: percent, durations, text boxes, comments."""

import datetime
import io
import zipfile

import pytest
from openpyxl import Workbook
from openpyxl.comments import Comment

from tests.parsing.bombs import xlsx
from tests.parsing.conftest import Parse, outline
from tests.parsing.office_files import archive

_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"


def saved(workbook: Workbook) -> bytes:
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


@pytest.mark.parametrize("number_format", ["0%", "0.00%", "[Red]-0.0 %;0.0%"])
def test_percent_is_shown_as_percent(parse: Parse, number_format: str) -> None:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    for values in (["", "Item", "Share", "Factor"], ["", "A", 0.155, 0.155], ["", "B", 1, 1], ["", "C", "n/a", True]):
        sheet.append(values)
    for place in ("C2", "C3", "C4"):
        sheet[place].number_format = number_format
    sheet["D2"].number_format = '0.0" %"'
    sheet["D4"].number_format = number_format
    table = parse(saved(workbook), "a.xlsx").elements[1].table
    assert table is not None
    assert table.rows[1:] == [["A", "15.5%", "0.155"], ["B", "100%", "1"], ["C", "n/a", "TRUE"]]


def test_percent_of_sheets_that_begin_further_down_and_of_many_rows(parse: Parse) -> None:
    workbook = Workbook()
    workbook.create_sheet("second")
    for sheet in workbook.worksheets:
        for row in range(5, 3000):
            for column in ("C", "D"):
                sheet[f"{column}{row}"] = row / 100
        sheet["D2999"].number_format = "0%"
    workbook.worksheets[1]["C5"].number_format = "0%"
    one, two = (element.table for element in parse(saved(workbook), "a.xlsx").elements if element.table)
    assert one.rows[0] == ["0.05", "0.05"]
    assert two.rows[0] == ["5%", "0.05"]
    assert one.rows[-1] == two.rows[-1] == ["29.99", "2999%"]


@pytest.mark.parametrize("formula", ["=B1*2", None])
def test_formulas_without_a_result_are_told(parse: Parse, formula: str | None) -> None:
    workbook = Workbook()
    for values in (["a", "b"], [1, formula or 2]):
        workbook.worksheets[0].append(values)
    said = " ".join(parse(saved(workbook), "a.xlsx").warnings)
    assert ("never calculated" in said) is (formula is not None)


def test_a_formula_may_have_an_empty_text_as_its_result(parse: Parse) -> None:
    row = '<row r="1"><c r="A1" t="str"><f>IF(1=2,"x","")</f><v></v></c><c r="B1"><f>1+1</f><v>2</v></c></row>'
    assert parse(xlsx(row), "a.xlsx").warnings == []


def test_durations_are_hours_minutes_and_seconds(parse: Parse) -> None:
    workbook = Workbook()
    for values in (["Task", "Took"], ["a", datetime.timedelta(hours=30, minutes=5)]):
        workbook.worksheets[0].append(values)
    table = parse(saved(workbook), "a.xlsx").elements[1].table
    assert table is not None
    assert table.rows[1] == ["a", "30:05:00"]


def test_text_boxes_follow_the_cells_and_comments_are_told(parse: Parse) -> None:
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    for values in (["a", "b"], [1, 2]):
        sheet.append(values)
    sheet["A1"].comment = Comment("a remark", "Li")
    with zipfile.ZipFile(io.BytesIO(saved(workbook))) as file:
        members: dict[str, bytes | str] = {name: file.read(name) for name in file.namelist()}
        relations = "xl/worksheets/_rels/sheet1.xml.rels"
        related = file.read(relations).decode()
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/drawing"
    added = f'<Relationship Id="rD" Type="{kind}" Target="../drawings/drawing9.xml"/></Relationships>'
    members[relations] = related.replace("</Relationships>", added)
    drawing, words = (
        f"http://schemas.openxmlformats.org/drawingml/2006/{name}" for name in ("spreadsheetDrawing", "main")
    )
    box = "<a:p><a:r><a:t>Valid from May</a:t></a:r></a:p>"
    shape = f"<d:twoCellAnchor><d:sp><d:txBody>{box}</d:txBody></d:sp></d:twoCellAnchor>"
    shape = f"<m:AlternateContent><m:Choice>{shape}</m:Choice><m:Fallback>{shape}</m:Fallback></m:AlternateContent>"
    members["xl/drawings/drawing9.xml"] = f'<d:wsDr xmlns:d="{drawing}" xmlns:a="{words}" xmlns:m="m">{shape}</d:wsDr>'
    document = parse(archive(members), "a.xlsx")
    assert outline(document) == [
        ("heading", 1, "Sheet"),
        ("table", 0, "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("paragraph", 0, "Valid from May"),
    ]
    assert (document.elements[-1].page, document.warnings) == (1, ["Comments were left out."])
