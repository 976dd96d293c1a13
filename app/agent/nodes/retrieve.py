"""Finds passages for the question."""

import asyncio
from typing import Any
from uuid import UUID

import structlog
from langgraph.runtime import Runtime

from app.agent import events
from app.agent.language import Language
from app.agent.passages import Passage
from app.agent.relevance import Background, is_bare, relevance_of
from app.agent.state import AgentState, SourceState, Turn
from app.core.errors import EngineRejected, EngineUnavailable
from app.retrieval.schemas import MOST_QUERY_CHARACTERS, RetrieveRequest

log = structlog.get_logger()

BACKGROUND_VECTORS = Background()


async def retrieve(state: AgentState, runtime: Runtime[Turn]) -> dict[str, Any]:
    """Fills the turn's passages. Raises `Unavailable` when nothing could be searched."""
    turn = runtime.context
    query = searched_for(state["question"], turn.previous_question)
    result = await turn.retriever.retrieve(
        turn.scope,
        RetrieveRequest(
            query=query,
            knowledge_base_ids=[UUID(kb_id) for kb_id in state["knowledge_base_ids"]],
            top_k=state["top_k"],
        ),
    )
    turn.passages = {number: Passage.of(number, hit) for number, hit in enumerate(result.hits, start=1)}
    turn.draft.degraded = [str(engine) for engine in result.degraded]
    relevance = relevance_of(query, list(turn.passages.values()), await _background(query, turn))
    told = {
        "query": query,
        "passages": len(turn.passages),
        "relevance": relevance.value,
        "degraded": turn.draft.degraded,
        "took_ms": result.took_ms.total,
    }
    turn.draft.steps.append({"name": "retrieve", **told})
    runtime.stream_writer(
        events.step(
            "retrieve",
            **told,
            sources=[
                {
                    "number": one.number,
                    "document_id": str(one.document_id),
                    "document_name": one.document_name,
                    "page": one.page,
                }
                for one in turn.passages.values()
            ],
        )
    )
    sources = [
        SourceState(number=one.number, chunk_id=str(one.chunk_id), document_id=str(one.document_id))
        for one in turn.passages.values()
    ]
    return {"query": query, "sources": sources, "relevance": relevance.value}


async def _background(query: str, turn: Turn) -> dict[Language, float] | None:
    """None where the vectors don't come in time: shared terms decide then."""
    try:
        async with asyncio.timeout(turn.parts.settings.retrieval_timeout_seconds):
            return await BACKGROUND_VECTORS.means(turn.parts.embedder, query)
    except (EngineUnavailable, EngineRejected, TimeoutError) as failure:
        log.warning("background_vectors_missing", reason=str(failure) or "too late")
        return None


def searched_for(question: str, previous: str | None) -> str:
    """The question; one that names nothing ("and why?") is searched for together with the question before it."""
    if previous and is_bare(question):
        return f"{previous}\n{question}"[:MOST_QUERY_CHARACTERS]
    return question
