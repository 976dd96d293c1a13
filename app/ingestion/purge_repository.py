"""SQL of purges. Row-level security confines it to the session's tenant."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import aliased

from app.core.database import ReadSession, WriteSession
from app.core.ids import new_id
from app.models import Chunk, DeletionReceipt, Document, Embedding, Generation, GenerationState, KnowledgeBase


@dataclass(frozen=True, slots=True)
class PurgedGeneration:
    document_id: UUID
    number: int
    blob_key: str


async def is_deleted(session: ReadSession, document_id: UUID) -> bool | None:
    """None where the document is gone already."""
    found: bool | None = await session.scalar(
        select(Document.deleted_at.is_not(None)).where(Document.id == document_id)
    )
    return found


async def tombstone_all(session: WriteSession, kb_id: UUID) -> list[UUID]:
    """Documents of a deleted knowledge base, each with its tombstone and its receipt."""
    kb_is_deleted = exists().where(KnowledgeBase.id == kb_id, KnowledgeBase.deleted_at.is_not(None))
    await session.execute(
        update(Document)
        .where(Document.knowledge_base_id == kb_id, Document.deleted_at.is_(None), kb_is_deleted)
        .values(deleted_at=func.now())
    )
    documents = (
        await session.scalars(
            select(Document).where(Document.knowledge_base_id == kb_id, Document.deleted_at.is_not(None))
        )
    ).all()
    if documents:
        rows = [
            {
                "id": new_id(),
                "tenant_id": document.tenant_id,
                "document_id": document.id,
                "knowledge_base_id": kb_id,
                "document_name": document.name,
                "counts": {},
            }
            for document in documents
        ]
        await session.execute(insert(DeletionReceipt).on_conflict_do_nothing(), rows)
    return [document.id for document in documents]


async def to_purge(session: ReadSession, document_id: UUID, *, everything: bool) -> list[PurgedGeneration]:
    query = select(Generation.document_id, Generation.generation, Generation.blob_key).where(
        Generation.document_id == document_id
    )
    if not everything:
        query = query.where(Generation.state == GenerationState.RETIRED)
    return [PurgedGeneration(*row) for row in await session.execute(query.order_by(Generation.generation))]


async def chunk_ids(session: ReadSession, generation: PurgedGeneration) -> set[UUID]:
    return set(
        await session.scalars(
            select(Chunk.id).where(Chunk.document_id == generation.document_id, Chunk.generation == generation.number)
        )
    )


async def drop_generation(session: WriteSession, generation: PurgedGeneration) -> int:
    """Removes its chunks, and the cached vectors that no other chunk of the tenant uses. The number of chunks."""
    of_generation = (Chunk.document_id == generation.document_id) & (Chunk.generation == generation.number)
    other = aliased(Chunk)
    used_elsewhere = exists().where(
        other.text_hash == Embedding.text_hash,
        (other.document_id != generation.document_id) | (other.generation != generation.number),
    )
    await session.execute(
        delete(Embedding)
        .where(Embedding.text_hash.in_(select(Chunk.text_hash).where(of_generation)), ~used_elsewhere)
        .execution_options(synchronize_session=False)
    )
    dropped = (await session.scalars(delete(Chunk).where(of_generation).returning(Chunk.id))).all()
    await session.execute(
        update(Generation)
        .where(Generation.document_id == generation.document_id, Generation.generation == generation.number)
        .values(state=GenerationState.PURGED, purged_at=func.now())
    )
    return len(dropped)


async def drop_document(session: WriteSession, document_id: UUID, counts: dict[str, Any]) -> None:
    await session.execute(
        update(DeletionReceipt)
        .where(DeletionReceipt.document_id == document_id, DeletionReceipt.purged_at.is_(None))
        .values(purged_at=func.now(), counts=counts)
    )
    await session.execute(delete(Document).where(Document.id == document_id, Document.deleted_at.is_not(None)))
