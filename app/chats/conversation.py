"""The messages of a session as they are stored, read through the cache.

Postgres is the truth: a cached copy is used only if it carries the revision that the session's row has now, so a stale
one is never shown, whatever order writers and readers came in. Copies hold what `messages` holds: no text of documents.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from pydantic import ConfigDict, TypeAdapter, ValidationError

from app.agent.rendering import CitationReference, ShownChunk, render_answer, render_citation
from app.chats import repository
from app.chats.schemas import MessageOut
from app.core.database import ReadSession
from app.core.described import ApiModel
from app.core.errors import EngineUnavailable
from app.models import AnswerKind, ChatSession, MessageRole, MessageStatus
from app.ports.cache import Cache

log = structlog.get_logger()

CACHED_MESSAGES = 100
"""A session with more is cached by its last ones: those are what the next answer needs."""
TTL_SECONDS = 900


class StoredMessage(ApiModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    session_id: UUID
    role: MessageRole
    content: str
    status: MessageStatus
    kind: AnswerKind | None
    notice: str | None
    citations: list[CitationReference]
    trace: list[dict[str, Any]]
    model: str | None
    usage: dict[str, Any]
    created_at: datetime


class _Copy(ApiModel):
    revision: int
    whole: bool
    """Whether the session has no earlier messages than these."""
    messages: list[StoredMessage]


_MESSAGES = TypeAdapter(list[StoredMessage])


class Conversation:
    """Reads one session's messages. Built per request."""

    def __init__(self, cache: Cache, session: ReadSession, chat: ChatSession) -> None:
        self._cache = cache
        self._session = session
        self._chat = chat

    async def page(self, after: UUID | None, limit: int) -> list[StoredMessage]:
        """In order, those after the id; one more than `limit` where there is one."""
        copy = await self._copy()
        if copy.whole:
            later = [message for message in copy.messages if after is None or message.id > after]
            return later[: limit + 1]
        rows = await repository.messages(self._session, self._chat.id, after=after, limit=limit + 1)
        return _MESSAGES.validate_python(rows)

    async def latest(self, limit: int) -> list[StoredMessage]:
        """The last ones in order, at most `CACHED_MESSAGES`."""
        return (await self._copy()).messages[-limit:]

    async def _copy(self) -> _Copy:
        cached = await _read(self._cache, cache_key(self._chat.tenant_id, self._chat.id))
        if cached is not None and cached.revision == self._chat.revision:
            return cached
        rows = await repository.latest_messages(self._session, self._chat.id, CACHED_MESSAGES + 1)
        copy = _Copy(
            revision=self._chat.revision,
            whole=len(rows) <= CACHED_MESSAGES,
            messages=_MESSAGES.validate_python(rows[-CACHED_MESSAGES:]),
        )
        await _write(self._cache, cache_key(self._chat.tenant_id, self._chat.id), copy)
        return copy


def cache_key(tenant_id: UUID, session_id: UUID) -> str:
    return f"chats:{tenant_id}:{session_id}"


async def drop_copy(cache: Cache, tenant_id: UUID, session_id: UUID) -> None:
    """After a write: the old copy would not be used any more, and need not lie about."""
    try:
        await cache.delete(cache_key(tenant_id, session_id))
    except EngineUnavailable as error:
        log.warning("chat_cache_unavailable", detail=error.detail)


async def _read(cache: Cache, key: str) -> _Copy | None:
    try:
        found = await cache.get(key)
        return None if found is None else _Copy.model_validate_json(found)
    except EngineUnavailable as error:
        log.warning("chat_cache_unavailable", detail=error.detail)
    except ValidationError:
        log.warning("chat_cache_unreadable", key=key)  # written by another version
    return None


async def _write(cache: Cache, key: str, copy: _Copy) -> None:
    try:
        await cache.set(key, copy.model_dump_json().encode(), ttl_seconds=TTL_SECONDS)
    except EngineUnavailable as error:
        log.warning("chat_cache_unavailable", detail=error.detail)


async def shown_messages(session: ReadSession, stored: list[StoredMessage]) -> list[MessageOut]:
    """Messages with the text of their citations, as far as it may be read now: two queries, however many they are."""
    references = [reference for message in stored for reference in message.citations]
    chunks = await repository.cited_chunks(session, {UUID(reference["chunk_id"]) for reference in references})
    documents = await repository.live_documents(session, {UUID(one["document_id"]) for one in references})
    return [_shown(message, chunks, documents) for message in stored]


def _shown(message: StoredMessage, chunks: dict[UUID, ShownChunk], documents: dict[UUID, str]) -> MessageOut:
    citations = [
        render_citation(
            reference, chunks.get(UUID(reference["chunk_id"])), documents.get(UUID(reference["document_id"]))
        )
        for reference in message.citations
    ]
    deleted = {one.document_id for one in citations} - documents.keys()
    return MessageOut(
        **message.model_dump(include={"id", "session_id", "role", "status", "kind", "notice", "model", "usage"}),
        content=render_answer(message.content, message.citations, citations, deleted),
        citations=citations,
        steps=message.trace,
        created_at=message.created_at,
    )
