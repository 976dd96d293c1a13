"""Which page a character of a chunk stands on."""

from itertools import pairwise

from app.chunking.chunk import DraftChunk, page_at
from app.chunking.settings import ChunkingSettings
from tests.chunking.documents import document, drafts, heading, paragraph, sentences, table

WHOLE = ChunkingSettings()
SMALL = ChunkingSettings(target_tokens=60, max_tokens=90, max_embedded_tokens=120, min_tokens=8, overlap_tokens=20)


def page_of(one: DraftChunk, words: str) -> int | None:
    return page_at(one.page, one.page_starts, one.text.index(words))


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
    assert (pageless.page, pageless.page_starts, page_of(pageless, "Text")) == (None, (), None)


def test_overlap_keeps_the_page_it_comes_from() -> None:
    parsed = document(heading("A"), *(paragraph(sentences(3, f"Page {page} says {{}}."), page) for page in range(1, 9)))
    made = drafts(parsed, SMALL)
    assert len(made) > 2
    assert any(later.start < earlier.end for earlier, later in pairwise(made)), "nothing overlaps"
    for one in made:
        for page in range(1, 9):
            if f"Page {page} says" in one.text:
                assert page_of(one, f"Page {page} says") == page
