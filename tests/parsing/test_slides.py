"""PowerPoint presentations."""

import io
import random

import pytest
from msoffcrypto.format.ooxml import OOXMLFile

from app.core.errors import ParseFailed
from app.parsing.document import BoundingBox, ElementKind
from app.parsing.limits import ParseLimits
from app.parsing.parsers.slide_order import in_reading_order
from tests.parsing.conftest import Parse, of_kind, outline
from tests.parsing.slide_files import bullet, graphic, line, part, pptx, shape

TITLE = 'type="title"'


def test_titles_are_headings_and_bullets_have_levels(parse: Parse) -> None:
    body = shape(
        line("开场白"), bullet("一"), bullet("二", 1), line("后"), placeholder='idx="1"', at=(50, 100, 400, 300)
    )
    document = parse(pptx(shape(line("季度报告"), placeholder=TITLE, at=(50, 20, 600, 60)) + body), "a.pptx")
    assert outline(document) == [
        ("heading", 1, "季度报告"),
        ("paragraph", 0, "开场白"),
        ("list_item", 1, "一"),
        ("list_item", 2, "二"),
        ("paragraph", 0, "后"),
    ]
    assert document.elements[1].bbox == BoundingBox(left=50, top=100, right=450, bottom=400)
    assert (document.title, document.page_count) == ("季度报告", 1)


def test_bullets_and_places_are_inherited(parse: Parse) -> None:
    styles = '<p:bodyStyle><a:lvl1pPr><a:buChar char="•"/></a:lvl1pPr></p:bodyStyle>'
    layout = shape(line("Click to edit"), placeholder='type="body" idx="7"', at=(10, 20, 30, 40))
    document = parse(
        pptx(
            shape(
                line("item"), "<a:p><a:pPr><a:buNone/></a:pPr><a:r><a:t>text</a:t></a:r></a:p>", placeholder='idx="7"'
            )
            + shape(line("free"), at=(10, 200, 30, 40)),
            layout=layout,
            text_styles=styles,
        ),
        "a.pptx",
    )
    assert outline(document) == [("list_item", 1, "item"), ("paragraph", 0, "text"), ("paragraph", 0, "free")]
    assert document.elements[0].bbox == BoundingBox(left=10, top=20, right=40, bottom=60)


def test_free_boxes_are_read_by_place_and_groups_together(parse: Parse) -> None:
    def box(text: str, left: int, top: int) -> str:
        return shape(line(text), at=(left, top, 150, 40))

    group = (
        '<p:grpSp><p:nvGrpSpPr/><p:grpSpPr><a:xfrm><a:off x="5080000" y="1270000"/><a:ext cx="2540000" cy="2540000"/>'
        '<a:chOff x="0" y="0"/><a:chExt cx="5080000" cy="5080000"/></a:xfrm></p:grpSpPr>'
        f"{box('right text', 0, 100)}{box('right head', 0, 0)}</p:grpSp>"
    )
    slide = (
        box("left text", 20, 160)
        + group
        + box("left head", 20, 110)
        + shape(line("T"), placeholder=TITLE, at=(0, 0, 9, 9))
    )
    document = parse(pptx(slide), "a.pptx")
    assert [element.text for element in document.elements] == [
        "T",
        "left head",
        "left text",
        "right head",
        "right text",
    ]
    assert document.elements[3].bbox == BoundingBox(left=400, top=100, right=475, bottom=120)


def test_order_of_the_file_stands_where_a_place_is_missing(parse: Parse) -> None:
    slide = shape(line("no place")) + shape(line("T"), placeholder=TITLE, at=(0, 0, 9, 9))
    assert parse(pptx(slide), "a.pptx").text == "no place\n\nT"


def test_running_lines_are_dropped_and_what_stands_there_once_is_kept(parse: Parse) -> None:
    def footed(text: str) -> str:
        number = '<a:p><a:fld type="slidenum"><a:t>3</a:t></a:fld></a:p>'
        return (
            shape(line("Text"), at=(0, 0, 90, 20))
            + shape(line("Confidential"), placeholder='type="ftr" idx="11"', at=(0, 500, 90, 20))
            + shape(number, placeholder='type="sldNum" idx="12"', at=(200, 500, 90, 20))
            + shape(line(text), placeholder='type="dt" idx="10"', at=(300, 500, 90, 20))
        )

    document = parse(pptx(footed("May 2026"), footed("June 2026"), footed("June 2026")), "a.pptx")
    assert [(element.page, element.text) for element in document.elements] == [
        (1, "Text"),
        (1, "May 2026"),
        (2, "Text"),
        (3, "Text"),
    ]


def test_tables_fill_merged_cells(parse: Parse) -> None:
    def cell(text: str, attributes: str = "") -> str:
        return f"<a:tc {attributes}><a:txBody>{line(text)}</a:txBody></a:tc>"

    rows = (
        cell("地区", 'rowSpan="2"') + cell("2024", 'gridSpan="2"') + cell("", 'hMerge="1"'),
        cell("", 'vMerge="1"') + cell("H1") + cell("H2"),
        cell("北") + cell("1") + cell("2"),
    )
    table = '<a:tbl><a:tblPr firstRow="1"/>' + "".join(f"<a:tr>{row}</a:tr>" for row in rows) + "</a:tbl>"
    element = parse(pptx(graphic(table, (10, 20, 300, 100))), "a.pptx").elements[0]
    assert element.table is not None
    assert element.table.rows == [["地区", "2024", "2024"], ["地区", "H1", "H2"], ["北", "1", "2"]]
    assert (element.table.header_rows, element.page) == (1, 1)
    assert element.bbox == BoundingBox(left=10, top=20, right=310, bottom=120)


def test_charts_give_their_figures_and_diagrams_their_points(parse: Parse) -> None:
    def cached(name: str, *values: str) -> str:
        points = "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))
        return f"<c:{name}><c:strRef><c:strCache>{points}</c:strCache></c:strRef></c:{name}>"

    series = (
        f"<c:ser>{cached('tx', '销量')}{cached('cat', 'Q1', 'Q2')}{cached('val', '0.30000000000000004', '7')}</c:ser>"
    )
    title = f"<c:title><c:tx><c:rich>{line('Sales')}</c:rich></c:tx></c:title>"
    plot = f"<c:chart>{title}<c:plotArea><c:barChart>{series}</c:barChart></c:plotArea></c:chart>"
    model = (
        '<dgm:ptLst><dgm:pt modelId="0" type="doc"/>'
        f'<dgm:pt modelId="2"><dgm:t>{line("second")}</dgm:t></dgm:pt>'
        f'<dgm:pt modelId="1"><dgm:t>{line("first")}</dgm:t></dgm:pt>'
        f'<dgm:pt modelId="3"><dgm:t>{line("below")}</dgm:t></dgm:pt></dgm:ptLst>'
        '<dgm:cxnLst><dgm:cxn srcId="0" destId="2" srcOrd="1"/><dgm:cxn srcId="0" destId="1" srcOrd="0"/>'
        '<dgm:cxn srcId="1" destId="3" srcOrd="0"/><dgm:cxn srcId="3" destId="1" srcOrd="0"/></dgm:cxnLst>'
    )
    slide = graphic('<c:chart r:id="ch"/>', (0, 0, 100, 100)) + graphic('<dgm:relIds r:dm="di"/>', (0, 200, 100, 100))
    parts = {1: {"ch": ("chart", part("c:chartSpace", plot)), "di": ("diagramData", part("dgm:dataModel", model))}}
    assert outline(parse(pptx(slide, parts=parts), "a.pptx")) == [
        ("caption", 0, "Sales"),
        ("table", 0, "|  | 销量 |\n| --- | --- |\n| Q1 | 0.3 |\n| Q2 | 7 |"),
        ("list_item", 1, "first"),
        ("list_item", 2, "below"),
        ("list_item", 1, "second"),
    ]


def test_notes_follow_their_slide_and_what_is_left_out_is_said(parse: Parse) -> None:
    notes = shape(line("4"), placeholder='type="sldNum"') + shape(line("说给听众"), placeholder='type="body" idx="1"')
    document = parse(
        pptx(
            shape(line("Shown"), at=(0, 0, 9, 9)) + shape(line("Gone"), at=(0, 20, 9, 9), hidden=True),
            "<p:pic><p:nvPicPr><p:cNvPr id='1' name='p'/><p:cNvPicPr/><p:nvPr/></p:nvPicPr></p:pic>",
            shape(line("Last"), at=(0, 0, 9, 9)),
            notes={1: notes},
            extra={"ppt/slides/slide3.xml": "<broken"},
        ),
        "a.pptx",
    )
    assert outline(document) == [("paragraph", 0, "Shown"), ("footnote", 0, "说给听众")]
    assert document.warnings == [
        "Slide 2 holds pictures only; no text was read from them.",
        "Slide 3 is damaged and was left out.",
    ]
    assert document.page_count == 3


def test_alternatives_are_read_once(parse: Parse) -> None:
    text = shape("<a:p><a:r><a:t>f(x)</a:t></a:r></a:p>", at=(0, 0, 9, 9))
    slide = f"<mc:AlternateContent><mc:Choice>{text}</mc:Choice><mc:Fallback>{text}</mc:Fallback></mc:AlternateContent>"
    assert parse(pptx(slide), "a.pptx").text == "f(x)"


def test_an_encrypted_presentation_asks_for_its_password(parse: Parse) -> None:
    locked = io.BytesIO()
    bulk: dict[str, bytes | str] = {"ppt/media/noise.bin": random.Random(7).randbytes(8192)}
    OOXMLFile(io.BytesIO(pptx(shape(line("Secret")), extra=bulk))).encrypt("geheim", locked)
    with pytest.raises(ParseFailed) as failed:
        parse(locked.getvalue(), "a.pptx")
    assert failed.value.error_code == "encrypted"
    assert parse(locked.getvalue(), "a.pptx", password="geheim").text == "Secret"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (pptx(), "damaged"),
        (pptx(shape(line("x")), extra={"ppt/presentation.xml": "<broken"}), "damaged"),
        (pptx(shape(line("x")), extra={"ppt/slides/slide1.xml": "<!DOCTYPE x [<!ENTITY a 'b'>]><x/>"}), "too_complex"),
        (pptx(*[shape(line("x"))] * 4), "too_complex"),
        (pptx(shape("")), "no_text"),
    ],
    ids=["no slide", "broken", "entities", "too many slides", "empty"],
)
def test_what_is_wrong_with_a_presentation_has_a_reason(parse: Parse, content: bytes, reason: str) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(content, "a.pptx", limits=ParseLimits(pages=3))
    assert failed.value.error_code == reason


def test_groups_may_nest_deeper_than_any_program_shows(parse: Parse) -> None:
    deep = "<p:grpSp><p:nvGrpSpPr/><p:grpSpPr/>" * 200 + shape(line("deep")) + "</p:grpSp>" * 200
    assert parse(pptx(shape(line("Text")) + deep), "a.pptx").text == "Text\n\ndeep"


def test_cards_are_read_card_by_card_and_rows_row_by_row() -> None:
    def box(left: float, top: float, width: float = 100, height: float = 20) -> BoundingBox:
        return BoundingBox(left=left, top=top, right=left + width, bottom=top + height)

    cards = {"h1": box(0, 0), "h2": box(200, 0), "t1": box(0, 25, 100, 80), "t2": box(200, 25, 100, 90)}
    assert in_reading_order(list(cards), cards.get) == ["h1", "t1", "h2", "t2"]
    rows = {"v1": box(110, 0), "v2": box(110, 80), "l2": box(0, 80), "l1": box(0, 0)}
    assert in_reading_order(list(rows), rows.get) == ["l1", "v1", "l2", "v2"]
    over = {"c": box(150, 0), "b": box(80, 5), "a": box(0, 1), "below": box(0, 15)}
    assert in_reading_order(list(over), over.get) == ["a", "b", "c", "below"]


def test_a_table_of_a_slide_counts_its_cells(parse: Parse) -> None:
    row = (
        "<a:tr>"
        + f"<a:tc><a:txBody>{line('x')}</a:txBody></a:tc><a:tc><a:txBody>{line('y')}</a:txBody></a:tc>" * 3
        + "</a:tr>"
    )
    table = graphic(f"<a:tbl>{row * 5}</a:tbl>", (0, 0, 10, 10))
    assert of_kind(parse(pptx(table), "a.pptx"), ElementKind.TABLE)
    with pytest.raises(ParseFailed) as failed:
        parse(pptx(table), "a.pptx", limits=ParseLimits(cells=20))
    assert failed.value.error_code == "too_complex"
