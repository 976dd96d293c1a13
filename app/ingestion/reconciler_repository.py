"""SQL of the reconciler. Row-level security confines it to the session's tenant."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, exists, or_, select

from app.core.database import ReadSession
from app.ingestion.projection import cells_key, parsed_key
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
UUID_OF_TIME = 7


async def tenant_ids(session: ReadSession) -> list[UUID]:
    """Of all tenants; for a session of the system role."""
    return list(await session.scalars(select(Tenant.id).order_by(Tenant.id)))


async def wanted_chunks(session: ReadSession) -> dict[tuple[UUID, int], set[UUID]]:
    """Chunks that both indexes must hold, by document and generation."""
    rows = await session.execute(
        select(Chunk.document_id, Chunk.generation, Chunk.id)
        .join(Document, (Document.id == Chunk.document_id) & (Document.active_generation == Chunk.generation))
        .join(KnowledgeBase, KnowledgeBase.id == Document.knowledge_base_id)
        .where(Chunk.level == 0, Document.deleted_at.is_(None), KnowledgeBase.deleted_at.is_(None))
    )
    wanted: dict[tuple[UUID, int], set[UUID]] = defaultdict(set)
    for document_id, generation, chunk in rows:
        wanted[document_id, generation].add(chunk)
    return dict(wanted)


async def busy_generations(session: ReadSession) -> set[tuple[UUID, int]]:
    """Generations that somebody is writing or removing: neither wanted nor orphaned yet."""
    rows = await session.execute(
        select(Generation.document_id, Generation.generation)
        .join(Document, Document.id == Generation.document_id)
        .join(KnowledgeBase, KnowledgeBase.id == Document.knowledge_base_id)
        .where(
            or_(
                (Generation.state == GenerationState.BUILDING) & ~_is_deleted(),
                or_(Generation.state == GenerationState.RETIRED, _is_deleted()) & _is_being_purged(),
            )
        )
    )
    return {(document_id, generation) for document_id, generation in rows}


def _is_deleted() -> ColumnElement[bool]:
    return or_(Document.deleted_at.is_not(None), KnowledgeBase.deleted_at.is_not(None))


def _is_being_purged() -> ColumnElement[bool]:
    """A purge of the document, or of the whole of its knowledge base, is queued or running."""
    of_document = Operation.document_id == Document.id
    of_knowledge_base = Operation.document_id.is_(None) & (Operation.knowledge_base_id == Document.knowledge_base_id)
    return exists().where(
        Operation.kind == OperationKind.PURGE,
        Operation.state.in_((OperationState.QUEUED, OperationState.RUNNING)),
        or_(of_document, of_knowledge_base),
    )


@dataclass(frozen=True, slots=True)
class BlobKeys:
    needed: set[str]
    allowed: set[str]
    """Parsed forms, made by a stage, and what is being purged: these may be there or not."""
    folders: set[str]
    """Where any blob is allowed: cells of large tables."""

    def knows(self, key: str) -> bool:
        return key in self.needed or key in self.allowed or key.rpartition("/")[0] in self.folders


async def blob_keys(session: ReadSession) -> BlobKeys:
    rows = await session.execute(
        select(Generation.document_id, Generation.generation, Generation.blob_key, Generation.state, _is_deleted())
        .join(Document, Document.id == Generation.document_id)
        .join(KnowledgeBase, KnowledgeBase.id == Document.knowledge_base_id)
        .where(Generation.state != GenerationState.PURGED)
    )
    needed: set[str] = set()
    allowed: set[str] = set()
    folders: set[str] = set()
    for document_id, generation, key, state, deleted in rows:
        (allowed if deleted or state is GenerationState.RETIRED else needed).add(key)
        allowed.add(parsed_key(document_id, generation))
        folders.add(cells_key(document_id, generation))
    return BlobKeys(needed, allowed, folders)


def is_fresh(key: str) -> bool:
    """True for an original whose upload may still be under way: its name is a UUIDv7, which tells when it began."""
    folder, _, name = key.rpartition("/")
    try:
        made = UUID(name)
    except ValueError:
        return False
    if folder != "originals" or made.version != UUID_OF_TIME:
        return False
    began = datetime.fromtimestamp((made.int >> 80) / 1000, UTC)
    return datetime.now(UTC) - began < UPLOAD_MAY_TAKE


@dataclass(frozen=True, slots=True)
class Unpurged:
    """A document with something to purge that no purge is under way for."""

    document_id: UUID
    knowledge_base_id: UUID
    with_knowledge_base: bool
    """The whole knowledge base was deleted."""


async def unpurged_documents(session: ReadSession) -> list[Unpurged]:
    retired = exists().where(Generation.document_id == Document.id, Generation.state == GenerationState.RETIRED)
    rows = await session.execute(
        select(Document.id, Document.knowledge_base_id, KnowledgeBase.deleted_at.is_not(None))
        .join(KnowledgeBase, KnowledgeBase.id == Document.knowledge_base_id)
        .where(or_(_is_deleted(), retired), ~_is_being_purged())
        .order_by(Document.id)
    )
    return [Unpurged(*row) for row in rows]
