"""OpenDocument texts and presentations."""

import pytest

from app.core.errors import ParseFailed
from app.parsing.document import BoundingBox, ElementKind
from app.parsing.limits import ParseLimits
from tests.parsing.conftest import Parse, of_kind, outline
from tests.parsing.open_document_files import cell, chart, open_document, paragraph, row, table

STYLES = (
    '<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>'
    '<style:style style:name="P2" style:parent-style-name="Title"/>'
    '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
)


def test_text_keeps_headings_lists_notes_and_code(parse: Parse) -> None:
    note = (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        f"<text:note-body>{paragraph('来源')}</text:note-body></text:note>"
    )
    nested = f"<text:list><text:list-item>{paragraph('deep')}</text:list-item></text:list>"
    body = (
        paragraph("手册", "P2")
        + '<text:h text:outline-level="2">Over<text:span>view</text:span></text:h>'
        + paragraph(f"a<text:s text:c='2'/>b<text:tab/>c\n  d<text:line-break/>e{note}")
        + f"<text:list><text:list-item>{paragraph('one')}{nested}</text:list-item></text:list>"
        + paragraph("x = 1", "P1")
        + paragraph("y<text:s/>= 2", "P1")
        + f"<text:section>{paragraph('In a section')}</text:section>"
        + paragraph("Figure 1", "Caption")
    )
    document = parse(
        open_document("text", body, styles=STYLES, meta="<meta:initial-creator>Li</meta:initial-creator>"), "a"
    )
    assert outline(document) == [
        ("heading", 1, "手册"),
        ("heading", 2, "Overview"),
        ("paragraph", 0, "a b c d\ne"),
        ("footnote", 0, "来源"),
        ("list_item", 1, "one"),
        ("list_item", 2, "deep"),
        ("code", 0, "x = 1\ny = 2"),
        ("paragraph", 0, "In a section"),
        ("caption", 0, "Figure 1"),
    ]
    assert (document.title, document.metadata) == ("手册", {"author": "Li"})


def test_formulas_and_charts_stand_in_files_of_their_own(parse: Parse) -> None:
    """As LibreOffice writes them, with pictures of them for programs that know neither."""
    link = 'xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href'
    body = "".join(
        paragraph(f'see<draw:frame><draw:object {link}="./Object {number}"/><draw:image {link}="p.png"/></draw:frame>')
        for number in (1, 2, 3)
    )
    math = "<semantics><mrow><mi>E</mi></mrow><annotation encoding='StarMath 5.0'>E = m c^2</annotation></semantics>"
    extra: dict[str, bytes | str] = {
        "Object 1/content.xml": f"<math xmlns='http://www.w3.org/1998/Math/MathML'>{math}</math>",
        "Object 2/content.xml": chart("Sales", row(cell(""), cell("2024")), row(cell("Q1"), cell("5"))),
    }
    assert outline(parse(open_document("text", body, extra=extra), "a.odt")) == [
        ("paragraph", 0, "see"),
        ("formula", 0, "E = m c^2"),
        ("paragraph", 0, "see"),
        ("caption", 0, "Sales"),
        ("table", 0, "|  | 2024 |\n| --- | --- |\n| Q1 | 5 |"),
        ("paragraph", 0, "see"),
    ]


def test_hidden_sections_are_left_out(parse: Parse) -> None:
    hidden = f'<text:section text:display="none">{paragraph("hidden")}</text:section>'
    framed = f"<draw:frame><draw:text-box>{hidden}{paragraph('boxed')}</draw:text-box></draw:frame>"
    cells = table(row(f"<table:table-cell>{hidden}{paragraph('a')}</table:table-cell>", cell("b")))
    document = parse(open_document("text", f"{hidden}{paragraph('shown' + framed)}{cells}"), "a.odt")
    assert [element.text for element in document.elements] == ["shown", "boxed", "|  |  |\n| --- | --- |\n| a | b |"]


def test_text_reads_as_if_changes_were_accepted(parse: Parse) -> None:
    deletion = f"<text:changed-region><text:deletion>{paragraph('old')}</text:deletion></text:changed-region>"
    changes = f"<text:tracked-changes>{deletion}</text:tracked-changes>"
    body = changes + paragraph(
        'The <text:change text:change-id="1"/><text:change-start text:change-id="2"/>new<text:change-end/> text'
        f'<text:span text:style-name="T1"> hidden</text:span><office:annotation>{paragraph("why?")}</office:annotation>'
    )
    document = parse(open_document("text", body, styles=STYLES), "a.odt")
    assert document.text == "The new text"
    assert document.warnings == ["Comments were left out."]


def test_text_boxes_follow_their_paragraph(parse: Parse) -> None:
    box = f"<draw:frame><draw:text-box>{paragraph('In a box')}</draw:text-box></draw:frame>"
    assert outline(parse(open_document("text", paragraph(f"Be{box}fore")), "a")) == [
        ("paragraph", 0, "Before"),
        ("paragraph", 0, "In a box"),
    ]


def test_tables_fill_spans_and_count_repeats(parse: Parse) -> None:
    covered = "<table:covered-table-cell/>"
    header = row(
        cell("Region", 'table:number-rows-spanned="2"'), cell("2024", 'table:number-columns-spanned="2"'), covered
    )
    nested = f"<table:table-cell>{table(row(cell('x'), cell('y')))}</table:table-cell>"
    body = table(
        f"<table:table-header-rows>{header}{row(covered, cell('H1'), cell('H2'))}</table:table-header-rows>",
        row(cell("North"), cell("1"), nested),
        row(cell("same", 'table:number-columns-repeated="3"'), attributes='table:number-rows-repeated="2"'),
    )
    found = of_kind(parse(open_document("text", body), "a"), ElementKind.TABLE)[0].table
    assert found is not None
    assert found.rows == [
        ["Region", "2024", "2024"],
        ["Region", "H1", "H2"],
        ["North", "1", "x | y"],
        ["same", "same", "same"],
        ["same", "same", "same"],
    ]
    assert found.header_rows == 2


def test_a_table_that_repeats_without_end_is_refused(parse: Parse) -> None:
    bomb = table(
        row(cell("x", 'table:number-columns-repeated="900"'), attributes='table:number-rows-repeated="1000000"')
    )
    with pytest.raises(ParseFailed) as failed:
        parse(open_document("text", bomb), "a.odt")
    assert failed.value.error_code == "too_complex"


def test_presentations_have_titles_places_and_notes(parse: Parse) -> None:
    def frame(content: str, role: str = "", at: str = "") -> str:
        return f'<draw:frame presentation:class="{role}" {at}><draw:text-box>{content}</draw:text-box></draw:frame>'

    place = 'svg:x="1in" svg:y="72pt" svg:width="2.54cm" svg:height="25.4mm"'
    slide = (
        frame(f"<text:list><text:list-item>{paragraph('Punkt')}</text:list-item></text:list>", "outline", place)
        + frame(paragraph("标题"), "title")
        + frame(paragraph("12 May"), "date-time")
        + f"<draw:g><draw:custom-shape>{paragraph('In a group')}</draw:custom-shape></draw:g>"
        + f"<presentation:notes>{frame(paragraph('Say this'), 'notes')}</presentation:notes>"
    )
    document = parse(
        open_document("presentation", f"<draw:page>{slide}</draw:page>" * 2), "a.odp", limits=ParseLimits(pages=2)
    )
    assert outline(document)[:4] == [
        ("heading", 1, "标题"),
        ("list_item", 1, "Punkt"),
        ("paragraph", 0, "In a group"),
        ("footnote", 0, "Say this"),
    ]
    assert document.elements[1].bbox == BoundingBox(left=72, top=72, right=144, bottom=144)
    assert (document.page_count, document.elements[-1].page) == (2, 2)


def test_running_lines_are_dropped_and_what_stands_there_once_is_kept(parse: Parse) -> None:
    def slide(date: str, number: str) -> str:
        def frame(role: str, content: str) -> str:
            return f'<draw:frame presentation:class="{role}"><draw:text-box>{content}</draw:text-box></draw:frame>'

        field = "<text:p>Page <text:page-number>1</text:page-number></text:p>"
        body = frame("", paragraph(number)) + frame("date-time", f"<text:p><text:span>{date}</text:span></text:p>")
        return f"<draw:page>{body}{frame('page-number', field)}</draw:page>"

    slides = slide("May", "one") + slide("June", "two") + slide("June", "three")
    assert parse(open_document("presentation", slides), "a").text == "one\n\nMay\n\ntwo\n\nthree"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (open_document("text", paragraph("&x;"), prologue="<!DOCTYPE x [<!ENTITY x 'y'>]>"), "too_complex"),
        (open_document("text", "<text:p>"), "damaged"),
        (open_document("text", paragraph("")), "no_text"),
        (open_document("text", "<text:section>" * 400 + "</text:section>" * 400), "too_complex"),
    ],
    ids=["entities", "broken", "empty", "deep"],
)
def test_what_is_wrong_has_a_reason(parse: Parse, content: bytes, reason: str) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(content, "a.odt")
    assert failed.value.error_code == reason


def test_lists_may_nest_as_deep_as_xml_does(parse: Parse) -> None:
    deep = "<text:list><text:list-item>" * 120 + paragraph("deep") + "</text:list-item></text:list>" * 120
    assert outline(parse(open_document("text", deep), "a")) == [("list_item", 9, "deep")]
