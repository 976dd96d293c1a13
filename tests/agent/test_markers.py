import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.markers import MarkerFilter, marked_segments

SOURCES = {1, 2, 3}


def filtered(*pieces: str) -> str:
    markers = MarkerFilter(SOURCES)
    return "".join(markers.feed(piece) for piece in pieces) + markers.finish()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Leave is 20 days [1].", "Leave is 20 days [1]."),
        ("Leave is 20 days [9].", "Leave is 20 days."),
        ("Both [1, 3] agree.", "Both [1][3] agree."),
        ("Both [1, 9, 1] agree.", "Both [1] agree."),
        ("None [7,8] agree.", "None agree."),
        ("年假二十天【2】。", "年假二十天[2]。"),
        ("年假二十天［２］。", "年假二十天[2]。"),
        ("年假二十天[来源 3]，见[资料9]。", "年假二十天[3]，见。"),
        ("See [^2] and [source: 1] and [Source 12].", "See [2] and [1] and."),
        ("As said【1†handbook.md】.", "As said[1]."),
        ("Several【1†a, 9†b】.", "Several[1]."),
        ("国发[2024]5号 and [2019]", "国发[2024]5号 and [2019]"),
        ("`rows[9]` and rows [9]", "`rows[9]` and rows"),
        ("```\nrows[9]\n```\nsaid [9][2]", "```\nrows[9]\n```\nsaid[2]"),
        ("an unclosed ` tick\nand [9] then [2]", "an unclosed ` tick\nand then [2]"),
        ("[a link](http://example.com) [", "[a link](http://example.com) ["),
        ("[0] and [-1] and [1", " and [-1] and [1"),
    ],
)
def test_only_markers_of_sources_are_left(said: str, shown: str) -> None:
    assert filtered(said) == shown
    assert filtered(*said) == shown, "one character at a time"
    for first, second in itertools.combinations(range(len(said)), 2):
        assert filtered(said[:first], said[first:second], said[second:]) == shown


@settings(deadline=None)
@given(st.lists(st.text("ab [】【]1９9,†`\n^源", max_size=12), max_size=8))
def test_how_the_text_is_cut_changes_nothing(pieces: list[str]) -> None:
    whole = "".join(pieces)
    assert filtered(*pieces) == filtered(whole)


@settings(deadline=None)
@given(st.text("ab [】【]1９9,†`\n^源", max_size=60))
def test_every_cited_number_is_a_source(text: str) -> None:
    assert {number for numbers, _ in marked_segments(filtered(text)) for number in numbers} <= SOURCES


@settings(deadline=None)
@given(st.text("ab [1", min_size=200, max_size=400))
def test_little_is_held_back(text: str) -> None:
    assert len(text) - len(MarkerFilter(SOURCES).feed(text)) <= 110


def test_words_belong_to_the_markers_that_follow_them() -> None:
    assert marked_segments("A holds [1][3]. B holds [2]. And `x[1]`.") == [([1, 3], "A holds "), ([2], ". B holds ")]
