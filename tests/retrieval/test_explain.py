"""What `explain` tells of candidates, and of chunks and documents that were asked about."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from app.core.ids import chunk_id
from app.models import Chunk, Document
from app.retrieval.explained import Explanation
from tests.retrieval.shelf import Shelf

LEAVE = "Employees get twenty-five days of paid leave a year."
PUMP = "The pump P-101 must be shut off before the valve is opened."
LUNCH = "Lunch is served at noon in the canteen."


async def explained(shelf: Shelf, query: str, **request: object) -> Explanation:
    result = await shelf.retrieve(query, explain=True, **request)
    assert result.explanation is not None
    return result.explanation


@pytest.fixture
async def kb_id(shelf: Shelf) -> UUID:
    return await shelf.knowledge_base()


async def test_nothing_is_explained_unasked(shelf: Shelf, kb_id: UUID) -> None:
    document_id = await shelf.document(kb_id, LEAVE)
    assert (await shelf.retrieve("leave")).explanation is None
    assert (await shelf.retrieve("leave", explain_document_ids=[document_id])).explanation is not None


async def test_terms_and_weights(shelf: Shelf, kb_id: UUID) -> None:
    await shelf.document(kb_id, LEAVE, PUMP)
    known = await explained(shelf, "paid leave")
    assert (known.terms, known.unknown_terms, known.u) == (["paid", "leav"], [], 1.0)
    assert (known.dense_weight, known.bm25_weight) == (0.5, 0.5)
    half = await explained(shelf, "paid submarines")
    assert (half.unknown_terms, half.u) == (["submarin"], 0.5)
    assert half.bm25_weight == pytest.approx(0.25)
    nothing = await explained(shelf, "nuclear submarines")
    assert (nothing.u, nothing.bm25_weight, nothing.dense_weight) == (0.0, 0.0, 1.0)


async def test_every_candidate_has_an_outcome(shelf: Shelf, kb_id: UUID) -> None:
    live = await shelf.document(kb_id, LEAVE, PUMP, LUNCH, LEAVE, tags=["hr"])
    deleted = await shelf.document(kb_id, LEAVE, tags=["hr"])
    retagged = await shelf.document(kb_id, LEAVE, tags=["hr"])
    await shelf.change(Chunk, chunk_id(live, 1, 3), enabled=False)
    await shelf.change(Document, deleted, deleted_at=datetime.now(UTC))
    await shelf.change(Document, retagged, tags=[])
    await shelf.write_generation(live, 2, LEAVE)
    await shelf.index(await shelf.find(live), 9, LEAVE)
    explanation = await explained(shelf, "paid leave", top_k=1, filter={"tags_any": ["hr"]})
    outcomes = {one.chunk_id: one.outcome for one in explanation.dense.candidates}
    assert outcomes == {
        chunk_id(live, 1, 0): "returned",
        chunk_id(live, 1, 1): "below_top_k",
        chunk_id(live, 1, 2): "below_top_k",
        chunk_id(live, 1, 3): "chunk_disabled",
        chunk_id(live, 2, 0): "generation_not_active",
        chunk_id(live, 9, 0): "unknown",
        chunk_id(deleted, 1, 0): "document_deleted",
        chunk_id(retagged, 1, 0): "filtered",
    }
    assert [one.rank for one in explanation.bm25.candidates] == list(range(1, 7))
    assert {one.chunk_id: one.outcome for one in explanation.bm25.candidates}.items() <= outcomes.items()
    unknown = next(one for one in explanation.dense.candidates if one.outcome == "unknown")
    assert unknown.document_id is None


async def test_chunks_asked_about(shelf: Shelf, kb_id: UUID) -> None:
    live = await shelf.document(kb_id, LEAVE, PUMP, LUNCH, LEAVE)
    other = await shelf.document(await shelf.knowledge_base(), LEAVE)
    await shelf.change(Chunk, chunk_id(live, 1, 3), enabled=False)
    await shelf.write_generation(live, 2, LEAVE)
    asked = [*(chunk_id(live, 1, ordinal) for ordinal in range(4)), chunk_id(live, 2, 0), chunk_id(other, 1, 0)]
    explanation = await explained(shelf, "paid leave", top_k=1, knowledge_base_ids=[kb_id], explain_chunk_ids=asked)
    assert [one.chunk_id for one in explanation.chunks] == asked
    first, pump, lunch, disabled, building, elsewhere = explanation.chunks
    assert (first.outcome, first.dense_rank, first.bm25_rank, first.fused_rank) == ("returned", 1, 1, 1)
    assert first.reason == "It is returned, at rank 1."
    assert first.bm25_score is not None
    assert pump.bm25_score is None
    assert {pump.fused_rank, lunch.fused_rank} == {2, 3}
    assert pump.reason == f"It has rank {pump.fused_rank}, and top_k is 1."
    assert disabled.outcome == "chunk_disabled"
    assert disabled.dense_score == pytest.approx(first.dense_score)
    assert disabled.fused_rank in (1, 2)
    assert disabled.reason == f"The chunk is disabled. It would have rank {disabled.fused_rank}."
    assert building.reason.startswith("It is of generation 2 of its document; 1 is active.")
    assert (elsewhere.outcome, elsewhere.reason) == (
        "not_allowed",
        "Its knowledge base was not asked, or you may not read it.",
    )


async def test_a_chunk_behind_all_candidates(shelf: Shelf, kb_id: UUID) -> None:
    crowd = await shelf.document(kb_id, *[f"{LEAVE} {number}" for number in range(101)])
    lone = await shelf.document(kb_id, LUNCH)
    explanation = await explained(shelf, "paid leave", explain_chunk_ids=[chunk_id(lone, 1, 0)])
    (chunk,) = explanation.chunks
    assert (chunk.outcome, chunk.dense_rank, chunk.bm25_rank, chunk.fused_rank) == (
        "not_found_by_channels",
        None,
        None,
        None,
    )
    assert chunk.reason.startswith(
        f"Its dense score is {chunk.dense_score:.4f}, and the last of the 100 candidates has"
    )
    assert chunk.reason.endswith("it holds none of the query's terms.")
    lone_document, crowded = (await explained(shelf, "paid leave", explain_document_ids=[lone, crowd])).documents
    assert lone_document.reason == f"Of its best chunk, number 0: {chunk.reason}"
    assert [one.outcome for one in crowded.best_chunks] == ["returned"] * 3
    assert crowded.best_chunks[0].fused_rank == 1


async def test_a_chunk_below_the_threshold(shelf: Shelf, kb_id: UUID) -> None:
    document_id = await shelf.document(kb_id, LEAVE, LUNCH)
    asked = chunk_id(document_id, 1, 1)
    explanation = await explained(shelf, "paid leave", min_dense_score=1, explain_chunk_ids=[asked])
    (chunk,) = explanation.chunks
    assert chunk.outcome == "below_min_dense_score"
    assert "below min_dense_score, which is 1, and it holds none of the query's terms." in chunk.reason
    assert {one.chunk_id: one.outcome for one in explanation.dense.candidates} == {
        asked: "below_min_dense_score",
        chunk_id(document_id, 1, 0): "returned",
    }


async def test_a_chunk_that_an_index_lost(shelf: Shelf, kb_id: UUID) -> None:
    document_id = await shelf.document(kb_id, LEAVE, LUNCH)
    lost = chunk_id(document_id, 1, 1)
    await shelf.parts.vectors.delete(shelf.scope, [lost])
    explanation = await explained(shelf, "paid leave", explain_chunk_ids=[lost])
    assert explanation.chunks[0].reason == (
        "The vector index does not hold it, and it holds none of the query's terms."
    )


async def test_a_document_that_is_not_ready(shelf: Shelf, kb_id: UUID) -> None:
    document_id = await shelf.document(kb_id, LEAVE)
    await shelf.change(Document, document_id, active_generation=None)
    explanation = await explained(
        shelf, "paid leave", explain_document_ids=[document_id], explain_chunk_ids=[chunk_id(document_id, 1, 0)]
    )
    assert explanation.documents[0].best_chunks == []
    assert explanation.documents[0].reason.startswith("It has no chunk that can be searched")
    assert explanation.chunks[0].reason.startswith("Its document is not ready yet.")


async def test_modes_say_which_channel_was_asked(shelf: Shelf, kb_id: UUID) -> None:
    document_id = await shelf.document(kb_id, LEAVE, LUNCH)
    lexical = await explained(shelf, "paid leave", mode="bm25", explain_chunk_ids=[chunk_id(document_id, 1, 1)])
    assert (lexical.dense.asked, lexical.bm25.asked) == (False, True)
    assert lexical.chunks[0].reason == "The vector index was not asked, and it holds none of the query's terms."
    silent = await explained(shelf, "?!")
    assert (silent.dense.asked, silent.bm25.asked, silent.terms) == (True, False, [])
