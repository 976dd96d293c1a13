from itertools import chain, combinations, pairwise

import pytest

from app.chunking.chunk import ChunkKind, DraftChunk
from app.chunking.drafting import Drafter
from app.chunking.options import ChunkingOptions
from app.chunking.registry import chunk
from app.chunking.settings import ChunkingSettings
from app.core.errors import InvalidInput
from app.parsing.document import BoundingBox, Element, ElementKind, ParsedDocument
from tests.chunking.documents import (
    WordsAndIdeographs,
    code,
    document,
    drafts,
    heading,
    nothing_to_embed,
    paragraph,
    sentences,
)

TOKENS = WordsAndIdeographs()
SMALL = ChunkingSettings(target_tokens=60, max_tokens=90, max_embedded_tokens=120, min_tokens=8, overlap_tokens=20)


def chunks(parsed: ParsedDocument, settings: ChunkingSettings = SMALL, title: str = "") -> list[DraftChunk]:
    return drafts(parsed, settings, title)


def test_a_section_that_fits_is_one_chunk_under_its_headings() -> None:
    parsed = document(
        heading("Manual"), heading("Install", 2), paragraph("Run the installer."), paragraph("Then restart.")
    )
    (only,) = chunks(parsed, title="Printer")
    assert only.text == "Run the installer.\n\nThen restart."
    assert only.heading_path == ("Manual", "Install")
    assert only.embedded_text("Printer") == "Printer > Manual > Install\nRun the installer.\n\nThen restart."
    assert only.token_count == TOKENS.count(only.embedded_text("Printer"))
    assert parsed.text[only.start : only.end] == only.text


def test_sections_do_not_share_a_chunk() -> None:
    parsed = document(heading("A"), paragraph(sentences(4)), heading("B"), paragraph(sentences(4)))
    first, second = chunks(parsed)
    assert (first.heading_path, first.section) == (("A",), 0)
    assert (second.heading_path, second.section) == (("B",), 1)


def test_chunks_are_made_as_they_are_asked_for() -> None:
    counted = 0

    class Counting(WordsAndIdeographs):
        def count(self, text: str) -> int:
            nonlocal counted
            counted += len(text)
            return super().count(text)

    sections = [(heading(f"{number}"), paragraph(sentences(40))) for number in range(100)]
    made = chunk(document(*chain.from_iterable(sections)), SMALL, Counting(), embed=nothing_to_embed)
    next(made)
    at_first = counted
    assert len(list(made)) > 100
    assert at_first < counted / 2


def test_any_range_of_the_text_is_put_together_as_the_document_does() -> None:
    empty = Element(kind=ElementKind.PAGE_BREAK)
    parsed = document(empty, paragraph("one"), empty, heading("two"), empty, empty, paragraph("three"), empty)
    text = Drafter(parsed, ChunkingOptions(), TOKENS, "").text
    whole = parsed.text
    ranges = combinations(range(len(whole) + 1), 2)
    assert all(text[start:end] == whole[start:end] for start, end in ranges)


def test_a_heading_closes_those_of_its_level_and_below() -> None:
    parsed = document(
        heading("A"), heading("A1", 2), paragraph(sentences(3)), heading("A2", 3), paragraph(sentences(3)),
        heading("B", 2), paragraph(sentences(3)),
    )  # fmt: skip
    assert [one.heading_path for one in chunks(parsed)] == [("A", "A1"), ("A", "A1", "A2"), ("A", "B")]


def test_tiny_siblings_are_put_together_with_their_headings_in_the_text() -> None:
    parsed = document(heading("FAQ"), heading("Size", 2), paragraph("Large."), heading("Colour", 2), paragraph("Red."))
    (only,) = chunks(parsed)
    assert only.heading_path == ("FAQ",)
    assert only.text == "Size\n\nLarge.\n\nColour\n\nRed."
    assert parsed.text[only.start : only.end] == only.text


def test_a_heading_is_never_a_chunk_alone() -> None:
    parsed = document(heading("Part"), paragraph(sentences(5)), heading("Empty"), heading("Empty too", 2))
    (only,) = chunks(parsed)
    assert only.text.endswith("\n\nEmpty\n\nEmpty too")
    before_text = document(heading("Empty"), heading("Full"), paragraph(sentences(5)))
    (only,) = chunks(before_text)
    assert only.text.startswith("Empty\n\nThe quick")
    assert only.heading_path == ("Full",)


def test_a_document_of_headings_is_found_by_them() -> None:
    (only,) = chunks(document(heading("One"), heading("Two"), heading("Three", 2)))
    assert only.text == "One\n\nTwo\n\nThree"


def test_nothing_from_nothing() -> None:
    assert chunks(document()) == []
    assert chunks(document(paragraph("  \n "), Element(kind=ElementKind.PAGE_BREAK))) == []


def test_a_long_section_is_split_at_sentences_and_overlaps() -> None:
    parsed = document(paragraph(sentences(40)))
    made = chunks(parsed)
    assert len(made) > 3
    for one in made:
        assert one.text == parsed.text[one.start : one.end]
        assert one.text.startswith("The quick")
        assert one.text.endswith(".")
        assert one.section == 0
    for before, after in pairwise(made):
        assert before.start < after.start < before.end < after.end
        assert TOKENS.count(parsed.text[after.start : before.end]) <= SMALL.overlap_tokens


def test_no_overlap_when_none_is_wanted_or_where_a_new_section_begins() -> None:
    settings = SMALL.model_copy(update={"overlap_tokens": 0})
    made = chunks(document(paragraph(sentences(40))), settings)
    assert all(before.end <= after.start for before, after in pairwise(made))
    two = chunks(document(heading("A"), paragraph(sentences(5)), heading("B"), paragraph(sentences(5))))
    assert two[0].end < two[1].start


def test_chinese_is_split_after_its_sentence_marks() -> None:
    text = "".join(f"第{number}条规定，当事人应当遵守诚实信用原则；违反的，应当承担责任。" for number in range(20))
    made = chunks(document(paragraph(text)), SMALL.model_copy(update={"overlap_tokens": 0}))
    assert len(made) > 3
    assert "".join(one.text for one in made) == text
    assert all(one.text[-1] in "。；" for one in made)


def test_text_without_any_boundary_is_split_between_tokens() -> None:
    text = "漢" * 1000
    made = chunks(document(paragraph(text)), SMALL.model_copy(update={"overlap_tokens": 0}))
    assert "".join(one.text for one in made) == text
    assert max(one.token_count for one in made) <= SMALL.max_tokens


def test_code_that_fits_is_kept_whole() -> None:
    block = "\n".join(f"line_{number} = {number}" for number in range(10))
    made = chunks(document(paragraph(sentences(6)), code(block), paragraph(sentences(6))))
    assert sum(block in one.text for one in made) == 1


def test_long_code_is_split_at_blank_lines_and_keeps_its_indentation() -> None:
    functions = [
        f"def function_{number}(value):\n    result = value + {number}\n    return result" for number in range(9)
    ]
    made = chunks(document(code("\n\n".join(functions))))
    assert len(made) > 1
    assert {one.kind for one in made} == {ChunkKind.CODE}
    assert all(one.text.startswith("def function_") for one in made)
    assert all(any(function in one.text for one in made) for function in functions)


def test_pages_and_boxes() -> None:
    box = BoundingBox(left=10, top=10, right=50, bottom=20)
    lower = BoundingBox(left=5, top=30, right=40, bottom=60)
    next_page = BoundingBox(left=0, top=0, right=90, bottom=90)
    parsed = document(
        Element(kind=ElementKind.PARAGRAPH, text="First.", page=3, bbox=box),
        Element(kind=ElementKind.LIST_ITEM, text="Second.", page=3, bbox=lower),
        Element(kind=ElementKind.PAGE_BREAK, page=3),
        Element(kind=ElementKind.PARAGRAPH, text="Third.", page=4, bbox=next_page),
    )
    (only,) = chunks(parsed)
    assert (only.page, only.page_end) == (3, 4)
    assert only.bbox == BoundingBox(left=5, top=10, right=50, bottom=60)


def test_a_heading_as_long_as_a_paragraph_is_cut_in_the_path_and_whole_in_the_text() -> None:
    text = sentences(30)
    made = chunks(document(heading(text), paragraph("Body.")), title="T")
    assert all(len(one.heading_path[0].encode()) <= 160 for one in made)
    assert all(one.token_count <= SMALL.max_embedded_tokens for one in made)
    assert made[0].text.startswith("The quick brown fox jumps over number 0.")
    assert "number 29." in " ".join(one.text for one in made)


def test_long_titles_and_deep_headings_leave_room_for_text() -> None:
    parsed = document(*(heading("深层标题" * 20, level) for level in range(1, 9)), paragraph(sentences(50)))
    settings = ChunkingSettings()
    made = chunks(parsed, settings, title="很长的标题" * 100)
    assert all(one.token_count <= settings.max_embedded_tokens for one in made)
    assert all(one.token_count == TOKENS.count(one.embedded_text("很长的标题" * 100)) for one in made)


def test_the_models_own_limit_holds() -> None:
    class Short(WordsAndIdeographs):
        max_tokens = 70

    made = drafts(document(heading("A"), paragraph(sentences(40))), ChunkingSettings(), "Title", tokens=Short())
    assert max(one.token_count for one in made) <= 70


def test_headings_give_way_where_they_would_leave_no_room() -> None:
    class Short(WordsAndIdeographs):
        max_tokens = 64

    parsed = document(heading("第一编总则" * 6), heading("第二章合同" * 6, 2), paragraph("正文。"))
    (only,) = drafts(parsed, ChunkingSettings(), tokens=Short())
    assert only.heading_path == ("第二章合同" * 6,)


def test_no_room_at_all_is_said_so() -> None:
    class Tiny(WordsAndIdeographs):
        max_tokens = 32

    with pytest.raises(InvalidInput, match="leaves no room for text") as raised:
        drafts(document(paragraph("Text.")), ChunkingSettings(), "a title of a good many words " * 3, tokens=Tiny())
    assert raised.value.error_code == "chunks_do_not_fit"


def test_a_title_that_the_first_heading_repeats_is_embedded_once() -> None:
    (only,) = chunks(document(heading("Guide"), paragraph("Text.")), title="Guide")
    assert only.embedded_text("Guide") == "Guide\nText."
