"""Decides what the answer may cite: sources of this turn, and nothing else."""

from typing import Any

from langgraph.runtime import Runtime

from app.agent import events
from app.agent.citations import settle_citations
from app.agent.notices import Notice
from app.agent.rendering import render_citation
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
