"""SQL of single chunks and their history. Row-level security confines every statement to the session's tenant."""

from uuid import UUID

from sqlalchemy import exists, select, update
from sqlalchemy.orm import aliased

from app.core.database import ReadSession, WriteSession
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


async def mark_parents(session: WriteSession, chunk: Chunk) -> None:
    """Says of everything above a chunk whether its text still is what its children say, after one of them changed."""
    await session.flush()
    parent_id, child = chunk.parent_id, aliased(Chunk)
    while parent_id is not None:
        differs = exists().where(
            child.document_id == chunk.document_id,
            child.generation == chunk.generation,
            child.parent_id == parent_id,
            ~child.enabled | child.outdated | child.edited_at.is_not(None),
        )
        parent_id = await session.scalar(
            update(Chunk)
            .where(Chunk.id == parent_id)
            .values(outdated=differs)
            .returning(Chunk.parent_id)
            .execution_options(synchronize_session=False)
        )


async def history_page(session: ReadSession, chunk_id: UUID, request: PageRequest) -> list[ChunkEdit]:
    """Newest first; one row more than asked for, where there is one."""
    query = select(ChunkEdit).where(ChunkEdit.chunk_id == chunk_id).order_by(ChunkEdit.id.desc())
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
