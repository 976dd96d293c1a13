"""What hides in Word files: tracked changes, notes, boxes, nested tables, comments, running headers."""

import pytest

from app.parsing.document import ElementKind
from tests.parsing.conftest import Parse, of_kind, outline
from tests.parsing.office_files import docx, paragraph

DELETED_MARK = "<w:rPr><w:del/></w:rPr>"


def run(text: str) -> str:
    return f"<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>"


def part(name: str, content: str) -> str:
    return f'<w:{name} xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">{content}</w:{name}>'


def test_moved_text_stands_where_it_was_moved_to(parse: Parse) -> None:
    body = (
        f"<w:p><w:moveFrom>{run('moved')}</w:moveFrom>{run('stays')}</w:p>"
        f"<w:p>{run('before ')}<w:moveTo>{run('moved')}</w:moveTo></w:p>"
        f"<w:ins>{paragraph('a whole new paragraph')}</w:ins><w:del>{paragraph('a paragraph gone')}</w:del>"
    )
    assert parse(docx(body), "a.docx").text == "stays\n\nbefore moved\n\na whole new paragraph"


def test_a_deleted_paragraph_mark_joins_two_paragraphs(parse: Parse) -> None:
    heading = '<w:style w:type="paragraph" w:styleId="h"><w:name w:val="heading 1"/></w:style>'
    body = (
        paragraph("One ", DELETED_MARK)
        + paragraph("two ", DELETED_MARK)
        + paragraph("three", '<w:pStyle w:val="h"/>')
        + paragraph("before a table", DELETED_MARK)
        + f"<w:tbl><w:tr><w:tc>{paragraph('a')}</w:tc><w:tc>{paragraph('b')}</w:tc></w:tr></w:tbl>"
        + paragraph("last", DELETED_MARK)
    )
    assert outline(parse(docx(body, styles=heading), "a.docx")) == [
        ("heading", 1, "One two three"),
        ("paragraph", 0, "before a table"),
        ("table", 0, "|  |  |\n| --- | --- |\n| a | b |"),
        ("paragraph", 0, "last"),
    ]


def test_endnotes_and_notes_of_tables_are_read_once(parse: Parse) -> None:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="a" Type="{kind}/endnotes" Target="endnotes.xml"/></Relationships>'
    )
    notes = part("endnotes", f'<w:endnote w:id="1">{paragraph("尾注")}</w:endnote>')
    reference = '<w:r><w:endnoteReference w:id="1"/></w:r>'
    row = f"<w:tr><w:tc><w:p>{run('cell')}{reference}</w:p></w:tc><w:tc>{paragraph('b')}</w:tc></w:tr>"
    body = f"<w:tbl>{row}</w:tbl><w:p>{run('again')}{reference}</w:p>"
    document = parse(docx(body, extra={"word/_rels/document.xml.rels": relations, "word/endnotes.xml": notes}), "a")
    assert [(element.kind.value, element.text) for element in document.elements][1:] == [
        ("footnote", "尾注"),
        ("paragraph", "again"),
    ]


def test_a_box_is_read_once_where_it_is_given_twice(parse: Parse) -> None:
    box = f"<w:txbxContent>{paragraph('In a box')}</w:txbxContent>"
    drawing = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f"<mc:Choice><w:drawing>{box}</w:drawing></mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback>"
        "</mc:AlternateContent>"
    )
    body = f"<w:p>{run('Anchor')}<w:r>{drawing}</w:r></w:p>"
    assert parse(docx(body), "a.docx").text == "Anchor\n\nIn a box"


def test_tables_in_frames_and_in_cells(parse: Parse) -> None:
    def row(*cells: str) -> str:
        return "<w:tr>" + "".join(f"<w:tc>{cell}</w:tc>" for cell in cells) + "</w:tr>"

    inner = f"<w:tbl>{row(paragraph('a'), paragraph('b'))}{row(paragraph('1'), paragraph('2'))}</w:tbl>"
    framed = f"<w:tbl>{row(paragraph('Frame') + inner)}</w:tbl>"
    nested = f"<w:tbl>{row(paragraph('k'), paragraph('v') + inner)}{row(paragraph('x'), paragraph('y'))}</w:tbl>"
    document = parse(docx(framed + nested), "a.docx")
    first, second = (element.table for element in of_kind(document, ElementKind.TABLE))
    assert document.elements[0].text == "Frame"
    assert first is not None
    assert second is not None
    assert first.rows == [["a", "b"], ["1", "2"]]
    assert second.rows == [["k", "v\na | b\n1 | 2"], ["x", "y"]]


def test_comments_headers_and_footers_are_left_out(parse: Parse) -> None:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="a" Type="{kind}/comments" Target="comments.xml"/>'
        f'<Relationship Id="b" Type="{kind}/header" Target="header1.xml"/>'
        f'<Relationship Id="c" Type="{kind}/footer" Target="footer1.xml"/></Relationships>'
    )
    body = (
        f'<w:p><w:commentRangeStart w:id="0"/>{run("Text")}<w:commentRangeEnd w:id="0"/>'
        '<w:r><w:commentReference w:id="0"/></w:r></w:p><w:sectPr><w:headerReference/></w:sectPr>'
    )
    document = parse(
        docx(
            body,
            extra={
                "word/_rels/document.xml.rels": relations,
                "word/comments.xml": part("comments", f'<w:comment w:id="0">{paragraph("why?")}</w:comment>'),
                "word/header1.xml": part("hdr", paragraph("Running header")),
                "word/footer1.xml": part("ftr", paragraph("Page 1")),
            },
        ),
        "a.docx",
    )
    assert document.text == "Text"
    assert document.warnings == ["Comments were left out."]


def test_fields_links_and_phonetic_guides_read_as_they_look(parse: Parse) -> None:
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/><w:instrText>REF x</w:instrText>'
        f'<w:fldChar w:fldCharType="separate"/></w:r>{run("Figure 1")}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    guide = f"<w:r><w:ruby><w:rt>{run('hàn')}</w:rt><w:rubyBase>{run('汉')}</w:rubyBase></w:ruby></w:r>"
    body = f"<w:p>{run('See ')}{field}{run(' ')}<w:hyperlink>{run('here')}</w:hyperlink>{run(' ')}{guide}</w:p>"
    assert parse(docx(body), "a.docx").text == "See Figure 1 here 汉"


@pytest.mark.parametrize("beside", ["", "<w:tc><w:p><w:r><w:t>beside</w:t></w:r></w:p></w:tc>"])
def test_tables_in_tables_are_read_as_deep_as_a_file_may_have_them(parse: Parse, beside: str) -> None:
    content = paragraph("deep")
    for _ in range(75):
        content = f"<w:tbl><w:tr><w:tc>{content}</w:tc>{beside}</w:tr></w:tbl>"
    assert "deep" in parse(docx(content), "a.docx").text
