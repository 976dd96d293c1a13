"""SQL of the reconciler. Row-level security confines it to the session's tenant."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import exists, or_, select

from app.core.database import ReadSession
from app.models import (
    Chunk,
    Document,
    Generation,
    GenerationState,
    KnowledgeBase,
    Operation,
    OperationKind,
    OperationState,
    Tenant,
)

UPLOAD_MAY_TAKE = timedelta(hours=1)


async def tenant_ids(session: ReadSession) -> list[UUID]:
    """Of all tenants; for a session of the system role."""
    return list(await session.scalars(select(Tenant.id).order_by(Tenant.id)))


async def wanted_chunks(session: ReadSession) -> dict[tuple[UUID, int], set[UUID]]:
    """Chunks that both indexes must hold, by document and generation."""
    rows = await session.execute(
        select(Chunk.document_id, Chunk.generation, Chunk.id)
        .join(Document, (Document.id == Chunk.document_id) & (Document.active_generation == Chunk.generation))
        .join(KnowledgeBase, KnowledgeBase.id == Document.knowledge_base_id)
        .where(Document.deleted_at.is_(None), KnowledgeBase.deleted_at.is_(None))
    )
    wanted: dict[tuple[UUID, int], set[UUID]] = defaultdict(set)
    for document_id, generation, chunk in rows:
        wanted[document_id, generation].add(chunk)
    return dict(wanted)


async def building_generations(session: ReadSession) -> set[tuple[UUID, int]]:
    """Generations that somebody is writing or removing: neither wanted nor orphaned yet."""
    at_work = exists().where(
        Operation.document_id == Generation.document_id,
        Operation.state.in_((OperationState.QUEUED, OperationState.RUNNING)),
    )
    rows = await session.execute(
        select(Generation.document_id, Generation.generation).where(
            or_(
                Generation.state == GenerationState.BUILDING,
                (Generation.state == GenerationState.RETIRED) & at_work,
            )
        )
    )
    return {(document_id, generation) for document_id, generation in rows}


@dataclass(frozen=True, slots=True)
class BlobKeys:
    needed: set[str]
    allowed: set[str]
    """Parsed forms: made by a stage, so they may be there or not yet."""


async def blob_keys(session: ReadSession) -> BlobKeys:
    rows = await session.execute(
        select(Generation.document_id, Generation.generation, Generation.blob_key).where(
            Generation.state != GenerationState.PURGED
        )
    )
    needed, allowed = set(), set()
    for document_id, generation, key in rows:
        needed.add(key)
        allowed.add(f"parsed/{document_id}/{generation}.json")
    return BlobKeys(needed, allowed)


def is_fresh(key: str) -> bool:
    """True for an original whose upload may still be under way: its name is a UUIDv7, which tells when it began."""
    name = key.rpartition("/")[2]
    if not key.startswith("originals/"):
        return False
    began = datetime.fromtimestamp((UUID(name).int >> 80) / 1000, UTC)
    return datetime.now(UTC) - began < UPLOAD_MAY_TAKE


async def unpurged_documents(session: ReadSession) -> list[UUID]:
    """Documents with something to purge and no purge queued or running."""
    purging = exists().where(
        Operation.kind == OperationKind.PURGE,
        Operation.state.in_((OperationState.QUEUED, OperationState.RUNNING)),
        or_(Operation.document_id == Document.id, Operation.knowledge_base_id == Document.knowledge_base_id),
    )
    retired = exists().where(Generation.document_id == Document.id, Generation.state == GenerationState.RETIRED)
    return list(
        await session.scalars(
            select(Document.id).where(or_(Document.deleted_at.is_not(None), retired), ~purging).order_by(Document.id)
        )
    )
