"""Rich Text."""

import pytest

from app.core.errors import ParseFailed
from tests.parsing.conftest import Parse, outline

FONTS = r"{\fonttbl{\f0\fnil\fcharset134 \'cb\'ce\'cc\'e5;}{\f1\fswiss\fcharset0 Arial;}{\f2\fcharset204 T;}}"
STYLES = (
    r"{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\s2\outlinelevel1 Own;}{\s3\sbasedon2 Based;}"
    r"{\*\cs10 Default;}}"
)


def rtf(body: str, head: str = r"\ansi\ansicpg936\deff0") -> str:
    return f"{{\\rtf1{head}{FONTS}{STYLES}{body}}}"


def test_what_is_written_twice_is_read_in_unicode(parse: Parse) -> None:
    document = parse(
        rtf(
            r"{\info{\upr{\title ??}{\*\ud{\title \u20320?\u22909?}}}}"
            r"\pard One {\upr{plain ?}{\*\ud{full \u20320?}}} more.\par"
        ),
        "a.rtf",
    )
    assert (document.title, document.text) == ("你好", "One full 你 more.")


def test_structure_is_kept(parse: Parse) -> None:
    document = parse(
        rtf(
            r"{\info{\title \'b1\'ea\'cc\'e2}{\author Li}{\subject none}}{\header running\par}"
            r"\pard\s1 \'b5\'da\'d2\'bb\'d5\'c2\par\pard\s2 Sub\par\pard\s3 Sub too\par"
            r"\pard\plain Text{\footnote \pard note \'d6\'d0\par} goes on\line next{\v hidden}{\deleted gone}\par"
            r"{\listtext\tab 1.\tab}\pard\ls1\ilvl0 item\par\ilvl1 deep\par"
            r"\pard {\field{\*\fldinst HYPERLINK x}{\fldrslt link}} \{braces\} \'5c{\pict 89504e47}\par"
        ),
        "a.doc",
    )
    assert outline(document) == [
        ("heading", 1, "第一章"),
        ("heading", 2, "Sub"),
        ("heading", 2, "Sub too"),
        ("paragraph", 0, "Text goes on\nnext"),
        ("footnote", 0, "note 中"),
        ("list_item", 1, "item"),
        ("list_item", 2, "deep"),
        ("paragraph", 0, "link {braces} \\"),
    ]
    assert (document.title, document.metadata) == ("标题", {"author": "Li"})


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"\f0 \'d6\'d0\'ce\'c4", "中文"),
        (r"\f1 \'d6\'d0\'ce\'c4 caf\'e9 ", "ÖÐÎÄ café"),
        (r"\f1 \'d6\'d0\'ce\'c4", "中文"),
        (r"\f2 \'cf\'f0\'e8\'e2\'e5\'f2", "Привет"),
        (r"\f0 \'81A", "丄"),
        (r"\u20013?\u25991?", "中文"),
        (r"\uc2\u20013\'d6\'d0\u25991 xx!", "中文!"),
        (r"\uc0\u20013\u25991 x", "中文x"),
        (r"\u-10179?\u-8704?", "😀"),
        (r"{\uc0 \u20013}{\u25991 ?}\u24471\'3f ok", "中文得 ok"),
        (r"a\~b\_c\emdash\ldblquote x\rdblquote", "a b-c—“x”"),
    ],
)
def test_characters_come_right(parse: Parse, body: str, text: str) -> None:
    assert parse(rtf(body + r"\par"), "a.rtf").text == text


@pytest.mark.parametrize(("code_page", "data"), [(936, r"\'d6\'d0"), (950, r"\'a4\'a4"), (932, r"\'92\'86")])
def test_the_document_says_the_code_page_where_fonts_do_not(parse: Parse, code_page: int, data: str) -> None:
    assert parse(f"{{\\rtf1\\ansi\\ansicpg{code_page} {data}{data}\\par}}", "a.rtf").text == "中中"


def test_tables_are_filled(parse: Parse) -> None:
    document = parse(
        rtf(
            r"\trowd\trhdr\cellx1000\cellx3000\pard\intbl A\cell B\cell\row"
            r"\trowd\clvmgf\cellx1000\cellx2010\cellx3000\intbl 1\cell 2\par x\cell 3\cell\row"
            r"\trowd\clvmrg\cellx1000\cellx2000\cellx3000\intbl\cell 5\cell 6\cell\row\pard After\par"
        ),
        "a.rtf",
    )
    table = document.elements[0].table
    assert table is not None
    assert table.rows == [["A", "B", "B"], ["1", "2\nx", "3"], ["1", "5", "6"]]
    assert table.header_rows == 1
    assert document.elements[1].text == "After"


def test_text_boxes_are_read_once(parse: Parse) -> None:
    box = r"{\shp{\*\shpinst\shpleft0{\sp{\sn a}{\sv 1}}{\shptxt In a box\par}}{\shprslt In a box\par}}"
    assert parse(rtf(box + r"\pard Text\par"), "a.rtf").text == "In a box\n\nText"


def test_what_is_cut_off_is_read_with_a_warning(parse: Parse) -> None:
    document = parse(rtf(r"whole\par half")[:-1], "a.rtf")
    assert document.text == "whole\n\nhalf"
    assert document.warnings == ["The file ends early; what follows is missing."]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (r"{\rtf1{\fonttbl{\f0 Arial", "damaged"),
        ("{\\rtf1" + "{" * 5000, "too_complex"),
        (r"{\rtf1\bin9999999 x}", "damaged"),
        (r"{\rtf1{\pict 00}}", "no_text"),
    ],
    ids=["cut", "deep", "binary", "empty"],
)
def test_what_is_wrong_has_a_reason(parse: Parse, content: str, reason: str) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(content, "a.rtf")
    assert failed.value.error_code == reason


def test_nested_tables_stay_in_their_cell(parse: Parse) -> None:
    inner = r"\intbl\itap2 x\nestcell y\nestcell{\*\nesttableprops\trowd\cellx500\cellx900\nestrow}{\nonesttables\par}"
    row = r"\trowd\cellx1000\cellx3000\intbl"
    body = rf"{row} A\cell {inner}\intbl\itap1 B\cell\row{row} 1\cell 2\cell\row"
    table = parse(rtf(body), "a.rtf").elements[0].table
    assert table is not None
    assert table.rows == [["A", "x | y |\nB"], ["1", "2"]]


def test_formulas_read_as_their_letters(parse: Parse) -> None:
    formula = r"{\mmath{\*\moMath{\mf{\mfPr{\mctrlPr\i x}}{\mnum{\mr a}}{\mden{\mr b}}}}{\mmathPict{\pict 00}}}"
    assert parse(rtf(rf"y = {formula}\par"), "a.rtf").text == "y = ab"
