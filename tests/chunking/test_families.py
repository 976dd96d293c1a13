from collections.abc import Callable
from itertools import pairwise

import pytest

from app.chunking.chunk import DraftChunk, provenance_of
from app.chunking.options import HierarchicalOptions, ParentChildOptions
from app.chunking.settings import ChunkingSettings
from app.parsing.document import BoundingBox, Element, ElementKind, ParsedDocument
from tests.chunking.documents import COUNTER, document, drafts, heading, paragraph, sentences, table

ROWS = [["id", "name"], *([str(number), f"person {number}"] for number in range(80))]


def parent_child(parsed: ParsedDocument, child: int = 40, parent: int = 150) -> list[DraftChunk]:
    options = ParentChildOptions(child_tokens=child, parent_tokens=parent)
    return drafts(parsed, ChunkingSettings(strategy="parent_child", parent_child=options, min_tokens=8), "Title")


def hierarchical(parsed: ParsedDocument) -> list[DraftChunk]:
    options = HierarchicalOptions(leaf_tokens=40, middle_tokens=120, top_tokens=400)
    return drafts(parsed, ChunkingSettings(strategy="hierarchical", hierarchical=options, min_tokens=8), "Title")


def split(made: list[DraftChunk]) -> tuple[list[DraftChunk], list[DraftChunk]]:
    searched = [one for one in made if one.level == 0]
    assert made[: len(searched)] == searched, "what is searched comes first"
    return searched, made[len(searched) :]


def test_children_have_their_section_as_parent() -> None:
    parsed = document(heading("A"), paragraph(sentences(10)), heading("B"), paragraph(sentences(8)))
    made = parent_child(parsed)
    children, parents = split(made)
    assert [one.heading_path for one in parents] == [("A",), ("B",)]
    assert [one.text for one in parents] == [sentences(10), sentences(8)]
    assert all(one.always_read and one.level == 1 for one in parents)
    for child in children:
        assert child.token_count <= 40 + COUNTER.count("Title > A\n") + 1
        assert child.parent is not None
        assert child.text in made[child.parent].text
        assert child.heading_path == made[child.parent].heading_path


def test_a_long_section_has_several_parents_that_do_not_overlap() -> None:
    parsed = document(paragraph(sentences(60)))
    _, parents = split(parent_child(parsed))
    assert len(parents) > 3
    for before, after in pairwise(parents):
        assert before.end <= after.start
    sizes = [COUNTER.count(one.text) for one in parents]
    assert max(sizes) <= 150
    assert min(sizes) > 75, "they are of about the same size"


def test_what_would_be_alone_under_its_parent_has_none() -> None:
    made = parent_child(document(heading("A"), paragraph("Short."), heading("B"), paragraph(sentences(10))))
    assert made[0].text == "Short."
    assert made[0].parent is None


@pytest.mark.parametrize("make", [parent_child, hierarchical])
def test_a_split_table_stands_in_no_parent(make: Callable[[ParsedDocument], list[DraftChunk]]) -> None:
    parsed = document(heading("A"), paragraph(sentences(6)), table(ROWS), paragraph(sentences(6)))
    children, parents = split(make(parsed))
    tables = [one for one in children if one.kind == "table"]
    assert len(tables) > 5
    assert {one.parent for one in tables} == {None}
    assert not any("person 40" in one.text for one in parents)
    assert len(parents) == 2


def test_three_levels_over_sections_of_one_chapter() -> None:
    parsed = document(
        heading("Chapter"), heading("One", 2), paragraph(sentences(10)), heading("Two", 2), paragraph(sentences(10)),
        heading("Next"), paragraph(sentences(10)),
    )  # fmt: skip
    made = hierarchical(parsed)
    _, parents = split(made)
    (top,) = [one for one in parents if one.level == 2 and one.heading_path == ("Chapter",)]
    below = [one for one in parents if one.parent == made.index(top)]
    assert {one.heading_path for one in below} == {("Chapter", "One"), ("Chapter", "Two")}
    assert top.text.startswith("One\n\nThe quick"), "headings below the path stand in the text"
    assert "\n\nTwo\n\nThe quick" in top.text
    assert "Next" not in top.text
    assert not any(one.always_read for one in made)
    for one in made:
        assert one.text == parsed.text[one.start : one.end]
        if one.parent is not None:
            holder = made[one.parent]
            assert holder.level > one.level
            assert holder.start <= one.start < one.end <= holder.end


def test_parents_know_pages_and_boxes() -> None:
    def on(page: int, text: str) -> Element:
        box = BoundingBox(left=10 * page, top=0, right=10 * page + 5, bottom=5)
        return Element(kind=ElementKind.PARAGRAPH, text=text, page=page, bbox=box)

    parsed = document(*(on(page, sentences(3, f"Page {page} says {{}}.")) for page in range(1, 6)))
    _, parents = split(parent_child(parsed))
    assert len(parents) == 1
    parent = parents[0]
    assert (parent.page, parent.page_end) == (1, 5)
    assert parent.bbox == BoundingBox(left=10, top=0, right=15, bottom=5)
    for page in range(1, 6):
        start = parent.text.index(f"Page {page}")
        assert [part.page for part in provenance_of(parent.provenance, start, start + 1)] == [page]
