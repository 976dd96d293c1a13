"""SQL of knowledge bases. Row-level security confines every statement to the session's tenant."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select

from app.core.database import ReadSession, WriteSession
from app.core.pagination import PageRequest
from app.models import Document, DocumentStatus, KnowledgeBase


@dataclass(frozen=True, slots=True)
class Counts:
    documents: int
    ready: int
    chunks: int


async def find(session: ReadSession, kb_id: UUID, *, lock: bool = False) -> KnowledgeBase | None:
    """A live knowledge base. `lock` keeps it from being deleted until the transaction ends."""
    query = select(KnowledgeBase).where(KnowledgeBase.id == kb_id, KnowledgeBase.deleted_at.is_(None))
    found: KnowledgeBase | None = await session.scalar(query.with_for_update(read=True) if lock else query)
    return found


async def live_ids(session: ReadSession, kb_ids: Collection[UUID]) -> set[UUID]:
    """Those of the knowledge bases that live."""
    query = select(KnowledgeBase.id).where(KnowledgeBase.id.in_(kb_ids), KnowledgeBase.deleted_at.is_(None))
    return set(await session.scalars(query))


async def find_for_update(session: WriteSession, kb_id: UUID) -> KnowledgeBase | None:
    query = select(KnowledgeBase).where(KnowledgeBase.id == kb_id, KnowledgeBase.deleted_at.is_(None))
    found: KnowledgeBase | None = await session.scalar(query.with_for_update())
    return found


async def page(session: ReadSession, request: PageRequest) -> list[KnowledgeBase]:
    """One row more than asked for, where there is one."""
    query = select(KnowledgeBase).where(KnowledgeBase.deleted_at.is_(None)).order_by(KnowledgeBase.id)
    if request.after is not None:
        query = query.where(KnowledgeBase.id > request.after)
    return list(await session.scalars(query.limit(request.limit + 1)))


async def counts(session: ReadSession, kb_id: UUID) -> Counts:
    row = (
        await session.execute(
            select(
                func.count(),
                func.count().filter(Document.status == DocumentStatus.READY),
                func.coalesce(func.sum(Document.chunk_count), 0),
            ).where(Document.knowledge_base_id == kb_id, Document.deleted_at.is_(None))
        )
    ).one()
    return Counts(*row)
