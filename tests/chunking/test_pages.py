"""Which page and box a character of a chunk stands in."""

from itertools import pairwise

import pytest

from app.chunking.chunk import DraftChunk, Provenance, provenance_of
from app.chunking.options import TableOptions
from app.chunking.settings import ChunkingSettings
from app.parsing.document import BoundingBox, Continuation, Element, ElementKind, Table
from app.parsing.tables import markdown
from tests.chunking.documents import document, drafts, heading, paragraph, sentences, table

WHOLE = ChunkingSettings()
SMALL = ChunkingSettings(target_tokens=60, max_tokens=90, max_embedded_tokens=120, min_tokens=8, overlap_tokens=20)

PARENTS = SMALL.model_copy(update={"strategy": "parent_child"})


def page_of(one: DraftChunk, words: str) -> int:
    start = one.text.index(words)
    (part,) = provenance_of(one.provenance, start, start + len(words))
    return part.page


def test_a_chunk_over_several_pages_knows_where_each_begins() -> None:
    """Also where an empty page lies between, around a table, and when there is no page at all."""
    parsed = document(
        paragraph("On one.", 1),
        paragraph("Still on one.", 1),
        paragraph("On four.", 4),
        table([["Head"], ["cell"]], page=5),
        paragraph("After the table.", 5),
        paragraph("On six.", 6),
    )
    (only,) = drafts(parsed, WHOLE)
    assert (only.page, only.page_end) == (1, 6)
    assert [page_of(only, words) for words in ("On one", "Still", "On four", "cell", "After", "On six")] == [
        1, 1, 4, 5, 5, 6,
    ]  # fmt: skip
    (pageless,) = drafts(document(paragraph("Text.")), WHOLE)
    assert (pageless.page, pageless.provenance) == (None, ())


def test_words_lead_to_the_boxes_of_the_elements_that_hold_them() -> None:
    """On every page of the chunk, of each column alone, and once for an element that was cut into sentences."""
    boxes = [BoundingBox(left=left, top=top, right=left + 200, bottom=top + 50) for left, top in ((50, 700), (300, 60))]
    first, second = (
        Element(kind=ElementKind.PARAGRAPH, text=text, page=page, bbox=box)
        for text, page, box in (("On one. Still there.", 1, boxes[0]), ("On two. The end.", 2, boxes[1]))
    )
    (only,) = drafts(document(first, second), WHOLE)
    parts = (Provenance(start=0, page=1, bbox=boxes[0]), Provenance(start=22, page=2, bbox=boxes[1]))
    assert only.provenance == parts
    for words, wanted in (("Still there.", parts[:1]), ("The end.", parts[1:]), ("there.\n\nOn two", parts)):
        start = only.text.index(words)
        assert provenance_of(only.provenance, start, start + len(words)) == list(wanted)

    long = Element(kind=ElementKind.PARAGRAPH, text=sentences(30, "Sentence {} is here."), page=3, bbox=boxes[0])
    made = drafts(document(long), SMALL)
    assert len(made) > 1
    assert all(one.provenance == (Provenance(start=0, page=3, bbox=boxes[0]),) for one in made)


def test_overlap_keeps_the_page_it_comes_from() -> None:
    parsed = document(heading("A"), *(paragraph(sentences(3, f"Page {page} says {{}}."), page) for page in range(1, 9)))
    made = drafts(parsed, SMALL)
    assert len(made) > 2
    assert any(later.start < earlier.end for earlier, later in pairwise(made)), "nothing overlaps"
    for one in made:
        for page in range(1, 9):
            if f"Page {page} says" in one.text:
                assert page_of(one, f"Page {page} says") == page


@pytest.mark.parametrize(
    "chunking",
    [WHOLE, SMALL, SMALL.model_copy(update={"tables": TableOptions(rows=False)}), PARENTS],
    ids=str,
)
def test_rows_of_a_table_over_pages_lead_to_theirs(chunking: ChunkingSettings) -> None:
    """In one chunk or several, as Markdown or as sentences, and in a parent that is read instead."""
    rows = [["Berth", "Keeper"], *([f"Quay {number:02}", f"crew {number}"] for number in range(1, 31))]
    over_pages = Table(
        rows=rows,
        continuations=[Continuation(first_row=11, page=2), Continuation(first_row=21, page=3)],
    )
    element = Element(kind=ElementKind.TABLE, text=markdown(rows, 1), page=1, table=over_pages)
    made = drafts(document(paragraph("Before it.", 1), element, paragraph("After it.", 3)), chunking)
    for number in range(1, 31):
        holding = [one for one in made if f"Quay {number:02}" in one.text]
        assert holding
        assert {page_of(one, f"Quay {number:02}") for one in holding} == {(number - 1) // 10 + 1}
    for one in made:
        assert (one.page, one.page_end) == (one.provenance[0].page, one.provenance[-1].page)
