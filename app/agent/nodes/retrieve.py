"""Finds passages for the question."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import structlog
from langgraph.runtime import Runtime

from app.agent import events
from app.agent.follow_ups import goes_on
from app.agent.language import language_of
from app.agent.neutral import LanguageMeans, NeutralQuestion
from app.agent.passages import Passage
from app.agent.relevance import in_reading_order, relevance_of
from app.agent.state import AgentState, SourceState, Turn
from app.core.errors import EngineRejected, EngineUnavailable
from app.retrieval.schemas import MOST_QUERY_CHARACTERS, EngineName, Hit, RetrieveRequest

log = structlog.get_logger()

LANGUAGE_MEANS = LanguageMeans()
POOL = 48
"""Hits that are looked at: those in another language than the question stand far down, behind all of its own."""


async def retrieve(state: AgentState, runtime: Runtime[Turn]) -> dict[str, Any]:
    """Fills the turn's passages. Raises `Unavailable` when nothing could be searched."""
    turn = runtime.context
    query = searched_for(state["question"], turn.previous_question)
    result = await turn.retriever.retrieve(
        turn.scope,
        RetrieveRequest(
            query=query,
            knowledge_base_ids=[UUID(kb_id) for kb_id in state["knowledge_base_ids"]],
            top_k=max(POOL, state["top_k"]),
        ),
    )
    if result.hits and EngineName.VECTORS not in result.degraded:
        turn.neutral_question = await _neutral(query, turn)
    found = in_reading_order(query, await _passages(result.hits, turn))[: state["top_k"]]
    turn.passages = {number: replace(one, number=number) for number, one in enumerate(found, start=1)}
    turn.draft.degraded = [str(engine) for engine in result.degraded]
    relevance = relevance_of(query, list(turn.passages.values()))
    told = {
        "query": query,
        "passages": len(turn.passages),
        "relevance": relevance.value,
        "degraded": turn.draft.degraded,
        "took_ms": result.took_ms.total,
    }
    turn.draft.steps.append({"name": "retrieve", **told})
    runtime.stream_writer(events.step("retrieve", **told, sources=list(map(_shown, turn.passages.values()))))
    sources = [
        SourceState(number=one.number, chunk_id=str(one.chunk_id), document_id=str(one.document_id))
        for one in turn.passages.values()
    ]
    return {"query": query, "sources": sources, "relevance": relevance.value}


def _shown(passage: Passage) -> dict[str, Any]:
    return {
        "number": passage.number,
        "document_id": str(passage.document_id),
        "document_name": passage.document_name,
        "page": passage.page,
    }


async def _neutral(query: str, turn: Turn) -> NeutralQuestion | None:
    """None where the vectors don't come in time: shared terms decide then."""
    embedder = turn.parts.embedder
    try:
        async with asyncio.timeout(turn.parts.settings.retrieval_timeout_seconds):
            vector = await turn.parts.question_vectors.get(embedder, turn.scope.tenant_id, query)
            return await LANGUAGE_MEANS.neutral(embedder, vector, language_of(query))
    except (EngineUnavailable, EngineRejected, TimeoutError) as failure:
        log.warning("question_vector_missing", reason=str(failure) or "too late")
        return None


async def _passages(hits: Sequence[Hit], turn: Turn) -> list[Passage]:
    """In the order of retrieval. A parent is as near as the best of the chunks that it stands for."""
    question, cosines = turn.neutral_question, dict[UUID, float]()
    nearest = [hit.merged_from[0] if hit.merged_from else hit.chunk_id for hit in hits]
    if question is not None and hits:
        try:
            async with asyncio.timeout(turn.parts.settings.retrieval_timeout_seconds):
                cosines = await turn.parts.vectors.score(turn.scope, question.vector, nearest)
        except (EngineUnavailable, EngineRejected, TimeoutError) as failure:
            log.warning("passage_vectors_missing", reason=str(failure) or "too late")
    passages: list[Passage] = []
    for number, (hit, chunk_id) in enumerate(zip(hits, nearest, strict=True), start=1):
        cosine = cosines.get(chunk_id)
        neutral = None
        if question is not None and cosine is not None:
            neutral = question.above_mean(cosine, language_of(hit.text))
        passages.append(Passage.of(number, hit, neutral))
    return passages


def searched_for(question: str, previous: str | None) -> str:
    """The question; one that goes on from the question before it is searched for together with that."""
    if previous and goes_on(question):
        return f"{previous}\n{question}"[:MOST_QUERY_CHARACTERS]
    return question
