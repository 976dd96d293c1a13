"""What retrieval asks Postgres: who may see what, and what stands behind the ids that the indexes gave."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Label, Uuid, and_, any_, func, literal, or_, select, true
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TEXT
from sqlalchemy.orm import InstrumentedAttribute

from app.chunking.chunk import ChunkKind
from app.core.database import ReadSession
from app.models import Chunk, Document, Generation, KnowledgeBase
from app.ports.indexes import IndexFilter


@dataclass(frozen=True, slots=True)
class Grant:
    """What of a request's ids exists for the caller. `as_of` is the database's clock."""

    as_of: datetime
    settings: Mapping[UUID, Mapping[str, Any] | None]
    """Stored retrieval settings of each knowledge base that may be read, by id."""
    document_ids: frozenset[UUID]
    chunk_ids: frozenset[UUID]
    external_document_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk of the tenant with everything that decides whether it may be seen, all from one snapshot."""

    chunk_id: UUID
    document_id: UUID
    knowledge_base_id: UUID
    generation: int
    ordinal: int
    text: str
    kind: ChunkKind
    heading_path: list[str]
    page: int | None
    page_end: int | None
    bbox: dict[str, float] | None
    start: int
    end: int
    enabled: bool
    document_name: str
    external_id: str | None
    metadata: dict[str, Any]
    tags: list[str]
    document_deleted: bool
    knowledge_base_deleted: bool
    active_generation: int | None
    activated_at: datetime | None
    """When the active generation became so."""
    matches: bool
    """Whether the request's filter holds."""


async def grant(
    session: ReadSession,
    knowledge_base_ids: Collection[UUID],
    document_ids: Collection[UUID],
    external_ids: Collection[str],
    chunk_ids: Collection[UUID],
) -> Grant:
    """One round trip. `knowledge_base_ids` empty: all of the tenant."""
    live: ColumnElement[bool] = KnowledgeBase.deleted_at.is_(None)
    if knowledge_base_ids:
        live = and_(live, _one_of(KnowledgeBase.id, knowledge_base_ids))
    readable = select(KnowledgeBase.id).where(live)
    known = Document.deleted_at.is_(None) & Document.knowledge_base_id.in_(
        select(KnowledgeBase.id).where(KnowledgeBase.deleted_at.is_(None))
    )
    named = and_(
        Document.external_id == any_(literal(list(external_ids), ARRAY(TEXT))),
        Document.deleted_at.is_(None),
        Document.knowledge_base_id.in_(readable),
    )
    columns: list[Label[Any]] = [
        KnowledgeBase.settings["retrieval"].label("retrieval"),
        func.now().label("as_of"),
        _gathered(document_ids, Document.id, known & _one_of(Document.id, document_ids)).label("documents"),
        _gathered(chunk_ids, Chunk.id, _one_of(Chunk.id, chunk_ids)).label("chunks"),
        _gathered(external_ids, Document.id, named).label("external_documents"),
    ]
    # Joined to one constant row, so that there is an answer even where no knowledge base may be read.
    anchor = select(literal(1).label("one")).subquery()
    rows = (
        await session.execute(
            select(KnowledgeBase.id, *columns)
            .select_from(anchor)
            .outerjoin(KnowledgeBase, live)
            .order_by(KnowledgeBase.id)
        )
    ).all()
    first = rows[0]
    return Grant(
        as_of=first.as_of,
        settings={row.id: row.retrieval for row in rows if row.id is not None},
        document_ids=frozenset(first.documents or ()),
        chunk_ids=frozenset(first.chunks or ()),
        external_document_ids=tuple(first.external_documents or ()),
    )


async def hydrate(
    session: ReadSession, chunk_ids: Collection[UUID], where: IndexFilter
) -> tuple[dict[UUID, StoredChunk], datetime | None]:
    """The chunks of these ids that the tenant has, visible or not, and the snapshot's time; None without any chunk.

    One statement, hence one snapshot: no two generations of a document are active in it.
    """
    if not chunk_ids:
        return {}, None
    active = Generation.__table__.alias("active")
    rows = await session.execute(
        select(
            Chunk.id,
            Chunk.document_id,
            Document.knowledge_base_id,
            Chunk.generation,
            Chunk.ordinal,
            Chunk.text,
            Chunk.kind,
            Chunk.heading_path,
            Chunk.page,
            Chunk.page_end,
            Chunk.bbox,
            Chunk.start_offset,
            Chunk.end_offset,
            Chunk.enabled,
            Document.name,
            Document.external_id,
            Document.doc_metadata,
            Document.tags,
            Document.deleted_at.is_not(None),
            KnowledgeBase.deleted_at.is_not(None),
            Document.active_generation,
            active.c.activated_at,
            _matches(where),
            func.now(),
        )
        .join(Document, and_(Document.tenant_id == Chunk.tenant_id, Document.id == Chunk.document_id))
        .join(KnowledgeBase, KnowledgeBase.id == Document.knowledge_base_id)
        .outerjoin(
            active,
            and_(
                active.c.tenant_id == Document.tenant_id,
                active.c.document_id == Document.id,
                active.c.generation == Document.active_generation,
            ),
        )
        .where(_one_of(Chunk.id, chunk_ids))
    )
    found: dict[UUID, StoredChunk] = {}
    as_of: datetime | None = None
    for row in rows:
        *facts, as_of = row
        found[row[0]] = StoredChunk(*facts)
    return found, as_of


async def live_chunk_ids(session: ReadSession, document_id: UUID, limit: int) -> list[UUID]:
    """Ids of the chunks of a document's active generation, in order, the first `limit`."""
    rows = await session.scalars(
        select(Chunk.id)
        .join(Document, and_(Document.id == Chunk.document_id, Document.active_generation == Chunk.generation))
        .where(Chunk.document_id == document_id, Document.deleted_at.is_(None))
        .order_by(Chunk.ordinal)
        .limit(limit)
    )
    return list(rows)


def _one_of(column: InstrumentedAttribute[UUID], ids: Collection[UUID]) -> ColumnElement[bool]:
    """`= any(array)`: one parameter, and so one prepared statement, for any number of ids."""
    return column == any_(literal(list(ids), ARRAY(Uuid)))


def _gathered(
    asked: Collection[object], column: InstrumentedAttribute[UUID], where: ColumnElement[bool]
) -> ColumnElement[Any]:
    """The ids that a condition finds as one array; null where nothing was asked."""
    if not asked:
        return literal(None, ARRAY(Uuid))
    return select(func.array_agg(column)).where(where).scalar_subquery()


def _matches(where: IndexFilter) -> ColumnElement[bool]:
    """The filter as Postgres sees it now. The indexes may still hold tags or metadata of a moment ago."""
    conditions: list[ColumnElement[bool]] = [true()]
    if where.document_ids:
        conditions.append(_one_of(Document.id, where.document_ids))
    if where.tags_any:
        conditions.append(Document.tags.overlap(list(where.tags_any)))
    if where.tags_all:
        conditions.append(Document.tags.contains(list(where.tags_all)))
    for key, values in where.metadata.items():
        stored = Document.doc_metadata[key]
        conditions.append(func.coalesce(or_(*(stored == literal(value, JSONB) for value in values)), False))
    if where.created_from:
        conditions.append(Document.created_at >= where.created_from)
    if where.created_before:
        conditions.append(Document.created_at < where.created_before)
    return and_(*conditions)
