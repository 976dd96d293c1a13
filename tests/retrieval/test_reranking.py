"""The reranker's part in an answer, over a real socket: a scripted server gives the scores."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from app.adapters.rerank.http import HttpReranker
from app.chunking.chunk import embedded_text
from app.core.ids import chunk_id
from app.models import Chunk
from app.retrieval.explained import Explanation
from app.retrieval.schemas import EngineName, RetrievalResult
from tests.peers.openai import Body, Fault, OpenAIPeer, running_peer
from tests.retrieval.shelf import Shelf

LEAVE = "Employees get twenty-five days of paid leave a year."
SICK = "Paid sick leave needs a certificate after three days of leave."
PUMP = "The pump P-101 must be shut off before the valve is opened."
SCORES = {LEAVE: -2.5, SICK: 0.25, PUMP: 7.0}
"""The very opposite of what a question about leave finds."""


def text_of(passage: str) -> str:
    return passage.split("\n", 1)[1]


@pytest.fixture(scope="module")
def shared_peer() -> Iterator[OpenAIPeer]:
    with running_peer() as peer:
        peer.score = lambda query, passage: SCORES[text_of(passage)]
        yield peer


@pytest.fixture
def peer(shared_peer: OpenAIPeer) -> OpenAIPeer:
    shared_peer.reset()
    return shared_peer


@pytest.fixture
async def filled(shelf: Shelf, peer: OpenAIPeer) -> AsyncIterator[Shelf]:
    """A shelf with three chunks whose questions are reranked by the peer, which may take 0.5 s."""
    await shelf.document(await shelf.knowledge_base(), LEAVE, SICK, PUMP)
    reranker = HttpReranker(f"{peer.url}/rerank", "cross", shelf.parts.embedder.tokens, first_wait=0.01)
    await reranker.open()
    impatient = shelf.parts.settings.model_copy(update={"rerank_timeout_seconds": 0.5})
    yield replace(shelf, parts=replace(shelf.parts, reranker=reranker, settings=impatient))
    await reranker.close()


def texts(result: RetrievalResult) -> list[str]:
    return [hit.text for hit in result.hits]


def asked(peer: OpenAIPeer) -> list[Body]:
    return peer.requests("rerank")


async def explained(shelf: Shelf, **request: Any) -> Explanation:
    found = (await shelf.retrieve("paid leave", explain=True, **request)).explanation
    assert found is not None
    return found


async def fused_order(shelf: Shelf) -> list[str]:
    return texts(await shelf.retrieve("paid leave", rerank=False))


async def test_its_scores_order_the_hits_and_are_told(filled: Shelf, peer: OpenAIPeer) -> None:
    result = await filled.retrieve("paid leave")
    assert texts(result) == [PUMP, SICK, LEAVE]
    assert [hit.scores.rerank for hit in result.hits] == [7.0, 0.25, -2.5]
    assert [hit.ranks.rerank for hit in result.hits] == [1, 2, 3]
    assert result.degraded == []
    assert result.took_ms.rerank > 0
    assert len(asked(peer)) == 1


async def test_it_reads_titles_and_headings_and_sees_what_may_be_seen_only(
    filled: Shelf, foreign_shelf: Shelf, peer: OpenAIPeer
) -> None:
    (own,) = {hit.document_id for hit in (await filled.retrieve("leave", rerank=False)).hits}
    foreign = await foreign_shelf.document(await foreign_shelf.knowledge_base(), "Foreign leave.")
    await filled.index(await foreign_shelf.find(foreign), 1, "Foreign leave.")
    await filled.change(Chunk, chunk_id(own, 1, 1), enabled=False)
    await filled.retrieve("paid leave")
    (request,) = asked(peer)
    assert request["query"] == "paid leave"
    assert set(request["documents"]) == {
        embedded_text("notes.md", ["Part", f"Section {number}"], text) for number, text in ((0, LEAVE), (2, PUMP))
    }


async def test_it_reads_no_more_than_asked(filled: Shelf, peer: OpenAIPeer) -> None:
    """What it was not asked about keeps its order behind the rest."""
    before = await fused_order(filled)
    result = await filled.retrieve("paid leave", rerank_depth=2)
    assert [text_of(passage) for passage in asked(peer)[0]["documents"]] == before[:2]
    assert texts(result) == [*sorted(before[:2], key=lambda text: -SCORES[text]), before[2]]
    assert [hit.scores.rerank is None for hit in result.hits] == [False, False, True]


async def test_the_depth_and_the_wish_may_be_stored(shelf: Shelf, filled: Shelf, peer: OpenAIPeer) -> None:
    kb_id = await shelf.knowledge_base(rerank_depth=1)
    await shelf.document(kb_id, LEAVE, SICK)
    await filled.retrieve("paid leave", knowledge_base_ids=[kb_id])
    assert len(asked(peer)[0]["documents"]) == 1
    await filled.retrieve("paid leave", knowledge_base_ids=[kb_id], rerank_depth=2)
    assert len(asked(peer)[1]["documents"]) == 2
    silent = await shelf.knowledge_base(rerank=False)
    await shelf.document(silent, LEAVE)
    await filled.retrieve("paid leave", knowledge_base_ids=[silent])
    assert len(asked(peer)) == 2
    await filled.retrieve("paid leave", knowledge_base_ids=[silent], rerank=True)
    assert len(asked(peer)) == 3


async def test_what_scores_too_low_is_left_out(filled: Shelf) -> None:
    assert texts(await filled.retrieve("paid leave", min_rerank_score=0.25)) == [PUMP, SICK]
    assert (await filled.retrieve("paid leave", min_rerank_score=8)).hits == []
    second = (await fused_order(filled))[1]
    only = await filled.retrieve("paid leave", min_rerank_score=-5, rerank_depth=1)
    assert len(only.hits) == 1
    assert second not in texts(only)


async def test_equal_scores_keep_the_order_of_the_fusion(filled: Shelf, peer: OpenAIPeer) -> None:
    before = await fused_order(filled)
    rows = ", ".join(f'{{"index": {index}, "relevance_score": 1}}' for index in (2, 0, 1))
    peer.fail("rerank", Fault(text=f'{{"results": [{rows}]}}'))
    assert texts(await filled.retrieve("paid leave")) == before


async def test_parents_stand_where_its_scores_put_their_children(filled: Shelf) -> None:
    """And have the scores and ranks of the best of them."""
    (document_id,) = {hit.document_id for hit in (await filled.retrieve("leave", rerank=False)).hits}
    parent, child = chunk_id(document_id, 1, 1), chunk_id(document_id, 1, 2)
    await filled.change(Chunk, parent, level=1, child_count=1)
    await filled.change(Chunk, child, parent_id=parent)
    first = (await filled.retrieve("paid leave")).hits[0]
    assert (first.chunk_id, first.merged_from[0]) == (parent, child)
    assert (first.scores.rerank, first.ranks.rerank) == (7.0, 1)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(hang=True),
        Fault(status=500),
        Fault(status=401),
        Fault(status=429, retry_after="20"),
        Fault(break_after=0),
        Fault(text="<html>"),
        Fault(wrong_count=True),
        Fault(undecodable=True),
    ],
    ids=str,
)
async def test_without_an_answer_the_order_of_the_fusion_stays(filled: Shelf, peer: OpenAIPeer, fault: Fault) -> None:
    before = await fused_order(filled)
    peer.fail("rerank", fault, times=2)
    result = await filled.retrieve("paid leave", min_rerank_score=0)
    assert texts(result) == before
    assert {hit.scores.rerank for hit in result.hits} == {None}
    assert result.degraded == [EngineName.RERANKER]
    assert result.degraded_reasons[EngineName.RERANKER].endswith(".")
    assert "127.0.0.1" not in result.model_dump_json()
    peer.reset()
    assert texts(await filled.retrieve("paid leave"))[0] == PUMP


async def test_where_none_is_configured_only_who_asks_for_it_is_told(shelf: Shelf) -> None:
    await shelf.document(await shelf.knowledge_base(), LEAVE, PUMP)
    assert (await shelf.retrieve("leave")).degraded == []
    assert (await shelf.retrieve("leave", rerank=False)).degraded == []
    for wish in ({"rerank": True}, {"min_rerank_score": 0.5}):
        result = await shelf.retrieve("leave", **wish)
        assert result.degraded == [EngineName.RERANKER]
        assert len(result.hits) == 2


@pytest.mark.parametrize(
    "wish",
    [
        {"rerank_depth": 0},
        {"rerank_depth": 201},
        {"min_rerank_score": float("inf")},
        {"rerank": False, "min_rerank_score": 0.5},
    ],
)
async def test_wishes_that_can_not_be_met_are_refused(shelf: Shelf, wish: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        await shelf.retrieve("leave", **wish)


async def test_explanations_tell_its_ranks_and_scores(filled: Shelf, peer: OpenAIPeer) -> None:
    ids: dict[str, UUID] = {hit.text: hit.chunk_id for hit in (await filled.retrieve("leave", rerank=False)).hits}
    before = await fused_order(filled)
    found = await explained(filled, top_k=1, explain_chunk_ids=[ids[PUMP], ids[LEAVE]])
    assert found.reranking is not None
    assert found.reranking.model == "cross"
    assert [(one.chunk_id, one.rank, one.score, one.fused_rank) for one in found.reranking.candidates] == [
        (ids[text], rank, SCORES[text], before.index(text) + 1)
        for rank, text in enumerate((PUMP, SICK, LEAVE), start=1)
    ]
    returned, below = found.chunks
    assert (returned.outcome, returned.rerank_score, returned.rerank_rank) == ("returned", 7.0, 1)
    assert returned.reason == f"It is returned, at rank 1 by its rerank score of 7.0000 ({returned.fused_rank} before)."
    assert (below.outcome, below.rerank_rank) == ("below_top_k", 3)
    assert below.reason.startswith("It has rank 3 by its rerank score of -2.5000 (")
    assert below.reason.endswith(f"({below.fused_rank} before), and top_k is 1.")

    found = await explained(filled, min_rerank_score=1, rerank_depth=2, explain_chunk_ids=list(ids.values()))
    outcomes = {one.chunk_id: one.outcome for one in found.chunks}
    assert outcomes == {
        ids[before[0]]: "below_min_rerank_score",
        ids[before[1]]: "below_min_rerank_score",
        ids[before[2]]: "beyond_rerank_depth",
    }
    assert {one.chunk_id: one.outcome for one in found.dense.candidates} == outcomes
    reasons = {one.chunk_id: one.reason for one in found.chunks}
    assert reasons[ids[LEAVE]] == "Its rerank score is -2.5000, below min_rerank_score, which is 1."
    assert "asked about the first 2 only" in reasons[ids[before[2]]]

    peer.fail("rerank", Fault(status=400))
    assert (await explained(filled)).reranking is None


async def test_of_a_document_the_best_chunks_are_those_that_it_puts_first(filled: Shelf) -> None:
    hits = (await filled.retrieve("leave", rerank=False)).hits
    (document,) = (await explained(filled, top_k=1, explain_document_ids=[hits[0].document_id])).documents
    assert [one.rerank_rank for one in document.best_chunks] == [1, 2, 3]
    assert document.reason.startswith("Of its best chunk, number 2: It is returned, at rank 1")
