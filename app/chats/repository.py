"""All SQL of sessions and messages: narrowed to one person, and by row-level security to the tenant."""

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, func, or_, select, update

from app.agent.rendering import ShownChunk
from app.chunking.chunk import Provenance
from app.core.database import ReadSession, WriteSession
from app.core.pagination import PageRequest
from app.models import ChatSession, Chunk, Document, KnowledgeBase, Message


async def find(session: ReadSession, user_id: UUID, session_id: UUID, *, lock: bool = False) -> ChatSession | None:
    query = select(ChatSession).where(ChatSession.id == session_id, ChatSession.user_id == user_id)
    if lock:
        query = query.with_for_update()
    return await session.scalar(query)


async def page(session: ReadSession, user_id: UUID, request: PageRequest) -> list[ChatSession]:
    """The newest first; one row more than asked for where there is one."""
    query = select(ChatSession).where(ChatSession.user_id == user_id)
    if request.after is not None:
        query = query.where(ChatSession.id < request.after)
    return list(await session.scalars(query.order_by(ChatSession.id.desc()).limit(request.limit + 1)))


async def remove(session: WriteSession, user_id: UUID, session_id: UUID) -> bool:
    """Removes a session, and by its foreign keys its messages and checkpoints. False where there is none."""
    gone = await session.scalar(
        delete(ChatSession)
        .where(ChatSession.id == session_id, ChatSession.user_id == user_id)
        .returning(ChatSession.id)
    )
    return gone is not None


async def claim(
    session: WriteSession, user_id: UUID, session_id: UUID, answer_id: UUID, lease: timedelta
) -> ChatSession | None:
    """Makes `answer_id` the one answer in the making, unless another is. The row stays locked until the commit."""
    return await session.scalar(
        update(ChatSession)
        .where(
            ChatSession.id == session_id,
            ChatSession.user_id == user_id,
            or_(ChatSession.answering.is_(None), ChatSession.answering_until < func.now()),
        )
        .values(answering=answer_id, answering_until=func.now() + lease)
        .returning(ChatSession)
    )


async def renew(session: WriteSession, session_id: UUID, answer_id: UUID, lease: timedelta) -> bool:
    """False where the claim was lost, or the session is gone."""
    held = await session.scalar(
        update(ChatSession)
        .where(ChatSession.id == session_id, ChatSession.answering == answer_id)
        .values(answering_until=func.now() + lease, updated_at=ChatSession.updated_at)
        .returning(ChatSession.id)
    )
    return held is not None


async def release(session: WriteSession, session_id: UUID, answer_id: UUID) -> bool:
    """Ends the claim; False where it was lost, or the session is gone, and nothing may be written."""
    held = await session.scalar(
        update(ChatSession)
        .where(ChatSession.id == session_id, ChatSession.answering == answer_id)
        .values(answering=None, answering_until=None, revision=ChatSession.revision + 1)
        .returning(ChatSession.id)
    )
    return held is not None


async def messages(session: ReadSession, session_id: UUID, *, after: UUID | None = None, limit: int) -> list[Message]:
    """In order, the oldest first."""
    query = select(Message).where(Message.session_id == session_id)
    if after is not None:
        query = query.where(Message.id > after)
    return list(await session.scalars(query.order_by(Message.id).limit(limit)))


async def latest_messages(session: ReadSession, session_id: UUID, limit: int) -> list[Message]:
    """The last `limit` messages in order, the oldest first."""
    query = select(Message).where(Message.session_id == session_id).order_by(Message.id.desc()).limit(limit)
    return list(await session.scalars(query))[::-1]


async def cited_chunks(session: ReadSession, chunk_ids: Collection[UUID]) -> dict[UUID, ShownChunk]:
    """Those of the chunks that may still be read: of the active generation of a live document, and enabled."""
    if not chunk_ids:
        return {}
    rows = await session.execute(
        select(Chunk.id, Document.name, Chunk.page, Chunk.provenance, Chunk.heading_path, Chunk.text)
        .join(Document, Document.id == Chunk.document_id)
        .join(KnowledgeBase, KnowledgeBase.id == Document.knowledge_base_id)
        .where(
            Chunk.id.in_(chunk_ids),
            Chunk.generation == Document.active_generation,
            Chunk.enabled,
            ~Chunk.outdated,
            Document.deleted_at.is_(None),
            KnowledgeBase.deleted_at.is_(None),
        )
    )
    return {
        row.id: ShownChunk(
            document_name=row.name,
            page=row.page,
            provenance=[Provenance.model_validate(part) for part in row.provenance],
            heading_path=row.heading_path,
            text=row.text,
        )
        for row in rows
    }


async def live_documents(session: ReadSession, document_ids: Collection[UUID]) -> dict[UUID, str]:
    """Names of those of the documents that are not deleted."""
    if not document_ids:
        return {}
    rows = await session.execute(
        select(Document.id, Document.name)
        .join(KnowledgeBase, KnowledgeBase.id == Document.knowledge_base_id)
        .where(Document.id.in_(document_ids), Document.deleted_at.is_(None), KnowledgeBase.deleted_at.is_(None))
    )
    return {row.id: row.name for row in rows}
