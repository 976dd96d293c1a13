"""SQL of texts that people have changed. Row-level security confines it to the session's tenant."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from app.core.database import ReadSession, WriteSession
from app.ingestion.repository import embeddings_lock, forget_unused_vectors
from app.models import Chunk, Document, Embedding
from app.ports.vector_index import Vectors


@dataclass(frozen=True, slots=True)
class NewText:
    """What becomes of a chunk when both indexes hold its pending text."""

    text: str
    embedded: str
    """The text with title and headings: what is embedded and tokenized."""
    text_hash: bytes
    token_count: int
    vector: Vectors


async def active_generation(session: ReadSession, document_id: UUID) -> int | None:
    found: int | None = await session.scalar(
        select(Document.active_generation).where(Document.id == document_id, Document.deleted_at.is_(None))
    )
    return found


async def edited_chunks(
    session: ReadSession, document_id: UUID, generation: int, *, among: Collection[UUID] | None = None
) -> list[Chunk]:
    """Those (of the given ones) whose text a person has ever changed, in their order."""
    query = select(Chunk).where(
        Chunk.document_id == document_id, Chunk.generation == generation, Chunk.edited_at.is_not(None)
    )
    if among is not None:
        query = query.where(Chunk.id.in_(list(among)))
    return list(await session.scalars(query.order_by(Chunk.ordinal).execution_options(populate_existing=True)))


async def take_over(
    session: WriteSession, tenant_id: UUID, space: str, chunks: Collection[Chunk], texts: Mapping[UUID, NewText]
) -> None:
    """Makes pending texts what is read, with their vectors in the cache and those of the texts before out of it."""
    taken = {chunk: texts[chunk.id] for chunk in chunks if chunk.pending_text is not None}
    before = {chunk.text_hash for chunk in taken}
    for chunk, new in taken.items():
        chunk.text, chunk.pending_text = new.text, None
        chunk.text_hash, chunk.token_count = new.text_hash, new.token_count
        chunk.provenance = []  # where the parts of a text stand that no page holds, nobody knows
    await session.flush()
    if taken:
        await session.execute(select(func.pg_advisory_xact_lock(embeddings_lock(tenant_id))))
        rows = [
            {
                "tenant_id": tenant_id,
                "space": space,
                "text_hash": new.text_hash,
                "vector": new.vector.astype("<f4").tobytes(),
            }
            for new in {new.text_hash: new for new in taken.values()}.values()
        ]
        await session.execute(insert(Embedding).on_conflict_do_nothing(), rows)
        await forget_unused_vectors(session, before)
