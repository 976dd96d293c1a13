"""The main content of web pages, where a knowledge base wants that alone."""

from app.parsing.document import ElementKind
from app.parsing.settings import ParsingSettings
from tests.parsing.conftest import Parse, of_kind

MAIN = ParsingSettings(html_content="main")
TEXT = (
    "The council has decided to renew the bridge over the river, which has carried the town's traffic for ninety "
    "years. Work begins in spring and will take two years, during which buses go by the northern road and stop at the "
    "market."
)
CHINESE = (
    "市议会决定重建跨河大桥，该桥承担全市交通已有九十年。工程将于春季开工，为期两年，其间公交车改走北路并在市场停靠。"
)
PAGE = f"""<html><head><title>News</title></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/s">Sports</a></li><li><a href="/w">Weather</a></li></ul></nav>
<article><h1>A new bridge</h1><p>{TEXT}</p><h2>中文</h2><p>{CHINESE}</p>
<ul><li>The northern road stays open for cars at all times.</li></ul>
<table><tr><th>Year</th><th>Cost in millions</th></tr><tr><td>2026</td><td>14.2</td></tr></table>
<p>{TEXT[::-1]}</p></article>
<aside><h3>Most read</h3><p><a href="/x">Ten things to do on a rainy day</a></p></aside>
<footer><p>Copyright Example News. All rights reserved. Imprint. Privacy.</p></footer></body></html>"""


def test_menus_asides_and_footers_are_left_out(parse: Parse) -> None:
    document = parse(PAGE, "news.html", settings=MAIN)
    text = document.text
    assert "Home" not in text
    assert "Most read" not in text
    assert "Copyright" not in text
    assert [element.text for element in of_kind(document, ElementKind.HEADING)] == ["A new bridge", "中文"]
    assert TEXT in text
    assert CHINESE in text
    table = of_kind(document, ElementKind.TABLE)[0].table
    assert table is not None
    assert table.rows == [["Year", "Cost in millions"], ["2026", "14.2"]]
    assert of_kind(document, ElementKind.LIST_ITEM)[0].text.startswith("The northern road")
    assert document.warnings == ["6 of 13 paragraphs are not part of the main content and were left out."]


def test_everything_is_kept_unless_asked_otherwise(parse: Parse) -> None:
    text = parse(PAGE, "news.html").text
    assert "Home" in text
    assert "Copyright" in text


def test_a_page_without_main_content_is_kept_whole(parse: Parse) -> None:
    document = parse("<html><body><a href='/'>Home</a></body></html>", "a.html", settings=MAIN)
    assert document.text == "Home"
