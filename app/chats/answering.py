"""One question of a session: claimed, answered, stored, whatever happens on the way.

Each step is a transaction of its own, and none is open while an index or a model works. The claim in the session's row
lets one answer be made at a time. It is a lease that is renewed while the work goes on, so a process that dies blocks
the session for seconds only, and no connection is held for as long as a model talks, as an advisory lock would need.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from uuid import UUID

import structlog

from app.agent import threads
from app.agent.events import Event
from app.agent.service import AgentRun
from app.agent.state import Draft
from app.chats import repository, service
from app.chats.conversation import Conversation, StoredMessage, drop_copy, shown_messages
from app.chats.history import HISTORY_MESSAGES, history_of
from app.chats.schemas import MessageIn, MessageOut
from app.core.database import WriteSession
from app.core.errors import BigGraphError, Conflict
from app.core.ids import new_id
from app.core.scope import TenantScope
from app.models import ChatSession, Message, MessageRole, MessageStatus
from app.ports.parts import Parts

log = structlog.get_logger()

TITLE_CHARACTERS = 80


class SessionAnswer:
    """An answer in the making. Make it by `begin`, walk `events` once; then `message` gives what was stored."""

    def __init__(self, parts: Parts, scope: TenantScope, session_id: UUID, answer_id: UUID, run: AgentRun) -> None:
        self._parts = parts
        self._scope = scope
        self._session_id = session_id
        self._run = run
        self.answer_id = answer_id

    @classmethod
    async def begin(cls, parts: Parts, scope: TenantScope, session_id: UUID, body: MessageIn) -> "SessionAnswer":
        """Stores the question and claims the session.

        Raises `NotFound` for a session, knowledge base or model that is not there, `Conflict` while another answer is
        being made.
        """
        question_id, answer_id = new_id(), new_id()
        async with parts.database.write(scope) as session:
            chat = await _claim(session, scope, session_id, answer_id, _lease(parts))
            knowledge_base_ids = await service.still_there(session, chat.knowledge_base_ids)
            stored = await Conversation(parts.cache, session, chat).latest(HISTORY_MESSAGES)
            history = history_of(await shown_messages(session, stored), parts.embedder.tokens)
            run = AgentRun(
                parts,
                scope,
                body.question,
                knowledge_base_ids=knowledge_base_ids,
                top_k=body.top_k,
                model=body.model,
                history=history,
                session_id=session_id,
            )
            await threads.forget(session, session_id)
            session.add(_question(scope, session_id, question_id, body.question))
            chat.title = chat.title or _title(body.question)
            chat.revision += 1
        await drop_copy(parts.cache, scope.tenant_id, session_id)
        return cls(parts, scope, session_id, answer_id, run)

    async def events(self) -> AsyncGenerator[Event]:
        """The run's events. However it ends, what was said until then is stored and the session is free again."""
        status = MessageStatus.FAILED
        try:
            async with self._renewed_claim(), aclosing(self._run.events()) as events:
                async for event in events:
                    yield event
            status = MessageStatus.COMPLETE
        except (asyncio.CancelledError, GeneratorExit):
            status = MessageStatus.INTERRUPTED
            raise
        finally:
            await self._store(status)

    @asynccontextmanager
    async def _renewed_claim(self) -> AsyncIterator[None]:
        renewing = asyncio.create_task(self._renew())
        try:
            yield
        finally:
            renewing.cancel()

    async def _renew(self) -> None:
        lease = _lease(self._parts)
        while True:
            await asyncio.sleep(lease.total_seconds() / 3)
            try:
                async with self._parts.database.write(self._scope) as session:
                    if not await repository.renew(session, self._session_id, self.answer_id, lease):
                        return
            except BigGraphError as error:
                log.warning("chat_claim_not_renewed", session_id=str(self._session_id), detail=error.detail)

    async def _store(self, status: MessageStatus) -> None:
        draft = self._run.settled()
        if status is MessageStatus.COMPLETE and draft.is_cut_short:
            status = MessageStatus.FAILED
        async with self._parts.database.write(self._scope) as session:
            if not await repository.release(session, self._session_id, self.answer_id):
                log.info("chat_answer_dropped", session_id=str(self._session_id), reason="session gone or taken over")
                return
            session.add(_answer(self._scope, self._session_id, self.answer_id, draft, status))
        await drop_copy(self._parts.cache, self._scope.tenant_id, self._session_id)

    async def message(self) -> MessageOut:
        """The stored answer. Raises `NotFound` if the session was deleted meanwhile."""
        async with self._parts.database.read(self._scope) as session:
            row = await session.get(Message, self.answer_id)
            if row is None:
                raise service.not_found(self._session_id)
            return (await shown_messages(session, [StoredMessage.model_validate(row)]))[0]


async def _claim(
    session: WriteSession, scope: TenantScope, session_id: UUID, answer_id: UUID, lease: timedelta
) -> ChatSession:
    chat = await repository.claim(session, scope.principal_id, session_id, answer_id, lease)
    if chat is None:
        await service.get(session, scope, session_id)
        raise Conflict(
            "An answer is being made in this session. Wait for it, or stop it by closing its stream.",
            code="answer_in_progress",
        )
    return chat


def _lease(parts: Parts) -> timedelta:
    return timedelta(seconds=parts.settings.lease_seconds)


def _title(question: str) -> str:
    line = " ".join(question.split())
    return line if len(line) <= TITLE_CHARACTERS else line[: TITLE_CHARACTERS - 1].rstrip() + "…"


def _question(scope: TenantScope, session_id: UUID, message_id: UUID, text: str) -> Message:
    return Message(
        id=message_id,
        tenant_id=scope.tenant_id,
        session_id=session_id,
        role=MessageRole.USER,
        content=text,
    )


def _answer(scope: TenantScope, session_id: UUID, message_id: UUID, draft: Draft, status: MessageStatus) -> Message:
    return Message(
        id=message_id,
        tenant_id=scope.tenant_id,
        session_id=session_id,
        role=MessageRole.ASSISTANT,
        content=draft.content,
        status=status,
        kind=draft.kind,
        notice=draft.notice,
        citations=draft.citations,
        trace=draft.steps,
        model=draft.model,
        usage=usage_of(draft),
    )


def usage_of(draft: Draft) -> dict[str, int]:
    if draft.usage is None:
        return {}
    return {"prompt_tokens": draft.usage.prompt_tokens, "completion_tokens": draft.usage.completion_tokens}
