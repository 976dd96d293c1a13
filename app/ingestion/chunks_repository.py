"""SQL of a generation's chunks: written as they are made, read with their cached vectors.

Row-level security confines it to the session's tenant.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count, islice
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import ColumnElement, Row, delete, exists, func, select, tuple_
from sqlalchemy.dialects.postgresql import distinct_on, insert

from app.chunking.chunk import DraftChunk, text_hash
from app.core.database import ReadSession, WriteSession
from app.core.ids import chunk_id
from app.ingestion.repository import DocumentGeneration, Subject
from app.models import Chunk, Embedding, Generation, GenerationState
from app.ports.vector_index import Vectors

ChunkRow = dict[str, Any]
ChunkWithVector = tuple[Chunk, Vectors | None]


class ChunkRows:
    """Chunks of one generation as rows, made in their order: parents after their children, which they count."""

    def __init__(self, subject: Subject, title: str) -> None:
        self._subject = subject
        self._title = title
        self._children: Counter[int | None] = Counter()
        self._ordinals = count()

    def take(self, drafts: Iterator[DraftChunk], most: int) -> list[ChunkRow]:
        """The rows of the next drafts, at most so many; none where there are no more."""
        return [self._row(next(self._ordinals), draft) for draft in islice(drafts, most)]

    def _row(self, ordinal: int, draft: DraftChunk) -> ChunkRow:
        document, generation = self._subject.document, self._subject.generation.generation
        self._children[draft.parent] += 1
        return {
            "id": chunk_id(document.id, generation, ordinal),
            "tenant_id": document.tenant_id,
            "knowledge_base_id": document.knowledge_base_id,
            "document_id": document.id,
            "generation": generation,
            "ordinal": ordinal,
            "kind": draft.kind,
            "text": draft.text,
            "heading_path": list(draft.heading_path),
            "section": draft.section,
            "page": draft.page,
            "page_end": draft.page_end,
            "provenance": [part.model_dump() for part in draft.provenance],
            "bbox": draft.bbox.model_dump() if draft.bbox else None,
            "start_offset": draft.start,
            "end_offset": draft.end,
            "token_count": draft.token_count,
            "text_hash": text_hash(draft.embedded_text(self._title)),
            "level": draft.level,
            "parent_id": None if draft.parent is None else chunk_id(document.id, generation, draft.parent),
            "child_count": self._children[ordinal],
            "always_read": draft.always_read,
        }


async def write_chunks(session: WriteSession, subject: Subject, rows: Sequence[ChunkRow]) -> None:
    """Writes chunks that follow those written before; the first ones replace what an earlier attempt wrote."""
    if rows[0]["ordinal"] == 0:
        document_id, generation = subject.key
        await session.execute(delete(Chunk).where(Chunk.document_id == document_id, Chunk.generation == generation))
    await session.execute(insert(Chunk), rows)


async def chunk_ids(session: ReadSession, document_id: UUID, generation: int) -> set[UUID]:
    """Of the chunks that are searched: those that both indexes hold."""
    return set(await session.scalars(select(Chunk.id).where(_is_searched(document_id, generation))))


async def chunks_with_vectors(
    session: ReadSession, document_id: UUID, generation: int, space: str, after: int, limit: int
) -> list[ChunkWithVector]:
    """Chunks that are searched, in their order, each with its cached vector where there is one."""
    query = select(Chunk, Embedding.vector).outerjoin(Embedding, _is_vector_in(space))
    query = query.where(_is_searched(document_id, generation), Chunk.ordinal > after)
    return _chunks_with_vectors(await session.execute(query.order_by(Chunk.ordinal).limit(limit)))


async def given_chunks_with_vectors(session: ReadSession, ids: Collection[UUID], space: str) -> list[ChunkWithVector]:
    """Those of the chunks that there are, in no order, each with its cached vector where there is one."""
    query = select(Chunk, Embedding.vector).outerjoin(Embedding, _is_vector_in(space))
    return _chunks_with_vectors(await session.execute(query.where(Chunk.id.in_(ids))))


def _chunks_with_vectors(rows: Iterable[Row[Chunk, bytes]]) -> list[ChunkWithVector]:
    return [(chunk, None if vector is None else np.frombuffer(vector, dtype="<f4")) for chunk, vector in rows]


async def count_texts(session: ReadSession, document_id: UUID, generation: int, space: str) -> tuple[int, int]:
    """How many different texts the chunks that are searched have, and how many of these have a cached vector."""
    query = (
        select(func.count(Chunk.text_hash.distinct()), func.count(Embedding.text_hash.distinct()))
        .select_from(Chunk)
        .outerjoin(Embedding, _is_vector_in(space))
        .where(_is_searched(document_id, generation))
    )
    texts, embedded = (await session.execute(query)).one()
    return texts, embedded


async def unembedded_chunks(
    session: ReadSession, document_id: UUID, generation: int, space: str, after: tuple[int, bytes], limit: int
) -> list[Chunk]:
    """Chunks that are searched and have no cached vector, one of each text, in the order of tokens and hash."""
    order = Chunk.token_count, Chunk.text_hash
    return list(
        await session.scalars(
            select(Chunk)
            .ext(distinct_on(*order))
            .where(
                _is_searched(document_id, generation),
                ~exists().where(_is_vector_in(space)),
                tuple_(*order) > tuple_(*after),
            )
            .order_by(*order)
            .limit(limit)
        )
    )


async def indexed_chunks(session: ReadSession, document_id: UUID, after: tuple[int, int], limit: int) -> list[Chunk]:
    """Chunks that may stand in an index, of all generations, in the order of generation and ordinal."""
    return list(
        await session.scalars(
            select(Chunk)
            .join(
                Generation,
                (Generation.document_id == Chunk.document_id) & (Generation.generation == Chunk.generation),
            )
            .where(
                Chunk.document_id == document_id,
                Chunk.level == 0,
                Generation.state.in_((GenerationState.BUILDING, GenerationState.ACTIVE)),
                tuple_(Chunk.generation, Chunk.ordinal) > tuple_(*after),
            )
            .order_by(Chunk.generation, Chunk.ordinal)
            .limit(limit)
        )
    )


async def with_edits(session: ReadSession, keys: Collection[DocumentGeneration]) -> set[DocumentGeneration]:
    """Those of the generations of which people have edited chunks."""
    generation = tuple_(Chunk.document_id, Chunk.generation)
    edited = select(Chunk.document_id, Chunk.generation).where(generation.in_(keys), Chunk.edited_at.is_not(None))
    return {(row.document_id, row.generation) for row in await session.execute(edited.distinct())}


def _is_searched(document_id: UUID, generation: int) -> ColumnElement[bool]:
    return (Chunk.document_id == document_id) & (Chunk.generation == generation) & (Chunk.level == 0)


def _is_vector_in(space: str) -> ColumnElement[bool]:
    """Of an embedding: it is that of the chunk."""
    return (
        (Embedding.tenant_id == Chunk.tenant_id) & (Embedding.text_hash == Chunk.text_hash) & (Embedding.space == space)
    )
