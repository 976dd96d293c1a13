"""SQL of single chunks and their history. Row-level security confines every statement to the session's tenant."""

from uuid import UUID

from sqlalchemy import select

from app.core.database import ReadSession
from app.core.pagination import PageRequest
from app.models import Chunk, ChunkEdit, Document, Generation, KnowledgeBase


async def find(session: ReadSession, chunk_id: UUID) -> Chunk | None:
    """A chunk of the active generation of a live document."""
    found: Chunk | None = await session.scalar(
        select(Chunk)
        .join(Document, (Document.id == Chunk.document_id) & (Document.active_generation == Chunk.generation))
        .join(KnowledgeBase, KnowledgeBase.id == Document.knowledge_base_id)
        .where(Chunk.id == chunk_id, Document.deleted_at.is_(None), KnowledgeBase.deleted_at.is_(None))
        .execution_options(populate_existing=True)
    )
    return found


async def generation_of(session: ReadSession, chunk: Chunk) -> Generation:
    found: Generation = await session.get_one(Generation, (chunk.tenant_id, chunk.document_id, chunk.generation))
    return found


async def history_page(session: ReadSession, chunk_id: UUID, request: PageRequest) -> list[ChunkEdit]:
    """Of a chunk of a live document, of any version: newest first, one row more than asked for, where there is one."""
    query = (
        select(ChunkEdit)
        .join(Document, Document.id == ChunkEdit.document_id)
        .join(KnowledgeBase, KnowledgeBase.id == Document.knowledge_base_id)
        .where(ChunkEdit.chunk_id == chunk_id, Document.deleted_at.is_(None), KnowledgeBase.deleted_at.is_(None))
        .order_by(ChunkEdit.id.desc())
    )
    if request.after is not None:
        query = query.where(ChunkEdit.id < request.after)
    return list(await session.scalars(query.limit(request.limit + 1)))


async def places(session: ReadSession, document: Document) -> list[tuple[UUID, int, int]]:
    """Id, start and end (characters of its text) of the chunks of the active generation that are searched, in order."""
    rows = await session.execute(
        select(Chunk.id, Chunk.start_offset, Chunk.end_offset)
        .where(Chunk.document_id == document.id, Chunk.generation == document.active_generation, Chunk.level == 0)
        .order_by(Chunk.ordinal)
    )
    return [(chunk_id, start, end) for chunk_id, start, end in rows]
