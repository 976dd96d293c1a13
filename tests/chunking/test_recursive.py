from itertools import pairwise

import pytest

from app.chunking.chunk import DraftChunk
from app.chunking.options import RecursiveOptions
from app.chunking.settings import ChunkingSettings
from app.parsing.document import ParsedDocument
from tests.chunking.documents import COUNTER, code, document, drafts, heading, paragraph, sentences, table


def chunks(parsed: ParsedDocument, separators: tuple[str, ...] | None = None, title: str = "") -> list[DraftChunk]:
    settings = ChunkingSettings(
        strategy="recursive",
        target_tokens=60,
        max_tokens=90,
        max_embedded_tokens=120,
        min_tokens=8,
        overlap_tokens=20,
        recursive=RecursiveOptions(separators=separators),
    )
    return drafts(parsed, settings, title)


def test_sections_share_chunks_with_their_headings_in_the_text() -> None:
    parsed = document(
        heading("Manual"), paragraph(sentences(2)), heading("Install", 2), paragraph(sentences(2)), heading("Use"),
        paragraph(sentences(2)),
    )  # fmt: skip
    made = chunks(parsed)
    assert made[0].text.startswith("Manual\n\nThe quick")
    assert made[1].text.startswith("Install\n\nThe quick")
    assert [one.heading_path for one in made] == [(), ("Manual",)], "the headings above the one it begins with"
    assert "Use\n\nThe quick" in made[1].text
    for one in made:
        assert one.text == parsed.text[one.start : one.end]


def test_text_is_cut_at_the_strongest_separator_that_makes_it_fit() -> None:
    lines = "\n".join(sentences(3, f"Line {number}, sentence {{}}.") for number in range(12))
    made = chunks(document(paragraph(lines)))
    assert len(made) > 2
    assert all(one.text.endswith("sentence 2.") for one in made)
    assert all(later.start < earlier.end for earlier, later in pairwise(made)), "they overlap"


def test_chinese_sentences_are_separated_without_spaces() -> None:
    text = "".join(f"第{number}条规定了双方的权利和义务。" for number in range(40))
    made = chunks(document(heading("合同"), paragraph(text)))
    assert len(made) > 3
    assert all(one.text.endswith("。") for one in made)
    assert all(COUNTER.count(one.embedded_text("")) == one.token_count <= 120 for one in made)
    assert made[0].heading_path == ()
    assert {one.heading_path for one in made[1:]} == {("合同",)}


def test_separators_of_ones_own_are_literal() -> None:
    text = " ".join(f"Item {number}.*ends here" for number in range(60))
    made = chunks(document(paragraph(text)), separators=(".*",))
    assert len(made) > 2
    assert all(one.text.endswith((".*", "ends here")) for one in made[:-1])
    assert all(one.text.endswith(".*") for one in made[:-1])


@pytest.mark.parametrize("separators", [None, ("。", "！"), ("x",), ("\n\n", "\n", " ")])
def test_nothing_is_lost_and_nothing_too_long(separators: tuple[str, ...] | None) -> None:
    parsed = document(
        heading("很长的标题" * 30), paragraph("x" * 900), heading("B"), code("if x:\n    y\n" * 60),
        table([["a", "b"], *([str(number), "c"] for number in range(60))]), paragraph(sentences(40)),
    )  # fmt: skip
    made = chunks(parsed, separators, "Title")
    assert all(one.token_count <= 120 for one in made)
    covered = bytearray(len(parsed.text))
    for one in made:
        covered[one.start : one.end] = b"x" * (one.end - one.start)
    assert not any(not seen and not sign.isspace() for seen, sign in zip(covered, parsed.text, strict=True))


def test_nothing_from_nothing() -> None:
    assert chunks(document()) == []
    assert chunks(document(paragraph(" \n "))) == []
