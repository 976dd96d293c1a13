"""Texts of chunks that people have changed: into both indexes first, and then, in one transaction, what is read.

An edit commits as `pending_text` beside the text, together with the operation that carries it out. Until that is done
everything reads the old text, and finds it by the old vector and the old terms. Then the new vector is made, both
indexes are written, and the next transaction makes the pending text the text. Between the two lies the time of two
calls and a commit; should the second index refuse, the first gets back what it held. (A chunk of its own generation
would leave no such moment, but every id that a citation holds would change with it.)

Neither vectors nor threads know whose write is the last. So a reindexing writes every edited chunk of its document from
what Postgres holds now, and again until nothing was changed meanwhile; and whoever may have written late, without
knowing that its lease was lost, has the document reindexed once more.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from uuid import UUID

from app.chunking.chunk import embedded_text, text_hash
from app.core.errors import BigGraphError
from app.core.ledger import Lease
from app.ingestion import edits_repository, repository
from app.ingestion.edits_repository import NewText
from app.ingestion.projection import embed_missing
from app.ingestion.repository import Subject
from app.models import Chunk
from app.ports.parts import Parts
from app.ports.text_index import TermDocument
from app.ports.vector_index import VectorPoint
from app.terms import index_terms

BATCH = 256


async def write_edits(parts: Parts, lease: Lease) -> int:
    """Carries out all edits of the lease's document; the number of chunks that anybody has edited."""
    if lease.document_id is None:
        return 0
    written: dict[UUID, NewText] = {}
    while True:
        async with parts.database.read(lease.scope) as session:
            generation = await edits_repository.active_generation(session, lease.document_id)
            subject = await repository.subject(session, lease.document_id, generation or 0)
            chunks = await edits_repository.edited_chunks(session, lease.document_id, generation or 0)
        if subject is None or not chunks:
            return 0
        changed = [chunk for chunk in chunks if not _is_written(chunk, written)]
        for first in range(0, len(changed), BATCH):
            written |= await _write(parts, lease, subject, changed[first : first + BATCH])
        if await _take_over(parts, lease, subject, written):
            return len(chunks)


def _is_written(chunk: Chunk, written: Mapping[UUID, NewText]) -> bool:
    return chunk.id in written and written[chunk.id].text == _wanted(chunk)


def _wanted(chunk: Chunk) -> str:
    return chunk.text if chunk.pending_text is None else chunk.pending_text


async def _write(parts: Parts, lease: Lease, subject: Subject, chunks: Sequence[Chunk]) -> dict[UUID, NewText]:
    """Brings both indexes to what is wanted of these chunks, or leaves them as they were."""
    wanted = await _made(parts, lease, subject, {chunk: _wanted(chunk) for chunk in chunks})
    before = {chunk: chunk.text for chunk in chunks if chunk.pending_text is not None}
    try:
        await _upsert(parts, lease, subject, wanted)
    except BigGraphError:
        with suppress(BigGraphError):
            await _upsert(parts, lease, subject, await _made(parts, lease, subject, before))
        raise
    return wanted


async def _made(parts: Parts, lease: Lease, subject: Subject, texts: Mapping[Chunk, str]) -> dict[UUID, NewText]:
    """The texts with their vectors, which are made where none is cached."""
    title = subject.generation.title
    whole = {chunk.id: embedded_text(title, chunk.heading_path, text) for chunk, text in texts.items()}
    hashes = {chunk_id: text_hash(text) for chunk_id, text in whole.items()}
    async with parts.database.read(lease.scope) as session:
        vectors = await repository.vectors(session, parts.embedder.space.name, list(hashes.values()))
    vectors |= await embed_missing(parts, {hashes[chunk_id]: text for chunk_id, text in whole.items()}, vectors)
    return {
        chunk.id: NewText(
            text=text,
            embedded=whole[chunk.id],
            text_hash=hashes[chunk.id],
            token_count=parts.embedder.tokens.count(whole[chunk.id]),
            vector=vectors[hashes[chunk.id]],
        )
        for chunk, text in texts.items()
    }


async def _upsert(parts: Parts, lease: Lease, subject: Subject, texts: Mapping[UUID, NewText]) -> None:
    async with parts.database.write(lease.scope) as session:
        await parts.ledger.hold(session, lease)
        version = await repository.next_fencing(session)  # a repair meanwhile may have written with a higher one

    def terms() -> list[TermDocument]:
        return [
            TermDocument(subject.source(chunk_id), tuple(index_terms(new.embedded)), version)
            for chunk_id, new in texts.items()
        ]

    await parts.texts.upsert(lease.scope, await asyncio.to_thread(terms))
    points = [VectorPoint(subject.source(chunk_id), new.vector) for chunk_id, new in texts.items()]
    await parts.vectors.upsert(lease.scope, points)


async def _take_over(parts: Parts, lease: Lease, subject: Subject, written: Mapping[UUID, NewText]) -> bool:
    """Makes what was written what is read; False where somebody has changed it meanwhile."""
    document_id, generation = subject.document.id, subject.generation.generation
    async with parts.database.write(lease.scope) as session:
        await repository.lock_document(session, document_id)
        await parts.ledger.hold(session, lease)
        if await edits_repository.active_generation(session, document_id) != generation:
            return False  # a newer version has taken the place of this one, whose purge waits for us
        chunks = await edits_repository.edited_chunks(session, document_id, generation)
        if not all(_is_written(chunk, written) for chunk in chunks):
            return False
        space = parts.embedder.space.name
        await edits_repository.take_over(session, lease.tenant_id, space, chunks, written)
        return True
