"""What texts and queries become: the cases that people search for, and the ones that try to break it."""

import random
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.terms import ANALYZER_VERSION, MAX_TERM_LENGTH, index_terms, query_terms


def finds(query: str, text: str) -> bool:
    """Whether every term of the query is a term of the text."""
    return set(query_terms(query)) <= set(index_terms(text))


def test_the_version_fits_into_names_of_indexes() -> None:
    assert ANALYZER_VERSION.isalnum()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("护照", "如何办理护照"),
        ("猫", "一只小猫咪"),
        ("如何办理护照？", "护照的办理需要身份证，办理护照"),
        ("ZC-2024-001", "见编号ZC-2024-001的文件"),
        ("zc-2024-001", "ZC-2024-001"),
        ("ＺＣ－２０２４", "zc-2024"),
        ("2024", "ZC-2024-001"),
        ("v1.2.3", "fixed in V1.2.3."),
        ("max retry count", "maxRetryCount = 3"),
        ("maxRetryCount", "see MAXRETRYCOUNT and maxRetryCount"),
        ("retry_count", "the retry_count option"),
        ("http server", "HTTPServer"),
        ("ana@example.org", "write to <ana@example.org>, please"),
        ("example", "ana@example.org"),
        ("main.py", "app/src/main.py: line 3"),
        ("src/app/main.py", "in src/app/main.py"),
        ("example.org", "ana@example.org"),
        ("api.example.org", "https://api.example.org/v1/x-y"),
        ("C++", "written in C++."),
        ("C#", "C# and F#"),
        ("runs", "it was running; run"),
        ("Lothair's mother", "the mother of Lothair"),
        ("Beyonce", "Beyoncé"),
        ("Łódź", "Lodz"),
        ("strasse", "Straße"),
        ("1000", "about 1,000 of them"),
        ("1,000,000", "1000000"),
        ("O'Neill", "O’Neill"),
        ("東京タワー", "東京タワーへ行く"),
        ("タワー", "東京タワー"),
        ("안녕", "안녕하세요 여러분"),
        ("ไทย", "ภาษาไทย"),
        ("книги", "книга"),
        ("𠮷", "𠮷野家"),
        ("ﬁle", "file"),
        ("zero\u200bwidth", "zerowidth"),
        ("soft\u00adhyphen", "softhyphen"),
    ],
)
def test_finds(query: str, text: str) -> None:
    assert query_terms(query)
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [("护照", "照护"), ("c++", "c"), ("main", "maintain"), ("猫", "狗"), ("1.2", "12")],
)
def test_does_not_find(query: str, text: str) -> None:
    assert not finds(query, text)


def test_stop_words_are_left_out_of_queries_only() -> None:
    assert query_terms("How does the parser work?") == ["parser", "work"]
    assert query_terms("请问如何办理护照") == ["办理", "护照", "办理", "理护", "护照"]
    assert "the" in index_terms("the parser")
    assert "如何" in index_terms("如何办理")


@pytest.mark.parametrize("query", ["who is the who", "是的", "的", "To be, or not to be", "怎么办"])
def test_a_query_of_stop_words_alone_keeps_them(query: str) -> None:
    assert query_terms(query) == index_terms(query) != []


def test_repetitions_are_kept() -> None:
    assert index_terms("run run running") == ["run", "run", "run"]
    assert query_terms("run running") == ["run", "run"]


@pytest.mark.parametrize("text", ["", "   ", "!?…", "😀", "---", "\x00\x01", "\ud800"])
def test_no_letters_no_terms(text: str) -> None:
    assert index_terms(text) == query_terms(text) == []


def test_a_hash_is_whole_and_not_shredded() -> None:
    digest = "3b18e9f2c5d4a7b60192e8f7d6c5b4a3"
    assert index_terms(digest) == [digest]
    long = "a1" * 64
    assert index_terms(long) == [long[:MAX_TERM_LENGTH]] == query_terms(long)


def assert_sound(terms: list[str]) -> None:
    for term in terms:
        assert term.split() == [term]
        assert 0 < len(term) <= MAX_TERM_LENGTH


@given(st.text(max_size=300))
def test_terms_are_sound_whatever_the_text(text: str) -> None:
    terms = index_terms(text)
    assert_sound(terms)
    assert set(query_terms(text)) <= set(terms)
    assert index_terms(text) == terms


def test_every_character_is_sound() -> None:
    for start in range(0, sys.maxunicode, 5_000):
        text = "".join(map(chr, range(start, min(start + 5_000, sys.maxunicode))))
        assert_sound(index_terms(text))
        assert_sound(index_terms(" ".join(text)))


def test_every_letter_is_indexed() -> None:
    """Whatever the script, a one-letter query finds its letter."""
    missing = [
        character
        for character in map(chr, range(0x3000, 0xD7A4))
        if unicodedata.category(character) in {"Lo", "Ll"} and not finds(character, character)
    ]
    assert missing == []


@pytest.mark.parametrize(
    "unit",
    ["长", "长城，", "a", "a.", "a-", "aB", "a1", "word ", "あ", "가", "ก", "é", "\u0301", "'", "x+", "1,", "🙂"],
)
def test_long_texts_stay_bounded(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    terms = index_terms(text)
    assert_sound(terms)
    assert len(terms) <= 4 * len(text)


def test_threads_do_not_disturb_each_other() -> None:
    chance = random.Random(3)
    words = ["running", "ran", "办理护照", "maxRetryCount", "Beyoncé", "книги", "ZC-2024-001", "universities"]
    texts = [" ".join(chance.choices(words, k=200)) for _ in range(60)]
    alone = [index_terms(text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(index_terms, texts * 3)) == alone * 3
