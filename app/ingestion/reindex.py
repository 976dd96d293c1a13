"""Writes what people changed of a document into both indexes: texts of chunks, then tags and metadata."""

from contextlib import suppress
from typing import Any

from app.core.database import ReadSession
from app.core.ledger import Lease
from app.core.stages import StageLog
from app.ingestion import chunks_repository, repository
from app.ingestion.edits import write_edits
from app.models import Chunk
from app.ports.indexes import ChunkSource
from app.ports.parts import Parts

BATCH = 500


class _ChangedAgain(Exception):
    """Another reindexing may have written the newer facts before ours: they are written once more."""


async def reindex(parts: Parts, lease: Lease) -> None:
    log = StageLog(parts.database, parts.ledger, lease, {"reindex": (0, 100)})
    await log.recorded(_reindex(parts, lease, log))


async def _reindex(parts: Parts, lease: Lease, log: StageLog) -> None:
    log.enter("reindex")
    edited = await write_edits(parts, lease)
    while True:
        with suppress(_ChangedAgain):
            await _attempt(parts, lease, log, edited)
            return


async def _attempt(parts: Parts, lease: Lease, log: StageLog, edited: int) -> None:
    async with parts.database.read(lease.scope) as session:
        written = await _facts(session, lease)
    done = await _write(parts, lease, log)
    async with log.moving(None) as session:
        if lease.document_id is not None:
            await repository.lock_document(session, lease.document_id)
        if await _facts(session, lease) != written:
            raise _ChangedAgain
        await parts.ledger.succeed(session, lease, {"chunks": done, "edited": edited})


async def _facts(session: ReadSession, lease: Lease) -> tuple[list[str], dict[str, Any]] | None:
    """Tags and metadata of the document; None where it is gone."""
    if lease.document_id is None:
        return None
    document = await repository.live_document(session, lease.document_id)
    return (document.tags, document.doc_metadata) if document else None


async def _write(parts: Parts, lease: Lease, log: StageLog) -> int:
    done, after = 0, (0, -1)
    while batch := await _sources(parts, lease, after):
        sources, after = batch
        await parts.vectors.update_source(lease.scope, sources)
        await parts.texts.update_source(lease.scope, sources)
        done += len(sources)
        log.progress(done)
    return done


async def _sources(
    parts: Parts, lease: Lease, after: tuple[int, int]
) -> tuple[list[ChunkSource], tuple[int, int]] | None:
    """The next chunks of the document as they should stand in the indexes, with its facts of this moment."""
    if lease.document_id is None:
        return None
    async with parts.database.read(lease.scope) as session:
        document = await repository.live_document(session, lease.document_id)
        if document is None:
            return None
        chunks: list[Chunk] = await chunks_repository.indexed_chunks(session, document.id, after, BATCH)
    if not chunks:
        return None
    sources = [repository.chunk_source(document, chunk.generation, chunk.id) for chunk in chunks]
    return sources, (chunks[-1].generation, chunks[-1].ordinal)
