"""One question without a session: nothing of it is stored."""

from uuid import UUID

from app.agent.rendering import render_answer, render_citation
from app.agent.service import AgentRun
from app.chats.answering import usage_of
from app.chats.schemas import AnswerOut, AskIn
from app.core.scope import TenantScope
from app.knowledge_bases import service as knowledge_bases
from app.models import MessageStatus
from app.ports.parts import Parts


async def ask(parts: Parts, scope: TenantScope, body: AskIn) -> AgentRun:
    """A run that is ready to start. Raises `NotFound` for a knowledge base or model that is not there."""
    async with parts.database.read(scope) as session:
        await knowledge_bases.require(session, body.knowledge_base_ids)
    return AgentRun(
        parts,
        scope,
        body.question,
        knowledge_base_ids=body.knowledge_base_ids,
        top_k=body.top_k,
        model=body.model,
    )


def answer_of(run: AgentRun) -> AnswerOut:
    """What a finished run said."""
    draft, passages = run.settled(), run.turn.passages
    citations = [render_citation(found, passages[found["number"]].shown) for found in draft.citations]
    deleted: set[UUID] = set()
    return AnswerOut(
        answer=render_answer(draft.content, draft.citations, citations, deleted),
        kind=draft.kind,
        status=MessageStatus.FAILED if draft.is_cut_short else MessageStatus.COMPLETE,
        notice=draft.notice,
        citations=citations,
        model=draft.model,
        usage=usage_of(draft),
        steps=draft.steps,
        degraded=draft.degraded,
    )
