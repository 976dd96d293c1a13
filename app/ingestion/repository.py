"""SQL of ingestion: generations, chunks, cached vectors. Row-level security confines it to the session's tenant."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import ColumnElement, Row, delete, exists, func, or_, select, tuple_, update
from sqlalchemy.dialects.postgresql import distinct_on, insert

from app.chunking.chunk import DraftChunk, text_hash
from app.core.database import ReadSession, WriteSession
from app.core.ids import chunk_id
from app.core.pagination import PageRequest
from app.ingestion import passwords
from app.models import (
    FENCING,
    Chunk,
    ChunkEdit,
    DeletionReceipt,
    Document,
    DocumentStatus,
    Embedding,
    Generation,
    GenerationState,
    KnowledgeBase,
    Operation,
    OperationStage,
    OperationState,
)
from app.ports.indexes import ChunkSource
from app.ports.vector_index import Vectors

DocumentGeneration = tuple[UUID, int]
ChunkRow = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """A live document and a generation of it, such as the one that is being made."""

    document: Document
    generation: Generation

    @property
    def key(self) -> DocumentGeneration:
        return self.document.id, self.generation.generation

    def set_status(self, status: DocumentStatus) -> None:
        """Of the document; what went wrong before is forgotten."""
        self.document.status = status
        self.document.error_code = self.document.error_detail = None

    def source(self, chunk: UUID) -> ChunkSource:
        return chunk_source(self.document, self.generation.generation, chunk)


def chunk_source(document: Document, generation: int, chunk: UUID) -> ChunkSource:
    return ChunkSource(
        chunk_id=chunk,
        knowledge_base_id=document.knowledge_base_id,
        document_id=document.id,
        generation=generation,
        created_at=document.created_at,
        tags=tuple(document.tags),
        metadata=document.doc_metadata,
    )


def facts(subject: Subject) -> tuple[list[str], dict[str, Any]]:
    """What may change of a chunk's source after it was indexed."""
    return subject.document.tags, subject.document.doc_metadata


def is_indexed(subject: Subject) -> bool:
    """True where the indexes may hold the generation, false where it is purged from them."""
    return subject.generation.state in (GenerationState.BUILDING, GenerationState.ACTIVE)


async def subject(session: ReadSession, document_id: UUID, generation: int, *, lock: bool = False) -> Subject | None:
    """None where the document, or its knowledge base, was deleted."""
    query = _LIVE.where(Document.id == document_id, Generation.generation == generation)
    row = (await session.execute(query.with_for_update(of=Document) if lock else query)).one_or_none()
    return Subject(*row) if row else None


async def subjects(session: ReadSession, keys: Collection[DocumentGeneration]) -> dict[DocumentGeneration, Subject]:
    """Those whose document, and its knowledge base, live."""
    # Chosen by pairs in SQL, each document would be joined with all the pairs.
    query = _LIVE.where(Document.id.in_({document_id for document_id, _ in keys}))
    found = [Subject(*row) for row in await session.execute(query)]
    return {subject.key: subject for subject in found if subject.key in keys}


_LIVE = (
    select(Document, Generation)
    .join(Generation, Generation.document_id == Document.id)
    .where(
        Document.deleted_at.is_(None),
        exists().where(KnowledgeBase.id == Document.knowledge_base_id, KnowledgeBase.deleted_at.is_(None)),
    )
)
"""Live documents, each with every generation that it has had."""


async def set_failed(session: WriteSession, document_id: UUID, number: int | None, code: str, detail: str) -> None:
    """Marks the document failed if the failed generation is still its newest. Passwords up to it are forgotten."""
    await session.execute(
        update(Document)
        .where(Document.id == document_id, Document.latest_generation == number)
        .values(status=DocumentStatus.FAILED, error_code=code, error_detail=detail)
    )
    await forget_passwords(session, document_id, number or 0)


async def forget_passwords(session: WriteSession, document_id: UUID, number: int) -> None:
    """Of that generation and of those before it, which nobody reads any more."""
    with_password = select(Generation).where(
        Generation.document_id == document_id,
        Generation.generation <= number,
        Generation.settings.has_key(passwords.SETTING),
    )
    for generation in await session.scalars(with_password):
        passwords.forget(generation)


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


ChunkWithVector = tuple[Chunk, Vectors | None]


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


def _is_searched(document_id: UUID, generation: int) -> ColumnElement[bool]:
    return (Chunk.document_id == document_id) & (Chunk.generation == generation) & (Chunk.level == 0)


def _is_vector_in(space: str) -> ColumnElement[bool]:
    """Of an embedding: it is that of the chunk."""
    return (
        (Embedding.tenant_id == Chunk.tenant_id) & (Embedding.text_hash == Chunk.text_hash) & (Embedding.space == space)
    )


async def chunk_ids(session: ReadSession, document_id: UUID, generation: int) -> set[UUID]:
    """Of the chunks that are searched: those that both indexes hold."""
    return set(await session.scalars(select(Chunk.id).where(_is_searched(document_id, generation))))


async def with_edits(session: ReadSession, keys: Collection[DocumentGeneration]) -> set[DocumentGeneration]:
    """Those of the generations of which people have edited chunks."""
    generation = tuple_(Chunk.document_id, Chunk.generation)
    edited = select(Chunk.document_id, Chunk.generation).where(generation.in_(keys), Chunk.edited_at.is_not(None))
    return {(row.document_id, row.generation) for row in await session.execute(edited.distinct())}


async def vectors(session: ReadSession, space: str, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
    """Cached vectors by the hash of their text, as far as there are any."""
    rows = await session.execute(
        select(Embedding.text_hash, Embedding.vector).where(Embedding.space == space, Embedding.text_hash.in_(hashes))
    )
    return {text_hash: np.frombuffer(vector, dtype="<f4") for text_hash, vector in rows}


async def add_vectors(session: WriteSession, tenant_id: UUID, space: str, vectors: Mapping[bytes, Vectors]) -> None:
    """Caches vectors by the hash of their text, as far as a chunk of the tenant has it.

    What a purge has just removed stays away.
    """
    if not vectors:
        return
    await session.execute(select(func.pg_advisory_xact_lock_shared(embeddings_lock(tenant_id))))
    used = set(await session.scalars(select(Chunk.text_hash).where(Chunk.text_hash.in_(vectors))))
    rows = [
        {"tenant_id": tenant_id, "space": space, "text_hash": text_hash, "vector": vector.astype("<f4").tobytes()}
        for text_hash, vector in sorted(vectors.items(), key=lambda item: item[0])  # or two would wait in a circle
        if text_hash in used
    ]
    if rows:
        await session.execute(insert(Embedding).on_conflict_do_nothing(), rows)


async def forget_unused_vectors(session: WriteSession, hashes: Collection[bytes]) -> None:
    """Removes cached vectors of texts that no chunk of the tenant has. The caller holds `embeddings_lock`."""
    await session.execute(
        delete(Embedding)
        .where(Embedding.text_hash.in_(hashes), ~exists().where(Chunk.text_hash == Embedding.text_hash))
        .execution_options(synchronize_session=False)
    )


def embeddings_lock(tenant_id: UUID) -> ColumnElement[int]:
    """The advisory lock of a tenant's cached vectors: shared by who adds some, exclusive to who removes unused ones."""
    return func.hashtextextended(f"embeddings:{tenant_id}", 0)


async def activate(session: WriteSession, subject: Subject, chunk_count: int, page_count: int | None) -> None:
    """The flip: this generation is what is searched from the moment that the transaction commits."""
    document, generation = subject.document, subject.generation
    await session.execute(
        update(Generation)
        .where(
            Generation.document_id == document.id,
            Generation.generation < generation.generation,
            Generation.state.in_((GenerationState.ACTIVE, GenerationState.BUILDING)),
        )
        # A password of one that was never read is given up with it.
        .values(state=GenerationState.RETIRED, settings=passwords.settings_without())
        .execution_options(synchronize_session=False)
    )
    generation.state, generation.activated_at = GenerationState.ACTIVE, func.now()
    generation.chunk_count = chunk_count
    document.active_generation = generation.generation
    document.chunk_count, document.page_count = chunk_count, page_count
    document.media_type, document.reading = generation.media_type, generation.reading
    if document.latest_generation == generation.generation:
        document.status, document.error_code, document.error_detail = DocumentStatus.READY, None, None


async def find_operation(session: ReadSession, operation_id: UUID) -> Operation | None:
    found: Operation | None = await session.get(Operation, operation_id)
    return found


async def stages(session: ReadSession, operation_id: UUID) -> list[OperationStage]:
    return list(
        await session.scalars(
            select(OperationStage).where(OperationStage.operation_id == operation_id).order_by(OperationStage.id)
        )
    )


async def lost_edits(session: ReadSession, operation: Operation) -> list[UUID]:
    """Chunks of the version that this ingestion has replaced whose changes found no place in the new one, by age."""
    replaced = select(func.max(Generation.generation)).where(
        Generation.document_id == operation.document_id,
        Generation.generation < operation.generation,
        Generation.activated_at.is_not(None),
    )
    query = select(ChunkEdit.chunk_id).where(
        ChunkEdit.document_id == operation.document_id, ChunkEdit.generation == replaced.scalar_subquery()
    )
    return list(await session.scalars(query.group_by(ChunkEdit.chunk_id).order_by(func.min(ChunkEdit.edited_at))))


async def live_document(session: ReadSession, document_id: UUID) -> Document | None:
    found: Document | None = await session.scalar(
        select(Document).where(Document.id == document_id, Document.deleted_at.is_(None))
    )
    return found


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


@dataclass(frozen=True, slots=True)
class OperationFilter:
    state: OperationState | None = None
    document_id: UUID | None = None
    knowledge_base_id: UUID | None = None


async def operation_page(session: ReadSession, request: PageRequest, where: OperationFilter) -> list[Operation]:
    """Newest first; one row more than asked for, where there is one."""
    query = select(Operation).order_by(Operation.id.desc())
    if where.state is not None:
        query = query.where(Operation.state == where.state)
    if where.document_id is not None:
        query = query.where(Operation.document_id == where.document_id)
    if where.knowledge_base_id is not None:
        query = query.where(Operation.knowledge_base_id == where.knowledge_base_id)
    if request.after is not None:
        query = query.where(Operation.id < request.after)
    return list(await session.scalars(query.limit(request.limit + 1)))


async def knows_document(session: ReadSession, document_id: UUID) -> bool:
    """Whether the tenant has it, or has a receipt for its deletion."""
    there = exists().where(Document.id == document_id)
    deleted = exists().where(DeletionReceipt.document_id == document_id)
    return bool(await session.scalar(select(or_(there, deleted))))


async def knows_knowledge_base(session: ReadSession, kb_id: UUID) -> bool:
    """Whether the tenant has it, or has deleted it."""
    return bool(await session.scalar(select(exists().where(KnowledgeBase.id == kb_id))))


async def lock_document(session: WriteSession, document_id: UUID) -> None:
    """Whoever changes a document and an operation on it locks the document first, so that nobody waits in a circle."""
    await session.execute(select(Document.id).where(Document.id == document_id).with_for_update())


async def next_fencing(session: WriteSession) -> int:
    return int(await session.scalar(select(FENCING.next_value())) or 0)
