"""What HTML says with more than tags of text: formulas, drawings, readings, tables by style or role, code in tables."""

import pytest

from tests.parsing.conftest import Parse, outline

STYLE = """<style>
.wrap:after {display: table} /* .cell {display: table} */
@media print {.t {display: none} .c {display: block}}
.t, #other {display:table} .r {display: table-row; color: red} .t .c {display: table-cell}
</style>"""
ROWS = "<div class=r><span class=c>Name</span><span class=c>Age</span></div>"
BY_CLASS = f"{STYLE}<div class=t>{ROWS}<div class=r><span class=c>Li</span><span class=c>30</span></div></div>"
BY_STYLE = BY_CLASS.replace(STYLE, "")
for _name, _shown in (("t", "table"), ("r", "table-row"), ("c", "table-cell")):
    BY_STYLE = BY_STYLE.replace(f"class={_name}", f'style="display: {_shown}"')
BY_ROLE = (
    "<div role=table><div role=rowgroup><div role=row><span role=columnheader>Name</span>"
    "<span role=columnheader>Age</span></div></div><div role=row><span role=cell>Li</span>"
    "<span role=cell>30</span></div></div>"
)


@pytest.mark.parametrize("page", [BY_CLASS, BY_STYLE, BY_ROLE], ids=["class", "style", "role"])
def test_tables_that_are_none_by_their_tags(parse: Parse, page: str) -> None:
    (element,) = parse(f"<html>{page}</html>", "a.html").elements
    assert element.table is not None
    assert (element.table.rows, element.table.header_rows) == ([["Name", "Age"], ["Li", "30"]], 1)


def test_what_only_arranges_a_page_is_no_table(parse: Parse) -> None:
    page = "<div role=table><div role=row><p role=cell>left</p><p role=cell>right</p></div></div>"
    assert [element.text for element in parse(f"<html>{page}</html>", "a.html").elements] == ["left", "right"]


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<math alttext='E=mc^2'><mi>E</mi></math>", "E=mc^2"),
        (
            "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x_1</annotation></semantics></math>",
            "x_1",
        ),
        ("<math><msup><mi>x</mi><mn>2</mn></msup><mo>=</mo><mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mi>c</mi>"
         "</mrow></mfrac></math>", "x^2=a/(b+c)"),
        ("<math><msubsup><mo>∑</mo><mn>1</mn><mi>n</mi></msubsup><msqrt><mi>y</mi></msqrt></math>", "∑_1^n√y"),
    ],
)  # fmt: skip
def test_formulas_are_kept(parse: Parse, formula: str, text: str) -> None:
    page = f"<p>with {formula} shown</p>{formula.replace('<math', '<math display=block')}<table><tr><th>a<th>b<tr><td>1"
    page += f"<td>{formula}</table>"
    inline, block, table = parse(f"<html>{page}</html>", "a.html").elements
    assert (inline.text, block.kind.value, block.text) == (f"with {text} shown", "formula", text)
    assert table.table is not None
    assert table.table.rows[1] == ["1", text]


def test_drawings_say_what_is_written_in_them_and_name_no_page(parse: Parse) -> None:
    page = "<svg><title>icon</title><defs><text>unused</text></defs><text>Start<tspan>here</tspan></text></svg><p>end"
    document = parse(f"<html><body>{page}", "a.html")
    assert (document.title, document.text) == ("a", "Start here\n\nend")


def test_readings_follow_their_word(parse: Parse) -> None:
    ruby = "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>です"
    assert parse(f"<html><p>{ruby}</p>", "a.html").text == "漢字(かんじ)です"


def test_code_beside_its_line_numbers_is_verbatim(parse: Parse) -> None:
    page = "<table><tr><td class=linenos><pre>1\n2</pre><td class=code><pre>if x:\n    y()</pre></table>"
    assert outline(parse(f"<html>{page}", "a.html")) == [("code", 0, "if x:\n    y()")]
    page = "<table><tr><th>a<th>b<tr><td>1<td><pre>if x:\n    y()</pre></table>"
    table = parse(f"<html>{page}", "a.html").elements[0].table
    assert table is not None
    assert table.rows[1] == ["1", "if x:\ny()"]


def test_xhtml_closes_elements_where_they_open(parse: Parse) -> None:
    page = "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title/></head><body><script/>"
    assert parse(f"{page}<p>one <![CDATA[a < b]]></p></body></html>", "a.xhtml").text == "one a < b"
