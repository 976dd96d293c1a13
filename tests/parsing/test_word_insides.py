"""What stands in Word files and is no plain text: formulas, charts, diagrams, symbols, whole files of other formats."""

import pytest

from tests.parsing.conftest import Parse, outline
from tests.parsing.office_files import docx
from tests.parsing.test_word_depth import run

_KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
TITLE = "标题"
_R = f'xmlns:r="{_KINDS}"'


def relation(kind: str, target: str) -> dict[str, bytes | str]:
    item = f'<Relationship Id="rX" Type="{_KINDS}/{kind}" Target="{target}"/>'
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return {"word/_rels/document.xml.rels": f'<Relationships xmlns="{space}">{item}</Relationships>'}


def letters(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (f"<m:f><m:num>{letters('a+b')}</m:num><m:den>{letters('2')}</m:den></m:f>", "(a+b)/2"),
        (f"<m:sSup><m:e>{letters('x')}</m:e><m:sup>{letters('2')}</m:sup></m:sSup>", "x^2"),
        (
            f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{letters("i=1")}</m:sub><m:sup>{letters("n")}'
            f"</m:sup><m:e><m:sSub><m:e>{letters('x')}</m:e><m:sub>{letters('i')}</m:sub></m:sSub></m:e></m:nary>",
            "∑_(i=1)^n x_i",
        ),
        (f"<m:rad><m:deg/><m:e>{letters('y')}</m:e></m:rad><m:d><m:e>{letters('z')}</m:e></m:d>", "√y(z)"),
        (
            f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr><m:e><m:m><m:mr><m:e>{letters("1")}</m:e>'
            f"<m:e>{letters('2')}</m:e></m:mr><m:mr><m:e>{letters('3')}</m:e></m:mr></m:m></m:e></m:d>",
            "[1 2; 3]",
        ),
    ],
    ids=["fraction", "power", "sum", "root and brackets", "matrix"],
)
def test_formulas_are_kept(parse: Parse, formula: str, text: str) -> None:
    math = f"<m:oMath {_M}>{formula}</m:oMath>"
    body = f"<w:p>{run('where ')}{math}</w:p><w:p><m:oMathPara {_M}>{math}</m:oMathPara></w:p>"
    assert outline(parse(docx(body), "a.docx")) == [("paragraph", 0, f"where {text}"), ("formula", 0, text)]


def drawing(reference: str) -> str:
    return (
        '<w:r><w:drawing><a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData>'
        f"{reference}</a:graphicData></a:graphic></w:drawing></w:r>"
    )


def test_charts_give_their_figures(parse: Parse) -> None:
    space = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
    series = (
        '<c:ser><c:tx><c:v>Sales</c:v></c:tx><c:cat><c:strLit><c:pt idx="0"><c:v>Q1</c:v></c:pt></c:strLit></c:cat>'
        '<c:val><c:numLit><c:pt idx="0"><c:v>5</c:v></c:pt></c:numLit></c:val></c:ser>'
    )
    plot = f"<c:chart><c:plotArea><c:barChart>{series}</c:barChart></c:plotArea></c:chart>"
    chart = f"<c:chartSpace {space}>{plot}</c:chartSpace>"
    reference = f'<c:chart {space} {_R} r:id="rX"/>'
    body = f"<w:p>{run('See:')}{drawing(reference)}</w:p><w:p>{run('after')}</w:p>"
    document = parse(docx(body, extra={**relation("chart", "chart1.xml"), "word/chart1.xml": chart}), "a.docx")
    assert [element.text for element in document.elements] == [
        "See:",
        "|  | Sales |\n| --- | --- |\n| Q1 | 5 |",
        "after",
    ]


def test_diagrams_give_their_points(parse: Parse) -> None:
    space = 'xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
    words = '<d:t xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:p><a:r><a:t>Plan</a:t></a:r></a:p></d:t>'
    points = f'<d:ptLst><d:pt modelId="0" type="doc"/><d:pt modelId="1">{words}</d:pt></d:ptLst>'
    model = f'<d:dataModel {space}>{points}<d:cxnLst><d:cxn srcId="0" destId="1" srcOrd="0"/></d:cxnLst></d:dataModel>'
    reference = f'<d:relIds {space} {_R} r:dm="rX"/>'
    body = f"<w:p>{drawing(reference)}</w:p>"
    document = parse(docx(body, extra={**relation("diagramData", "data1.xml"), "word/data1.xml": model}), "a.docx")
    assert outline(document) == [("list_item", 1, "Plan")]


def test_symbols_are_what_their_font_shows(parse: Parse) -> None:
    by_code = '<w:r><w:sym w:font="Symbol" w:char="F061"/><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>'
    by_font = '<w:r><w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>\uf0a3b</w:t></w:r>'
    assert parse(docx(f"<w:p>{by_code}{run(' x ')}{by_font}</w:p>"), "a.docx").text == "α☑ x ≤β"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (
            "<html><meta charset=gbk><h1>标题</h1><p>inside</p>".encode("gbk"),
            [("heading", 1, TITLE), ("paragraph", 0, "inside")],
        ),
        (b"plain\n\ninside", [("paragraph", 0, "plain"), ("paragraph", 0, "inside")]),
        (b"PK\3\4\0\0", []),
        (None, []),
    ],
    ids=["html", "text", "another format", "missing"],
)
def test_files_inserted_in_the_text_are_read_in_their_place(
    parse: Parse, content: bytes | None, found: list[tuple[str, int, str]]
) -> None:
    body = f"<w:p>{run('before')}</w:p><w:altChunk {_R} r:id='rX'/><w:p>{run('after')}</w:p>"
    extra = {**relation("aFChunk", "chunk"), **({"word/chunk": content} if content else {})}
    document = parse(docx(body, extra=extra), "a.docx")
    assert outline(document) == [("paragraph", 0, "before"), *found, ("paragraph", 0, "after")]
    left_out = ["A file of another format that is inserted in the text was left out."]
    assert document.warnings == (left_out if content and not found else [])
