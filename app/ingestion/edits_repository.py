"""SQL of texts that people have changed. Row-level security confines it to the session's tenant."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Uuid, any_, bindparam, func, literal, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app.core.database import ReadSession, WriteSession
from app.ingestion.vectors_repository import add_vectors, embeddings_lock, forget_unused_vectors
from app.models import Chunk, ChunkEdit, Document
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


class FileText(NamedTuple):
    """What the file gave a chunk, whatever people have made of that since."""

    chunk_id: UUID
    level: int
    heading_path: tuple[str, ...]
    text: bytes
    """Its SHA-256."""


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


async def changed_chunks(session: ReadSession, document_id: UUID, generation: int) -> list[Chunk]:
    """Those of which people have ever changed anything: their text, or whether they are found."""
    changed = select(ChunkEdit.chunk_id).where(ChunkEdit.document_id == document_id, ChunkEdit.generation == generation)
    return list(await session.scalars(select(Chunk).where(Chunk.id.in_(changed)).order_by(Chunk.ordinal)))


async def chunks(session: ReadSession, ids: Collection[UUID]) -> dict[UUID, Chunk]:
    """By their ids."""
    return {chunk.id: chunk for chunk in await session.scalars(select(Chunk).where(_among(Chunk.id, ids)))}


def _among(column: InstrumentedAttribute[UUID], ids: Collection[UUID]) -> ColumnElement[bool]:
    """One parameter, however many ids: a statement may not have more than 32,767."""
    return column == any_(literal(list(ids), ARRAY(Uuid)))


async def file_texts(session: ReadSession, document_id: UUID, generation: int) -> list[FileText]:
    """Of all chunks of the generation, in their order."""
    text = func.sha256(func.convert_to(func.coalesce(Chunk.original_text, Chunk.text), "UTF8"))
    query = select(Chunk.id, Chunk.level, Chunk.heading_path, text).order_by(Chunk.ordinal)
    rows = await session.execute(query.where(Chunk.document_id == document_id, Chunk.generation == generation))
    return [FileText(chunk_id, level, tuple(headings), digest) for chunk_id, level, headings, digest in rows]


async def move_history(session: WriteSession, generation: int, counterparts: Mapping[UUID, UUID]) -> None:
    """Makes what was changed of each chunk the history of its counterpart, which is of the given generation."""
    if counterparts:
        moved = update(ChunkEdit).where(ChunkEdit.chunk_id == bindparam("old"))
        moved = moved.values(chunk_id=bindparam("new"), generation=generation)
        rows = [{"old": old, "new": new} for old, new in counterparts.items()]
        await (await session.connection()).execute(moved, rows)


async def mark_parents(session: WriteSession, changed: Collection[Chunk]) -> None:
    """Says of everything above these chunks, of one generation, whether its text still is what its children say."""
    await session.flush()
    parents = {chunk.parent_id for chunk in changed if chunk.parent_id is not None}
    child = aliased(Chunk)
    while parents:
        document_id, generation = next((chunk.document_id, chunk.generation) for chunk in changed)
        differing = select(child.parent_id).where(
            child.document_id == document_id,
            child.generation == generation,
            child.parent_id.is_not(None),
            ~child.enabled | child.outdated | child.edited_at.is_not(None),
        )
        above = await session.scalars(
            update(Chunk)
            .where(_among(Chunk.id, parents))
            .values(outdated=Chunk.id.in_(differing))
            .returning(Chunk.parent_id)
            .execution_options(synchronize_session=False)
        )
        parents = {parent_id for parent_id in above if parent_id is not None}


def replace_text(chunk: Chunk, text: str, text_hash: bytes, token_count: int) -> None:
    """What a person has made of it becomes what is read."""
    if chunk.original_text is None:
        chunk.original_text = chunk.text
    chunk.text, chunk.text_hash, chunk.token_count = text, text_hash, token_count
    chunk.provenance = []  # where the parts of a text stand that no page holds, nobody knows


async def take_over(
    session: WriteSession, tenant_id: UUID, space: str, chunks: Collection[Chunk], texts: Mapping[UUID, NewText]
) -> None:
    """Makes pending texts what is read, with their vectors in the cache and those of the texts before out of it."""
    taken = {chunk: texts[chunk.id] for chunk in chunks if chunk.pending_text is not None}
    before = {chunk.text_hash for chunk in taken}
    for chunk, new in taken.items():
        replace_text(chunk, new.text, new.text_hash, new.token_count)
        chunk.pending_text = None
    await session.flush()
    if taken:
        await session.execute(select(func.pg_advisory_xact_lock(embeddings_lock(tenant_id))))
        await add_vectors(session, tenant_id, space, {new.text_hash: new.vector for new in taken.values()})
        await forget_unused_vectors(session, before)
