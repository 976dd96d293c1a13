"""What retrieval asks Postgres: who may see what, and what stands behind the ids that the indexes gave."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Boolean,
    ColumnElement,
    ScalarSelect,
    Select,
    Uuid,
    and_,
    any_,
    bindparam,
    cast,
    column,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    type_coerce,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TEXT
from sqlalchemy.orm import InstrumentedAttribute, aliased
from sqlalchemy.types import NullType

from app.core.database import ReadSession
from app.models import Chunk, Document, Generation, KnowledgeBase
from app.ports.indexes import IndexFilter
from app.retrieval.merging import Parent


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
    kind: str
    heading_path: list[str]
    page: int | None
    page_end: int | None
    provenance: str
    """JSON."""
    bbox: str | None
    """JSON."""
    start: int
    end: int
    enabled: bool
    level: int
    parent_id: UUID | None
    document_name: str
    external_id: str | None
    metadata: str
    """JSON."""
    tags: list[str]
    document_deleted: bool
    knowledge_base_deleted: bool
    active_generation: int | None
    activated_at: datetime | None
    """When the active generation became so."""
    matches: bool
    """Whether the request's filter holds."""


_UUIDS, _TEXTS, _JSONS = ARRAY(Uuid), ARRAY(TEXT), ARRAY(JSONB)


def _gathered(column: InstrumentedAttribute[UUID], *where: ColumnElement[bool]) -> ScalarSelect[Sequence[UUID] | None]:
    """The ids that a condition finds, as one array."""
    return select(func.array_agg(column)).where(*where).scalar_subquery()


def _grant_statement() -> Select[*tuple[Any, ...]]:
    live = KnowledgeBase.deleted_at.is_(None)
    asked = and_(
        live,
        or_(
            bindparam("every_base", type_=Boolean),
            KnowledgeBase.id == any_(bindparam("knowledge_base_ids", type_=_UUIDS)),
        ),
    )
    present = Document.deleted_at.is_(None)
    # Joined to one constant row, so that there is an answer even where no knowledge base may be read.
    anchor = select(literal(1).label("one")).subquery()
    return (
        select(
            KnowledgeBase.id,
            KnowledgeBase.settings["retrieval"].label("retrieval"),
            func.now().label("as_of"),
            _gathered(
                Document.id,
                Document.id == any_(bindparam("document_ids", type_=_UUIDS)),
                present,
                Document.knowledge_base_id.in_(select(KnowledgeBase.id).where(live)),
            ).label("documents"),
            _gathered(Chunk.id, Chunk.id == any_(bindparam("chunk_ids", type_=_UUIDS))).label("chunks"),
            _gathered(
                Document.id,
                Document.external_id == any_(bindparam("external_ids", type_=_TEXTS)),
                present,
                Document.knowledge_base_id.in_(select(KnowledgeBase.id).where(asked)),
            ).label("external_documents"),
        )
        .select_from(anchor)
        .outerjoin(KnowledgeBase, asked)
        .order_by(KnowledgeBase.id)
    )


# Each chunk is looked up by its id, then what it belongs to, row by row. As a plain join the planner may begin with all
# documents of the tenant: it knows how many one tenant has on average, or nothing yet, but not how many this one.
_ONE: ColumnElement[int] = literal_column("1")
"""Not a parameter: it says that each is a single row before any value is known."""
_WANTED = (
    func.unnest(bindparam("chunk_ids", type_=_UUIDS)).table_valued(column("id", Uuid), name="wanted").render_derived()
)
_CHUNK = select(Chunk).where(Chunk.id == _WANTED.c.id).limit(_ONE).lateral("chunk")
_DOCUMENT = (
    select(Document)
    .where(Document.tenant_id == _CHUNK.c.tenant_id, Document.id == _CHUNK.c.document_id)
    .limit(_ONE)
    .lateral("document")
)


def _hydrate_statement() -> Select[*tuple[Any, ...]]:
    """The columns of `StoredChunk` but the last. What only hits need is left as the driver gives it."""
    chunk, document = _CHUNK.c, _DOCUMENT.c
    base = select(KnowledgeBase).where(KnowledgeBase.id == document.knowledge_base_id).limit(_ONE).lateral("base")
    active = (
        select(Generation.activated_at)
        .where(
            Generation.tenant_id == document.tenant_id,
            Generation.document_id == document.id,
            Generation.generation == document.active_generation,
        )
        .limit(_ONE)
        .lateral("active")
    )
    return (
        select(
            chunk.id,
            chunk.document_id,
            document.knowledge_base_id,
            chunk.generation,
            chunk.ordinal,
            chunk.text,
            type_coerce(chunk.kind, TEXT),
            type_coerce(chunk.heading_path, NullType),
            chunk.page,
            chunk.page_end,
            cast(chunk.provenance, TEXT),
            cast(chunk.bbox, TEXT),
            chunk.start_offset,
            chunk.end_offset,
            chunk.enabled,
            chunk.level,
            chunk.parent_id,
            document.name,
            document.external_id,
            cast(document.metadata, TEXT),
            type_coerce(document.tags, NullType),
            document.deleted_at.is_not(None),
            base.c.deleted_at.is_not(None),
            document.active_generation,
            active.c.activated_at,
        )
        .select_from(_WANTED)
        .join(_CHUNK, true())
        .join(_DOCUMENT, true())
        .join(base, true())
        .outerjoin(active, true())
    )


def _lineage_statement() -> Select[*tuple[Any, ...]]:
    """The given chunks and everything above them, as far as it may be read in place of what it holds."""
    lineage = (
        select(Chunk.id, Chunk.parent_id)
        .where(Chunk.id == any_(bindparam("chunk_ids", type_=_UUIDS)))
        .cte("lineage", recursive=True)
    )
    above = aliased(Chunk)
    lineage = lineage.union(select(above.id, above.parent_id).join(lineage, above.id == lineage.c.parent_id))
    return (
        select(Chunk.id, Chunk.parent_id, Chunk.child_count, Chunk.always_read)
        .join(lineage, lineage.c.id == Chunk.id)
        .where(Chunk.enabled, ~Chunk.outdated)
    )


# Built once: making a statement of this size takes longer than running it.
_GRANT = _grant_statement()
_HYDRATE = _hydrate_statement()
_LINEAGE = _lineage_statement()


async def grant(
    session: ReadSession,
    knowledge_base_ids: Collection[UUID],
    document_ids: Collection[UUID],
    external_ids: Collection[str],
    chunk_ids: Collection[UUID],
) -> Grant:
    """One round trip. `knowledge_base_ids` empty: all of the tenant."""
    asked = {
        "every_base": not knowledge_base_ids,
        "knowledge_base_ids": list(knowledge_base_ids),
        "document_ids": list(document_ids),
        "external_ids": list(external_ids),
        "chunk_ids": list(chunk_ids),
    }
    rows = (await session.execute(_GRANT, asked)).all()
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
    statement = _HYDRATE.add_columns(_matches(where), func.now())
    rows = (await session.execute(statement, {"chunk_ids": list(chunk_ids)})).all()
    return {row[0]: StoredChunk(*row[:-1]) for row in rows}, rows[0][-1] if rows else None


async def parents(session: ReadSession, parent_ids: Collection[UUID]) -> dict[UUID, Parent]:
    """These parents and theirs, by id. Left out are disabled ones and those whose text is not that of their parts."""
    rows = await session.execute(_LINEAGE, {"chunk_ids": list(parent_ids)})
    return {row[0]: Parent(*row) for row in rows}


async def live_chunk_ids(session: ReadSession, document_id: UUID, limit: int) -> list[UUID]:
    """Ids of the chunks of a document's active generation that are searched, in order, the first `limit`."""
    rows = await session.scalars(
        select(Chunk.id)
        .join(Document, and_(Document.id == Chunk.document_id, Document.active_generation == Chunk.generation))
        .where(Chunk.document_id == document_id, Chunk.level == 0, Document.deleted_at.is_(None))
        .order_by(Chunk.ordinal)
        .limit(limit)
    )
    return list(rows)


def _matches(where: IndexFilter) -> ColumnElement[bool]:
    """The filter as Postgres sees it now. The indexes may still hold tags or metadata of a moment ago."""
    document = _DOCUMENT.c
    conditions: list[ColumnElement[bool]] = [true()]
    if where.document_ids:
        conditions.append(document.id == any_(literal(list(where.document_ids), _UUIDS)))
    if where.tags_any:
        conditions.append(document.tags.overlap(list(where.tags_any)))
    if where.tags_all:
        conditions.append(document.tags.contains(list(where.tags_all)))
    for key, values in where.metadata.items():
        # One parameter for all values: a comparison for each of thousands takes seconds to compile.
        accepted = any_(literal(list(values), _JSONS))
        conditions.append(func.coalesce(document.metadata[key] == accepted, False))
    if where.created_from:
        conditions.append(document.created_at >= where.created_from)
    if where.created_before:
        conditions.append(document.created_at < where.created_before)
    return and_(*conditions)
