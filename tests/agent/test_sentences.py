from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.sentences import row_spans, sentence_spans, shown


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("年假为二十天。病假另算！可以顺延吗？可以", ["年假为二十天。", "病假另算！", "可以顺延吗？", "可以"]),
        ("他说：“可以。”然后离开了。", ["他说：“可以。”", "然后离开了。"]),
        (
            "Leave is 20 days. It can't be carried over! Why?",
            ["Leave is 20 days.", "It can't be carried over!", "Why?"],
        ),
        ("Use e.g. Python 3.11 or v1.2.3. See Dr. Smith.", ["Use e.g. Python 3.11 or v1.2.3.", "See Dr. Smith."]),
        ("It opened in 1998. The next came later.", ["It opened in 1998.", "The next came later."]),
        ("1. Open the lid.\n2. Press it.", ["1. Open the lid.", "2. Press it."]),
        ("# Title\n\nFirst line\nof a sentence.", ["# Title", "First line\nof a sentence."]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("- one\n- two", ["- one", "- two"]),
        ("第一条；第二条。", ["第一条；", "第二条。"]),
        (
            "See https://example.com/a?b=c for more. 好吗?A：好",
            ["See https://example.com/a?b=c for more.", "好吗?", "A：好"],
        ),
        ("كيف حالك؟ بخير.", ["كيف حالك؟", "بخير."]),
        ("यह पहला है। यह दूसरा है।", ["यह पहला है।", "यह दूसरा है।"]),
        (
            "Doses. Daily:\n\n| Drug | Dose |\n| --- | --- |\n| A. Smith | 40 mg. Daily! |\n\nEnd.",
            ["Doses.", "Daily:", "| Drug | Dose |", "| A. Smith | 40 mg. Daily! |", "End."],
        ),
        ("...\n\n——", []),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_text_without_an_end_is_cut() -> None:
    parts = sentences("word " * 1000)
    assert max(map(len, parts)) <= 400
    assert "".join(parts).count("word") == 1000


@settings(deadline=None)
@given(st.text(), st.sampled_from([sentence_spans, row_spans]))
def test_spans_are_in_order_and_hold_every_letter(text: str, spans_of: Callable[[str], list[tuple[int, int]]]) -> None:
    spans = spans_of(text)
    assert all(start < end for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    left = list(text)
    for start, end in reversed(spans):
        del left[start:end]
    assert not any(sign.isalnum() for sign in left)


def test_a_row_of_a_table_is_one_whatever_stands_in_its_cells() -> None:
    rows = ["id: 7; title: 需要多大的显存？ Mine is 8 GB. Is it enough?", "id: 8; title: No。"]
    text = "\n".join(["Issues", "", *rows])
    assert [text[start:end] for start, end in row_spans(text)] == ["Issues", *rows]


def test_a_row_without_end_is_cut() -> None:
    text = "cell; " * 1_000
    parts = [text[start:end] for start, end in row_spans(text)]
    assert max(map(len, parts)) <= 1_200
    assert "".join(parts).count("cell") == 1_000


def test_line_breaks_are_not_shown() -> None:
    assert shown("年假为\n二十天，see the\n  handbook") == "年假为二十天，see the handbook"
