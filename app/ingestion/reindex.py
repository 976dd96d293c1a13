"""Writes a document's changed tags and metadata into both indexes, for every generation that they hold."""

from app.core.ledger import Lease
from app.ingestion import repository
from app.models import Chunk
from app.ports.indexes import ChunkSource
from app.ports.parts import Parts

BATCH = 500


async def reindex(parts: Parts, lease: Lease) -> None:
    record_id = await parts.ledger.start_stage(lease, "reindex", percent=0)
    done, after = 0, (0, -1)
    while batch := await _sources(parts, lease, after):
        sources, after = batch
        await parts.vectors.update_source(lease.scope, sources)
        await parts.texts.update_source(lease.scope, sources)
        done += len(sources)
        await parts.ledger.progress(lease, record_id, percent=50, done=done, total=None)
    async with parts.database.write(lease.scope) as session:
        await parts.ledger.end_stage(session, record_id, done=done)
        await parts.ledger.succeed(session, lease, {"chunks": done})


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
        chunks: list[Chunk] = await repository.indexed_chunks(session, document.id, after, BATCH)
    if not chunks:
        return None
    sources = [repository.chunk_source(document, chunk.generation, chunk.id) for chunk in chunks]
    return sources, (chunks[-1].generation, chunks[-1].ordinal)
