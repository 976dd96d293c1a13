"""Answers with sentences of the documents, or says that there are none."""

import asyncio
from typing import Any

import structlog
from langgraph.runtime import Runtime

from app.agent import events
from app.agent.citations import reference
from app.agent.extractive import Sentence, candidate_sentences, choose, choose_by_terms
from app.agent.language import language_of
from app.agent.notices import Notice, not_found_sentence, sentence
from app.agent.relevance import Relevance
from app.agent.rendering import place, unmarked
from app.agent.state import AgentState, Turn
from app.core.errors import EngineRejected, EngineUnavailable
from app.models import AnswerKind

log = structlog.get_logger()


async def extract(state: AgentState, runtime: Runtime[Turn]) -> dict[str, Any]:
    """Says the best sentences, each with its citation. A notice says why no model speaks."""
    turn, draft = runtime.context, runtime.context.draft
    chosen = await _choose(state["query"], turn, Relevance(state["relevance"]))
    if not chosen:
        return await decline(state, runtime)
    notice = Notice(state["notice"]) if state["notice"] else Notice.NO_MODEL
    draft.kind, draft.notice = AnswerKind.EXTRACTIVE, notice
    opening = sentence(notice, language_of(state["question"]))
    draft.say(opening)
    runtime.stream_writer(events.delta(opening))
    for index, one in enumerate(chosen):
        draft.citations.append(reference(one.passage, one.start, one.end))
        draft.content += f"\n\n{place(index)} [{one.passage.number}]"
        runtime.stream_writer(events.delta(f"\n\n{unmarked(one.text)} [{one.passage.number}]"))
    return {"kind": draft.kind.value, "notice": notice.value, "citations": draft.citations}


async def decline(state: AgentState, runtime: Runtime[Turn]) -> dict[str, Any]:
    """Says that the documents don't hold an answer, and cites nothing."""
    draft = runtime.context.draft
    configured = bool(runtime.context.parts.chat_models.names)
    text = not_found_sentence(language_of(state["question"]), model_configured=configured)
    draft.kind, draft.notice = AnswerKind.NOT_FOUND, Notice.NOT_FOUND
    draft.say(text)
    runtime.stream_writer(events.delta(text))
    return {"kind": draft.kind.value, "notice": draft.notice.value}


async def _choose(query: str, turn: Turn, relevance: Relevance) -> list[Sentence]:
    """By vectors where they come in time; else by terms, if the passages are clearly about the question."""
    question = turn.neutral_question
    sentences = candidate_sentences(query, list(turn.passages.values())) if relevance is not Relevance.NONE else []
    if question is not None and sentences:
        texts = [one.embedded for one in sentences]
        try:
            # Behind an ingestion the vectors of sentences may be late, as those of a search may.
            async with asyncio.timeout(turn.parts.settings.retrieval_timeout_seconds):
                vectors = await turn.parts.embedder.embed_passages(texts)
        except (EngineUnavailable, EngineRejected, TimeoutError) as failure:
            log.warning("sentence_vectors_missing", reason=str(failure) or "too late")
        else:
            similarities = question.similarities(vectors, [language_of(one.text) for one in sentences])
            return choose(sentences, question.language, similarities)
    return choose_by_terms(sentences) if relevance is Relevance.STRONG else []
