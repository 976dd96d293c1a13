"""Decides what the answer may cite: sources of this turn, and nothing else."""

from typing import Any

from langgraph.runtime import Runtime

from app.agent import events
from app.agent.citations import citations_of
from app.agent.notices import Notice
from app.agent.rendering import CitationReference, render_citation
from app.agent.state import AgentState, Turn
from app.models import AnswerKind


async def verify(state: AgentState, runtime: Runtime[Turn]) -> dict[str, Any]:
    turn, draft = runtime.context, runtime.context.draft
    settle_citations(turn)
    if draft.kind is AnswerKind.GENERATED and not draft.citations and draft.notice is None:
        draft.notice = Notice.UNCITED
    for found in draft.citations:
        runtime.stream_writer(events.citation(render_citation(found, turn.passages[found["number"]].shown)))
    if draft.usage is not None:
        runtime.stream_writer(events.usage(draft.usage.prompt_tokens, draft.usage.completion_tokens, draft.model))
    return {"citations": draft.citations, "notice": draft.notice}


def settle_citations(turn: Turn) -> None:
    """Makes the draft's citations out of the words said so far; also where a run ended early."""
    draft = turn.draft
    if draft.kind is not AnswerKind.EXTRACTIVE:
        draft.citations = citations_of(draft.content, turn.passages)
    draft.citations = [found for found in draft.citations if _is_of_this_turn(found, turn)]


def _is_of_this_turn(found: CitationReference, turn: Turn) -> bool:
    passage = turn.passages.get(found["number"])
    return (
        passage is not None
        and found["chunk_id"] == str(passage.chunk_id)
        and 0 <= found["start"] < found["end"] <= len(passage.text)
    )
