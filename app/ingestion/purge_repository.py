"""SQL of purges. Row-level security confines it to the session's tenant."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from app.core.database import ReadSession, WriteSession
from app.core.ids import new_id
from app.ingestion.vectors_repository import embeddings_lock, forget_unused_vectors
from app.models import (
    Chunk,
    DeletionReceipt,
    Document,
    Generation,
    GenerationState,
    KnowledgeBase,
    Operation,
    OperationKind,
    OperationState,
)


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
    """Documents of a deleted knowledge base, each with its tombstone and its receipt; their ingestions end."""
    kb_is_deleted = exists().where(KnowledgeBase.id == kb_id, KnowledgeBase.deleted_at.is_not(None))
    await session.execute(
        update(Document)
        .where(Document.knowledge_base_id == kb_id, Document.deleted_at.is_(None), kb_is_deleted)
        .values(deleted_at=func.now())
    )
    await session.execute(
        update(Operation)
        .where(
            Operation.knowledge_base_id == kb_id,
            Operation.kind == OperationKind.INGEST,
            Operation.state == OperationState.RUNNING,
            Operation.cancel_requested_at.is_(None),
            kb_is_deleted,
        )
        .values(cancel_requested_at=func.now())
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


async def is_being_written(session: ReadSession, document_id: UUID, generations: Collection[int]) -> bool:
    """Whether a worker may be writing one of the generations. A reindexing may have begun when any was searched."""
    writes = or_(
        (Operation.kind == OperationKind.INGEST) & Operation.generation.in_(generations),
        Operation.kind == OperationKind.REINDEX,
    )
    running = (Operation.document_id == document_id) & (Operation.state == OperationState.RUNNING)
    return bool(await session.scalar(select(exists().where(running, writes))))


async def chunk_ids(session: ReadSession, generation: PurgedGeneration) -> set[UUID]:
    """Of the chunks that the indexes hold."""
    of_generation = (Chunk.document_id == generation.document_id) & (Chunk.generation == generation.number)
    return set(await session.scalars(select(Chunk.id).where(of_generation, Chunk.level == 0)))


async def drop_generation(session: WriteSession, tenant_id: UUID, generation: PurgedGeneration) -> int | None:
    """Removes its chunks, and the cached vectors that no other chunk of the tenant uses.

    The history of chunks that have no counterpart in the next version stays as long as the document.

    The number of chunks; None where it had been purged already.
    """
    # One purge of a tenant at a time: of two that drop the last uses of a text, each would see the other's.
    await session.execute(select(func.pg_advisory_xact_lock(embeddings_lock(tenant_id))))
    purged = await session.scalar(
        update(Generation)
        .where(
            Generation.document_id == generation.document_id,
            Generation.generation == generation.number,
            Generation.state != GenerationState.PURGED,
        )
        .values(state=GenerationState.PURGED, purged_at=func.now())
        .returning(Generation.generation)
    )
    if purged is None:
        return None
    of_generation = (Chunk.document_id == generation.document_id) & (Chunk.generation == generation.number)
    dropped = (await session.scalars(delete(Chunk).where(of_generation).returning(Chunk.text_hash))).all()
    hashes = list(set(dropped))
    for first in range(0, len(hashes), 1000):
        await forget_unused_vectors(session, hashes[first : first + 1000])
    return len(dropped)


async def add_to_receipt(session: WriteSession, document_id: UUID, removed: Mapping[str, int]) -> None:
    """Counts what was removed, with what it was removed by: a purge that is begun again does not know it any more."""
    receipt: DeletionReceipt | None = await session.scalar(
        select(DeletionReceipt).where(DeletionReceipt.document_id == document_id).with_for_update()
    )
    if receipt is not None:
        receipt.counts = {name: receipt.counts.get(name, 0) + number for name, number in removed.items()}


async def drop_document(session: WriteSession, document_id: UUID) -> None:
    await session.execute(
        update(DeletionReceipt)
        .where(DeletionReceipt.document_id == document_id, DeletionReceipt.purged_at.is_(None))
        .values(purged_at=func.now())
    )
    await session.execute(delete(Document).where(Document.id == document_id, Document.deleted_at.is_not(None)))
