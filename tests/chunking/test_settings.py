import pytest
from pydantic import ValidationError

from app.chunking.chunk import context_line, cut
from app.chunking.settings import ChunkingSettings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_tokens": 460}, r"target_tokens \(460\) must not be larger than max_tokens \(450\)"),
        ({"max_tokens": 500}, r"max_tokens \(500\) must not be larger than max_embedded_tokens \(480\)"),
        ({"overlap_tokens": 161}, r"overlap_tokens \(161\) must be at most half of target_tokens \(320\)"),
        ({"min_tokens": 321}, r"min_tokens \(321\) must not be larger than target_tokens \(320\)"),
        (
            {"strategy": "magic"},
            r"There is no chunking strategy 'magic'; there are: hierarchical, parent_child, recursive",
        ),
        ({"recursive": {"separators": [""]}}, "at least 1 character"),
        ({"recursive": {"separator": "x"}}, "Extra inputs"),
        ({"semantic": {"breakpoint": "interquartile", "amount": 11}}, "is a factor of 0 to 10"),
        ({"semantic": {"breakpoint": "gradient"}}, "percentile"),
        ({"parent_child": {"child_tokens": 1024}}, r"child_tokens \(1024\) must be smaller than parent_tokens"),
        ({"hierarchical": {"middle_tokens": 2048}}, "must grow from one to the next"),
        (
            {"strategy": "hierarchical", "max_tokens": 100, "target_tokens": 90},
            r"hierarchical.leaf_tokens \(128\) must not be larger than max_tokens \(100\)",
        ),
        ({"tables": {"rows": "perhaps"}}, "valid boolean"),
        ({"max_token": 300}, "Extra inputs"),
        ({"target_tokens": 0}, "greater than or equal to 32"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ChunkingSettings.model_validate(changes)


def test_defaults_agree() -> None:
    assert ChunkingSettings().strategy == "structure"


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("short", 10, "short"),
        ("two\n  lines", 20, "two lines"),
        ("abcdefghij", 8, "abcde…"),
        ("一二三四", 9, "一二…"),
        ("一二三四", 8, "一…"),
        ("abcdef", 3, ""),
        ("abc", 3, "abc"),
        ("", 3, ""),
    ],
)
def test_cut(text: str, size: int, expected: str) -> None:
    assert cut(text, size) == expected


def test_the_context_line_keeps_the_last_headings() -> None:
    assert context_line("", ()) == ""
    assert context_line("T", ("T", "A")) == "T > A\n"
    assert context_line("", ("A", "", "B")) == "A > B\n"
    deep = context_line("T", ("first " * 30, "second " * 20, "last"))
    assert deep.startswith("T > first")
    assert deep.endswith(" > last\n")
    assert len(deep.encode()) < 210
