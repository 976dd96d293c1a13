"""SQL of what a knowledge base tells of itself: where its content comes from, and under which headings it stands."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, select, true

from app.core.database import ReadSession
from app.core.pagination import PageRequest
from app.models import Chunk, Document, Generation

_IS_ACTIVE = (Chunk.document_id == Document.id) & (Chunk.generation == Document.active_generation) & (Chunk.level == 0)


async def provenance(session: ReadSession, kb_id: UUID, request: PageRequest) -> Sequence[Row[Any]]:
    """Fields of `DocumentProvenance` by name; one row more than asked for, where there is one."""
    counts = (
        select(
            func.count().label("chunks"),
            func.count().filter(~Chunk.enabled).label("disabled_chunks"),
            func.count().filter(Chunk.edited_at.is_not(None)).label("edited_chunks"),
        )
        .where(_IS_ACTIVE)
        .correlate(Document)
        .lateral("counts")
    )
    version = (Generation.document_id == Document.id) & (Generation.generation == Document.active_generation)
    query = (
        select(
            Document.id.label("document_id"),
            Document.name,
            Document.external_id,
            Document.created_by,
            Generation.generation,
            Generation.file_name,
            Generation.sha256,
            Generation.size_bytes,
            Generation.media_type,
            Generation.reading,
            Generation.created_at.label("uploaded_at"),
            Generation.activated_at,
            counts,
        )
        .join(Generation, version)
        .join(counts, onclause=true())
        .where(Document.knowledge_base_id == kb_id, Document.deleted_at.is_(None))
        .order_by(Document.id)
        .limit(request.limit + 1)
    )
    if request.after is not None:
        query = query.where(Document.id > request.after)
    return (await session.execute(query)).all()


async def documents(session: ReadSession, kb_id: UUID, request: PageRequest) -> Sequence[Row[UUID, str]]:
    """Id and name of what can be found; one row more than asked for, where there is one."""
    query = select(Document.id, Document.name).where(
        Document.knowledge_base_id == kb_id, Document.deleted_at.is_(None), Document.active_generation.is_not(None)
    )
    if request.after is not None:
        query = query.where(Document.id > request.after)
    return (await session.execute(query.order_by(Document.id).limit(request.limit + 1))).all()


async def heading_paths(
    session: ReadSession, document_ids: Sequence[UUID], of_each: int, limit: int
) -> Sequence[Row[UUID, list[str], int | None, int]]:
    """Document, headings, first page and number of the chunks under them, in the order of documents and text.

    Of each document at most `of_each`, of all of them at most `limit`.
    """
    begins = func.min(Chunk.ordinal)
    place = func.row_number().over(partition_by=Chunk.document_id, order_by=begins).label("place")
    found = (
        select(
            Chunk.document_id,
            Chunk.heading_path,
            func.min(Chunk.page).label("page"),
            func.count().label("chunks"),
            place,
        )
        .join(Document, _IS_ACTIVE)
        .where(Document.id.in_(document_ids), Chunk.enabled)
        .group_by(Chunk.document_id, Chunk.heading_path)
        .subquery()
    )
    query = select(found.c.document_id, found.c.heading_path, found.c.page, found.c.chunks)
    query = query.where(found.c.place <= of_each).order_by(found.c.document_id, found.c.place)
    return (await session.execute(query.limit(limit))).all()
