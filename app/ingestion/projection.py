"""Chunks as the two indexes hold them, made from what Postgres holds. Ingestion and repair write the same."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from app.chunking.chunk import embedded_text
from app.core.scope import TenantScope
from app.ingestion import repository
from app.ingestion.repository import Subject
from app.models import Chunk, OperationKind
from app.ports.parts import Parts
from app.ports.text_index import TermDocument, TextIndex
from app.ports.vector_index import VectorIndex, VectorPoint, Vectors
from app.terms import index_terms

BATCH = 256


@dataclass(frozen=True, slots=True)
class Batch:
    """Chunks in their order, and what vectors there are of their texts, by hash."""

    chunks: list[Chunk]
    vectors: dict[bytes, Vectors]

    def only(self, ids: set[UUID]) -> "Batch":
        return Batch([chunk for chunk in self.chunks if chunk.id in ids], self.vectors)


async def write_vectors(parts: Parts, scope: TenantScope, subject: Subject, batch: Batch) -> None:
    """Upserts vectors; those that are no longer cached are embedded again."""
    texts = {chunk.text_hash: text_of(subject, chunk) for chunk in batch.chunks}
    made = await embed_missing(parts, texts, batch.vectors)
    if made:
        async with parts.database.write(scope) as session:
            await repository.add_vectors(session, scope.tenant_id, parts.embedder.space.name, made)
    vectors = batch.vectors | made
    points = [VectorPoint(subject.source(chunk.id), vectors[chunk.text_hash]) for chunk in batch.chunks]
    await parts.vectors.upsert(scope, points)


async def embed_missing(
    parts: Parts, texts: Mapping[bytes, str], vectors: Mapping[bytes, Vectors]
) -> dict[bytes, Vectors]:
    """A vector by hash for each of the texts, which are by hash as well, that has none among `vectors`."""
    missing = {text_hash: text for text_hash, text in texts.items() if text_hash not in vectors}
    if not missing:
        return {}
    made = await parts.embedder.embed_passages(list(missing.values()))
    return dict(zip(missing, made, strict=True))


async def write_terms(parts: Parts, scope: TenantScope, subject: Subject, batch: Batch, version: int) -> None:
    """Upserts terms under the writer's fencing number."""

    def make() -> list[TermDocument]:
        return [
            TermDocument(subject.source(chunk.id), tuple(index_terms(text_of(subject, chunk))), version)
            for chunk in batch.chunks
        ]

    await parts.texts.upsert(scope, await asyncio.to_thread(make))


def text_of(subject: Subject, chunk: Chunk) -> str:
    """What is embedded and tokenized of a chunk. Its hash is `chunk.text_hash`."""
    return embedded_text(subject.generation.title, chunk.heading_path, chunk.text)


async def batches(parts: Parts, scope: TenantScope, subject: Subject) -> AsyncIterator[Batch]:
    """The generation's chunks in order, at most `BATCH` at a time; no transaction is open in between."""
    generation, after = subject.generation, -1
    while True:
        async with parts.database.read(scope) as session:
            rows = await repository.chunks_with_vectors(
                session, generation.document_id, generation.generation, parts.embedder.space.name, after, BATCH
            )
        if rows:
            vectors = {chunk.text_hash: vector for chunk, vector in rows if vector is not None}
            yield Batch([chunk for chunk, _ in rows], vectors)
        if len(rows) < BATCH:
            return
        after = rows[-1][0].ordinal


async def write_again(
    parts: Parts, scope: TenantScope, document_id: UUID, generation: int, *, vectors: set[UUID], terms: set[UUID]
) -> None:
    """Writes the given chunks of a generation to the index that lacks them."""
    async with parts.database.read(scope) as session:
        subject = await repository.subject(session, document_id, generation)
    if subject is None:
        return  # deleted meanwhile
    async with parts.database.write(scope) as session:
        version = await repository.next_fencing(session)
    await _write_given(parts, scope, subject, vectors, terms, version)
    await tidy_after_late_write(parts, scope, document_id, generation, written=subject)


async def _write_given(
    parts: Parts, scope: TenantScope, subject: Subject, vectors: set[UUID], terms: set[UUID], version: int
) -> None:
    async for batch in batches(parts, scope, subject):
        lacking_vectors, lacking_terms = batch.only(vectors), batch.only(terms)
        if lacking_vectors.chunks:
            await write_vectors(parts, scope, subject, lacking_vectors)
        if lacking_terms.chunks:
            await write_terms(parts, scope, subject, lacking_terms, version)


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
            if changed or await repository.has_edits(session, document_id, generation):
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
