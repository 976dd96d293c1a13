"""Plain text, Markdown, HTML and delimited values."""

import pytest

from app.core.errors import ParseFailed
from app.parsing.document import ElementKind
from app.parsing.limits import ParseLimits
from app.parsing.parsers.delimited import sniff_delimiter
from tests.parsing.conftest import Parse, of_kind, outline


def test_text_has_chapters_and_paragraphs(parse: Parse) -> None:
    document = parse(
        "第一章 总则\n\n为了规范，制定本法。\n第二行。\n\n第一章讲的是总则。\n\nCHAPTER IV\n\nIt was\nnight.\n",
        "law.txt",
    )
    assert outline(document) == [
        ("heading", 2, "第一章 总则"),
        ("paragraph", 0, "为了规范，制定本法。\n第二行。"),
        ("paragraph", 0, "第一章讲的是总则。"),
        ("heading", 2, "CHAPTER IV"),
        ("paragraph", 0, "It was\nnight."),
    ]
    assert document.title == "law"


def test_unwrapped_lines_are_paragraphs(parse: Parse) -> None:
    document = parse("一。\n二。\n三。\n四。\n", "a.txt")
    assert [element.text for element in document.elements] == ["一。", "二。", "三。", "四。"]


@pytest.mark.parametrize("depth", [12, 24, 400])
@pytest.mark.parametrize("mark", ["- ", "> "])
def test_nothing_is_left_out_of_markdown_that_is_nested_deeply(parse: Parse, mark: str, depth: int) -> None:
    text = "".join(
        f"{('  ' * level if mark == '- ' else mark * level)}{mark}level {level}\n\n" for level in range(depth)
    )
    document = parse(text, "a.md")
    assert [level for level in range(depth) if f"level {level}" not in document.text] == []
    assert bool(document.warnings) == (depth == 400)


def test_markdown_keeps_its_structure(parse: Parse) -> None:
    document = parse(
        '---\ntitle: 手册\nauthor: "Li"\n---\n# 概述\n\nText with **bold**\nand `code`.\n\n- one\n  - two\n\n'
        "```python\ndef f():\n    return  1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 \\| 3 |\n\n"
        "<ul><li>html item</li></ul>\n\n<!-- a note -->\n",
        "a.md",
    )
    assert document.title == "手册"
    assert document.metadata["author"] == "Li"
    assert outline(document) == [
        ("heading", 1, "概述"),
        ("paragraph", 0, "Text with bold\nand code."),
        ("list_item", 1, "one"),
        ("list_item", 2, "two"),
        ("code", 0, "def f():\n    return  1"),
        ("table", 0, "| a | b |\n| --- | --- |\n| 1 | 2 \\| 3 |"),
        ("list_item", 1, "html item"),
        ("paragraph", 0, "a note"),
    ]
    assert of_kind(document, ElementKind.CODE)[0].language == "python"


def test_html_keeps_what_a_reader_sees(parse: Parse) -> None:
    document = parse(
        "<html><head><title>Page</title><style>p{}</style></head><body><script>var x='<p>no</p>'</script>"
        "<h2>Head <em>ing</em></h2><div>Loose <b>text</b><p>Paragraph<br>second line</p>tail</div>"
        "<ul><li>one<ol><li>deep</li></ol></li></ul><p hidden>hidden</p><p style='display: none'>hidden</p>"
        "<pre class='language-c'>int  x;\n  y;</pre></body></html>",
        "a.html",
    )
    assert document.title == "Page"
    assert outline(document) == [
        ("heading", 2, "Head ing"),
        ("paragraph", 0, "Loose text"),
        ("paragraph", 0, "Paragraph\nsecond line"),
        ("paragraph", 0, "tail"),
        ("list_item", 1, "one"),
        ("list_item", 2, "deep"),
        ("code", 0, "int  x;\n  y;"),
    ]


def test_html_tables_are_filled(parse: Parse) -> None:
    document = parse(
        "<table><caption>Sales</caption><thead><tr><th rowspan=2>Region<th colspan=2>2024<tr><th>H1<th>H2</thead>"
        "<tr><td>North<td>1<td><ul><li>2<li>3</ul></table>",
        "a.html",
    )
    table = of_kind(document, ElementKind.TABLE)[0].table
    assert table is not None
    assert table.rows == [["Region", "2024", "2024"], ["Region", "H1", "H2"], ["North", "1", "2\n3"]]
    assert (table.header_rows, table.caption) == (2, "Sales")
    assert of_kind(document, ElementKind.CAPTION)[0].text == "Sales"


def test_html_tables_are_read_as_they_are_shown(parse: Parse) -> None:
    """A foot written before the body, as HTML 4 has it; spans to the end of their group, and not beyond it."""
    document = parse(
        "<table><tfoot><tr><td>Sum<td>9</tfoot><thead><tr><th>Region<th>Sales</thead>"
        "<tbody><tr><td rowspan=0>North<td>1<tr><td>2<tbody><tr><td rowspan=5>South<td>6</table>",
        "a.html",
    )
    (table,) = [element.table for element in document.elements]
    assert table is not None
    assert table.rows == [["Region", "Sales"], ["North", "1"], ["North", "2"], ["South", "6"], ["Sum", "9"]]
    assert table.header_rows == 1


def test_layout_tables_are_no_tables(parse: Parse) -> None:
    document = parse("<table><tr><td><h1>Title</h1><p>Text</p></td><td><p>Aside</p></td></tr></table>", "a.html")
    assert outline(document) == [("heading", 1, "Title"), ("paragraph", 0, "Text"), ("paragraph", 0, "Aside")]


def test_html_may_nest_deeper_than_python_recurses(parse: Parse) -> None:
    document = parse("<html><body>" + "<div>" * 20_000 + "deep", "a.html")
    assert document.text == "deep"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            'id\tsaid\n1\t"Hello, he said\n2\t"and went\n',
            [["id", "said"], ["1", '"Hello, he said'], ["2", '"and went']],
        ),
        ('id\tsaid\r\n1\t"two\nlines"\r\n2\t"5"""\r\n', [["id", "said"], ["1", "two\nlines"], ["2", '5"']]),
        ('id\tsaid\n""\t"a ""b"" c"\n', [["id", "said"], ["", 'a "b" c']]),
    ],
)
def test_tab_separated_values_with_and_without_quoting(parse: Parse, text: str, rows: list[list[str]]) -> None:
    table = parse(text, "a.tsv").elements[0].table
    assert table is not None
    assert table.rows == rows


def test_delimited_values_with_quoted_lines(parse: Parse) -> None:
    document = parse('sep=;\n\nname;note\nLi;"two\nlines; one cell"\nWang\n', "a.csv")
    table = document.elements[0].table
    assert table is not None
    assert table.rows == [["name", "note"], ["Li", "two\nlines; one cell"], ["Wang", ""]]
    assert (table.header_rows, table.first_row) == (1, 3)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"with $\{a_1 \\ b_*\}$ and $x*y*z$ inside", [("paragraph", 0, r"with $\{a_1 \\ b_*\}$ and $x*y*z$ inside")]),
        ("before\n$$\n\\{x\\}\n\n= *y*\n$$\nafter", [
            ("paragraph", 0, "before"), ("formula", 0, "\\{x\\}\n\n= *y*"), ("paragraph", 0, "after"),
        ]),
        ("- $$E = mc^2$$\n- $$ x $$ y", [("formula", 0, "E = mc^2"), ("list_item", 1, "$$ x $$ y")]),
        ("costs $5, *not* $6 or $7-$8", [("paragraph", 0, "costs $5, not $6 or $7-$8")]),
        ("$$ *never* closed", [("paragraph", 0, "$$ never closed")]),
    ],
    ids=["in a line", "in lines of its own", "in lists", "prices", "not closed"],
)  # fmt: skip
def test_formulas_in_markdown(parse: Parse, text: str, found: list[tuple[str, int, str]]) -> None:
    assert outline(parse(text, "a.md")) == found


def test_long_pages_are_not_deep_ones(parse: Parse) -> None:
    """Tags that nobody closes, pieces of them in scripts, and shapes of drawings."""
    many = 30_000
    script = "<script>" + 'if (i<div && j>2) s = "<b>";' * many + "</script><!-- " + "<div>" * many + " -->"
    page = f"<html>{script}<ul>{'<li>x' * many}</ul><svg>{'<path d=x />' * many}</svg>{'<div>y</div>' * many}end"
    assert parse(page, "a.html").text.endswith("y\n\nend")


def test_a_blank_line_ends_no_html_table_in_markdown(parse: Parse) -> None:
    text = (
        "before\n\n<table>\n<tr><th>A</th><th>B</th></tr>\n\n<tr><td>1</td>\n\n<td>two</td></tr>\n</table>\n\n*after*"
    )
    assert outline(parse(text, "a.md")) == [
        ("paragraph", 0, "before"), ("table", 0, "| A | B |\n| --- | --- |\n| 1 | two |"), ("paragraph", 0, "after"),
    ]  # fmt: skip
    assert parse("<table>\n<tr><td>open</td>\n\n# Head\n\ntext", "a.md").text == "open\n\nHead\n\ntext"


@pytest.mark.parametrize(
    ("text", "caption", "first_row", "rows"),
    [
        ("Report 2024,,\nin EUR,,\n\nname,age,city\nLi,30,Oslo\n", "Report 2024\nin EUR", 4, 2),
        ("Report\nname,age,city\nLi,30,Oslo\n", "Report", 2, 2),
        ("Report\n\nname,city\nLi,Oslo\n", "Report", 3, 2),
        ("name,\nLi,Oslo\n", "", 1, 2),
        ("Li,,\nWang,30,Oslo\n", "", 1, 2),
        ("name\nLi\nWang\n", "", 1, 3),
        ("\n".join(map(str, range(20))) + "\na,b,c\n", "", 1, 21),
    ],
)
def test_titles_over_delimited_values(parse: Parse, text: str, caption: str, first_row: int, rows: int) -> None:
    *captions, element = parse(text, "a.csv").elements
    assert [one.text for one in captions] == ([caption] if caption else [])
    assert element.table is not None
    assert (element.table.first_row, len(element.table.rows)) == (first_row, rows)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_quote_that_nobody_closes_takes_in_no_other_row(parse: Parse, delimiter: str) -> None:
    rows = ["id,name,note", '1,"Ann,hello', '2,Bob,5" pipe', '3,"Carl",x', '4,"two\nlines, ""quoted""",y', '5,"Eve,z']
    document = parse("\n".join(rows).replace(",", delimiter), "a.tsv" if delimiter == "\t" else "a.csv")
    table = document.elements[0].table
    assert table is not None
    assert table.rows == [
        ["id", "name", "note"],
        ["1", '"Ann', "hello"],
        ["2", "Bob", '5" pipe'],
        ["3", "Carl", "x"],
        ["4", f'two\nlines{delimiter} "quoted"'.replace("\t", " ").replace("  ", " "), "y"],
        ["5", '"Eve', "z"],
    ]
    assert document.warnings == ["2 quotes that open a cell are closed nowhere; they were read as text."]


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ('"He said "hi" to me",x', ['He said "hi" to me', "x"]),
        ('1, "New York, NY" ,y', ["1", "New York, NY", "y"]),
        ('"","""a"" b",""', ["", '"a" b', ""]),
        ('""a"",b', ['""a""', "b"]),
        ('",",""",', [",", '"""', ""]),
    ],
)
def test_quotes_inside_cells(parse: Parse, line: str, cells: list[str]) -> None:
    table = parse(f"{line}\n1,2\n", "a.csv").elements[0].table
    assert table is not None
    assert table.rows[0][: len(cells)] == cells
    assert table.rows[1][:2] == ["1", "2"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_sniffed(delimiter: str) -> None:
    rows = [["id", "price, net", "remark"], ["1", "2", "a"], ["3", "4", "b"]]
    text = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    assert sniff_delimiter(text) == delimiter


def test_rows_of_wild_width_are_refused(parse: Parse) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse("a," * 9_000 + "\n" + "b\n" * 9_000, "a.csv", limits=ParseLimits(cells=20_000))
    assert failed.value.error_code == "too_complex"
