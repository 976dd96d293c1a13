"""Chunks as the two indexes hold them, made from what Postgres holds. Ingestion and repair write the same."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.chunking.chunk import embedded_text
from app.core.scope import TenantScope
from app.ingestion import chunks_repository, repository, vectors_repository
from app.ingestion.repository import DocumentGeneration, Subject
from app.models import Chunk, OperationKind
from app.ports.indexes import ChunkSource
from app.ports.parts import Parts
from app.ports.text_index import TermDocument, TextIndex
from app.ports.vector_index import VectorIndex, VectorPoint, Vectors
from app.terms import index_terms

BATCH = 256


@dataclass(frozen=True, slots=True)
class Batch:
    """Chunks of one or several generations, these generations, and what vectors there are of the texts, by hash."""

    subjects: Mapping[DocumentGeneration, Subject]
    chunks: list[Chunk]
    vectors: dict[bytes, Vectors]

    def only(self, ids: Collection[UUID]) -> "Batch":
        return Batch(self.subjects, [chunk for chunk in self.chunks if chunk.id in ids], self.vectors)

    def unembedded(self) -> "Batch":
        """What has no vector yet, fewest tokens first."""
        chunks = [chunk for chunk in self.chunks if chunk.text_hash not in self.vectors]
        return Batch(self.subjects, sorted(chunks, key=lambda chunk: chunk.token_count), {})

    def source(self, chunk: Chunk) -> ChunkSource:
        return self._subject(chunk).source(chunk.id)

    def text(self, chunk: Chunk) -> str:
        """What is embedded and tokenized of a chunk. Its hash is `chunk.text_hash`."""
        return embedded_text(self._subject(chunk).generation.title, chunk.heading_path, chunk.text)

    def _subject(self, chunk: Chunk) -> Subject:
        return self.subjects[chunk.document_id, chunk.generation]


async def write_vectors(parts: Parts, scope: TenantScope, batch: Batch) -> None:
    """Upserts vectors; those that are no longer cached are embedded again."""
    texts = {chunk.text_hash: batch.text(chunk) for chunk in batch.chunks}
    made = await embed_missing(parts, texts, batch.vectors)
    if made:
        async with parts.database.write(scope) as session:
            await vectors_repository.add_vectors(session, scope.tenant_id, parts.embedder.space.name, made)
    vectors = batch.vectors | made
    points = [VectorPoint(batch.source(chunk), vectors[chunk.text_hash]) for chunk in batch.chunks]
    await parts.vectors.upsert(scope, points)


async def embed_missing(
    parts: Parts, texts: Mapping[bytes, str], vectors: Mapping[bytes, Vectors]
) -> dict[bytes, Vectors]:
    """A vector by hash for each of the texts, which are by hash as well, that has none among `vectors`."""
    missing = {text_hash: text for text_hash, text in texts.items() if text_hash not in vectors}
    return await embed(parts, missing) if missing else {}


async def embed(parts: Parts, texts: Mapping[bytes, str]) -> dict[bytes, Vectors]:
    """A vector for each of the texts, both by hash."""
    return dict(zip(texts, await parts.embedder.embed_passages(list(texts.values())), strict=True))


async def write_terms(parts: Parts, scope: TenantScope, batch: Batch, version: int) -> None:
    """Upserts terms under the writer's fencing number."""

    def make() -> list[TermDocument]:
        return [
            TermDocument(batch.source(chunk), tuple(index_terms(batch.text(chunk))), version) for chunk in batch.chunks
        ]

    await parts.texts.upsert(scope, await asyncio.to_thread(make))


async def side_by_side(*writes: Awaitable[None]) -> None:
    """Waits until every write has ended, then raises the first error: whoever gives up leaves none under way."""
    for outcome in await asyncio.gather(*writes, return_exceptions=True):
        if outcome is not None:
            raise outcome


async def batches(parts: Parts, scope: TenantScope, subject: Subject) -> AsyncIterator[Batch]:
    """The generation's chunks in order, at most `BATCH` at a time; no transaction is open in between."""
    space, after = parts.embedder.space.name, -1
    while True:
        async with parts.database.read(scope) as session:
            rows = await chunks_repository.chunks_with_vectors(session, *subject.key, space, after, BATCH)
        if rows:
            yield _batch({subject.key: subject}, rows)
        if len(rows) < BATCH:
            return
        after = rows[-1][0].ordinal


def _batch(subjects: Mapping[DocumentGeneration, Subject], rows: Sequence[tuple[Chunk, Vectors | None]]) -> Batch:
    vectors = {chunk.text_hash: vector for chunk, vector in rows if vector is not None}
    return Batch(subjects, [chunk for chunk, _ in rows], vectors)


async def write_again(parts: Parts, scope: TenantScope, *, vectors: Collection[UUID], terms: Collection[UUID]) -> None:
    """Writes chunks, of whichever documents, to the index that lacks them. They are held in memory: give a few hundred.

    The version is taken before anything is read: whoever changes a text after that has a higher one.
    """
    async with parts.database.write(scope) as session:
        version = await repository.next_fencing(session)
    async with parts.database.read(scope) as session:
        rows = await chunks_repository.given_chunks_with_vectors(session, {*vectors, *terms}, parts.embedder.space.name)
        subjects = await repository.subjects(session, {(chunk.document_id, chunk.generation) for chunk, _ in rows})
    alive = _batch(subjects, [row for row in rows if (row[0].document_id, row[0].generation) in subjects])
    await side_by_side(
        write_vectors(parts, scope, alive.only(vectors)), write_terms(parts, scope, alive.only(terms), version)
    )
    await _tidy_after_late_writes(parts, scope, subjects)


async def _tidy_after_late_writes(
    parts: Parts, scope: TenantScope, written: Mapping[DocumentGeneration, Subject]
) -> None:
    """As `tidy_after_late_write`, of many generations, of which few will have changed meanwhile.

    These are found without a lock, as all is written: whoever changes or retires one from now on writes after that.
    """
    async with parts.database.read(scope) as session:
        found = await repository.subjects(session, written.keys())
        edited = await chunks_repository.with_edits(session, written.keys())
    for key, subject in written.items():
        now = found.get(key)
        settled = now is not None and repository.is_indexed(now) and repository.facts(now) == repository.facts(subject)
        if not settled or key in edited:
            await tidy_after_late_write(parts, scope, *key, written=subject)


async def tidy_after_late_write(
    parts: Parts, scope: TenantScope, document_id: UUID, generation: int, *, written: Subject | None = None
) -> None:
    """Makes good what was written to the indexes without a lease, or after it was lost unnoticed.

    If the generation was retired or deleted meanwhile, a purge may have passed already: its entries are removed again.
    If it lives, its tags and metadata may have changed since they were read: they are written once more, unless they
    are those of `written`. So are the texts that people have edited, which may have been written as they were before.
    """
    async with parts.database.write(scope) as session:
        subject = await repository.subject(session, document_id, generation, lock=True)
        if subject is not None and repository.is_indexed(subject):
            changed = written is None or repository.facts(written) != repository.facts(subject)
            if changed or await chunks_repository.with_edits(session, [(document_id, generation)]):
                kb_id = subject.document.knowledge_base_id
                parts.ledger.enqueue(
                    session, scope, OperationKind.REINDEX, knowledge_base_id=kb_id, document_id=document_id
                )
            return
    for index in (parts.vectors, parts.texts):
        held = [item.chunk_id async for item in index.scan(scope, document_id=document_id, generation=generation)]
        await index.delete(scope, held)
    for key in parsed_keys(document_id, generation):
        await parts.blobs.delete(scope, key)


async def tidy_after_late_reindexing(parts: Parts, scope: TenantScope, document_id: UUID) -> None:
    """As `tidy_after_late_write`, of every generation of the document: those that it may have written."""
    indexes: tuple[VectorIndex | TextIndex, ...] = (parts.vectors, parts.texts)
    held = {item.generation for index in indexes async for item in index.scan(scope, document_id=document_id)}
    for generation in sorted(held):
        await tidy_after_late_write(parts, scope, document_id, generation)


def parsed_key(document_id: UUID, generation: int) -> str:
    """Where the parsed form of a generation is kept among the blobs."""
    return f"parsed/{document_id}/{generation}.json"


def cells_key(document_id: UUID, generation: int) -> str:
    """The folder of blobs with the cells of its large tables, named as in `app.parsing.cells`."""
    return f"parsed/{document_id}/{generation}"


def parsed_keys(document_id: UUID, generation: int) -> tuple[str, str]:
    """All that parsing leaves of a generation."""
    return parsed_key(document_id, generation), cells_key(document_id, generation)
