"""Texts of chunks that people have changed: into both indexes first, and then, in one transaction, what is read.

An edit commits as `pending_text` beside the text, together with the operation that carries it out. Until that is done
everything reads the old text, and finds it by the old vector and the old terms. Then the new vector is made, both
indexes are written, and the next transaction makes the pending text the text: for a batch of chunks at a time, so that
between the two lies the time of two calls and a commit, however many edits there are. Should any of it fail, the
indexes get back what they held. (A chunk of its own generation would leave no such moment, but every id that a citation
holds would change with it.)

Neither vectors nor threads know whose write is the last. So a reindexing writes every edited chunk of its document from
what Postgres holds now, and again until nothing was changed meanwhile; and whoever may have written late, without
knowing that its lease was lost, has the document reindexed once more.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from uuid import UUID

from app.chunking.chunk import embedded_text, text_hash
from app.core.database import WriteSession
from app.core.errors import BigGraphError
from app.core.ledger import Lease
from app.ingestion import edits_repository, repository, vectors_repository
from app.ingestion.checkpoints import reached
from app.ingestion.edits_repository import NewText
from app.ingestion.projection import embed_missing
from app.ingestion.repository import Subject
from app.models import Chunk
from app.ports.parts import Parts
from app.ports.text_index import TermDocument
from app.ports.vector_index import VectorPoint
from app.terms import index_terms

BATCH = 256


async def note_changed(session: WriteSession, chunk: Chunk) -> None:
    """After a person has changed the text of a chunk, or whether it is found: what holds it may not stand for it."""
    await edits_repository.mark_parents(session, [chunk])


async def write_edits(parts: Parts, lease: Lease) -> int:
    """Carries out all edits of the lease's document; the number of chunks that anybody has edited.

    One batch after the other takes effect. Where one fails, it and those after it have not, and stay pending.
    """
    if lease.document_id is None:
        return 0
    done: dict[UUID, str] = {}
    while True:
        async with parts.database.read(lease.scope) as session:
            generation = await edits_repository.active_generation(session, lease.document_id)
            subject = await repository.subject(session, lease.document_id, generation or 0)
            chunks = await edits_repository.edited_chunks(session, lease.document_id, generation or 0)
        if subject is None:
            return 0
        changed = [chunk for chunk in chunks if done.get(chunk.id) != chunk.wanted_text]
        if not changed:
            return len(chunks)
        for first in range(0, len(changed), BATCH):
            done |= await _carry_out(parts, lease, subject, changed[first : first + BATCH])


async def _carry_out(parts: Parts, lease: Lease, subject: Subject, chunks: Sequence[Chunk]) -> dict[UUID, str]:
    """Brings both indexes to what is wanted of these chunks and makes that what is read, or puts the indexes back.

    The texts by chunk, but for chunks that somebody has changed meanwhile.
    """
    try:
        wanted = await _made(parts, lease, subject, {chunk: chunk.wanted_text for chunk in chunks})
        await _upsert(parts, lease, subject, wanted)
        reached("edits_written")
        return await _take_over(parts, lease, subject, wanted)
    except BigGraphError:
        with suppress(BigGraphError):
            await _put_back(parts, lease, subject, {chunk.id for chunk in chunks})
        raise


async def _put_back(parts: Parts, lease: Lease, subject: Subject, chunk_ids: Collection[UUID]) -> None:
    """Brings both indexes to what is read of these chunks by now: a commit may have been done though it failed."""
    document_id, generation = subject.document.id, subject.generation.generation
    async with parts.database.read(lease.scope) as session:
        chunks = await edits_repository.edited_chunks(session, document_id, generation, among=chunk_ids)
    await _upsert(parts, lease, subject, await _made(parts, lease, subject, {chunk: chunk.text for chunk in chunks}))


async def _made(parts: Parts, lease: Lease, subject: Subject, texts: Mapping[Chunk, str]) -> dict[UUID, NewText]:
    """The texts with their vectors, which are made where none is cached."""
    title = subject.generation.title
    whole = {chunk.id: embedded_text(title, chunk.heading_path, text) for chunk, text in texts.items()}
    hashes = {chunk_id: text_hash(text) for chunk_id, text in whole.items()}
    async with parts.database.read(lease.scope) as session:
        vectors = await vectors_repository.vectors(session, parts.embedder.space.name, list(hashes.values()))
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


async def _take_over(parts: Parts, lease: Lease, subject: Subject, written: Mapping[UUID, NewText]) -> dict[UUID, str]:
    """Makes what was written what is read, but for what somebody has changed meanwhile. The texts by chunk."""
    document_id, generation = subject.document.id, subject.generation.generation
    async with parts.database.write(lease.scope) as session:
        await repository.lock_document(session, document_id)
        await parts.ledger.hold(session, lease)
        if await edits_repository.active_generation(session, document_id) != generation:
            return {}  # a newer version has taken the place of this one, whose purge waits for us
        chunks = await edits_repository.edited_chunks(session, document_id, generation, among=written)
        unchanged = [chunk for chunk in chunks if chunk.wanted_text == written[chunk.id].text]
        space = parts.embedder.space.name
        await edits_repository.take_over(session, lease.tenant_id, space, unchanged, written)
        return {chunk.id: chunk.text for chunk in unchanged}
