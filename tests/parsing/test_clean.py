import unicodedata
from operator import attrgetter

from hypothesis import given
from hypothesis import strategies as st

from app.parsing.assemble import finish
from app.parsing.clean import clean_text
from app.parsing.document import Element, ElementKind, ParsedDocument, Table, placed


def test_what_cannot_be_seen_is_taken_out() -> None:
    assert clean_text("in\u00advisi\u200bble \ue000text\ufeff\x07") == "invisible text"
    assert clean_text("ignore\U000e0041\U000e0042 this") == "ignore this"
    assert clean_text("safe\u202etxt.exe") == "safetxt.exe"
    assert clean_text("half \ud83d pair") == "half pair"


def test_text_is_composed_but_not_folded() -> None:
    assert clean_text("cafe\u0301") == "café"
    assert clean_text("Ａ１　ﬁ ²") == "Ａ１ ﬁ ²"


def test_of_marks_on_one_character_those_stay_that_writing_needs() -> None:
    words, stacked = "ế̂" * 50, "\u0316\u0301" * 20_000
    kept = "\u0316" * 15 + "\u0301" * 14
    assert clean_text(f"{words} a{stacked} next") == unicodedata.normalize("NFC", f"{words} á{kept} next")
    twice = clean_text("a" + "\u0344" * 40)  # a mark that is normalised to two
    assert clean_text(twice) == twice


def test_joiners_stay_where_they_carry_meaning() -> None:
    assert clean_text("می\u200cخواهم") == "می\u200cخواهم"
    assert clean_text("👩\u200d🔬") == "👩\u200d🔬"
    assert clean_text("pass\u200dword 密\u200c码") == "password 密码"


def test_white_space_is_evened_out_except_in_code() -> None:
    assert clean_text(" a\t b \r\n\r\n\n\n c\u2028d ") == "a b\n\nc\nd"
    assert clean_text("def f():\r\n\treturn  1\n", verbatim=True) == "def f():\n\treturn  1"


@given(st.text())
def test_cleaning_is_final(text: str) -> None:
    cleaned = clean_text(text)
    assert clean_text(cleaned) == cleaned
    assert unicodedata.is_normalized("NFC", cleaned)
    cleaned.encode()  # no lone surrogates: it can be stored


@given(st.lists(st.tuples(st.sampled_from(list(ElementKind)), st.text())))
def test_offsets_say_where_each_element_stands(parts: list[tuple[ElementKind, str]]) -> None:
    elements = [
        Element(kind=kind, table=Table(rows=[[text, "x"]]))
        if kind is ElementKind.TABLE
        else Element(kind=kind, text=text)
        for kind, text in parts
    ]
    document = finish(ParsedDocument(media_type="text/plain", parser="test", elements=elements))
    text = document.text
    for start, element in placed(document.elements, attrgetter("text")):
        assert text[start : start + len(element.text)] == element.text
        assert element.text or element.kind is ElementKind.PAGE_BREAK
