"""Removes from all stores what is no longer wanted: retired generations, deleted documents, deleted knowledge bases.

What indexes hold is removed first, then chunks and blobs, then the rows that lead to them: a purge that is killed
anywhere is begun again and finds what is left.
"""

from collections import Counter
from dataclasses import dataclass
from uuid import UUID

from app.core.errors import Postponed
from app.core.ledger import Lease
from app.core.stages import StageLog
from app.ingestion import purge_repository as repository
from app.ingestion.checkpoints import reached
from app.ingestion.projection import parsed_keys
from app.ingestion.purge_repository import PurgedGeneration
from app.ingestion.repository import lock_document
from app.ports.parts import Parts

BATCH = 1000


@dataclass(frozen=True, slots=True)
class _Purge:
    parts: Parts
    lease: Lease

    async def document(self, document_id: UUID, *, deleted: bool) -> int:
        """Purges all generations of a deleted document, the retired ones of a live one. The number of chunks.

        `Postponed` while a worker may still be writing one of them: an ingestion has been told to stop and does so
        soon, a reindexing is short.
        """
        chunks = 0
        async with self.parts.database.read(self.lease.scope) as session:
            generations = await repository.to_purge(session, document_id, everything=deleted)
            numbers = [generation.number for generation in generations]
            if numbers and await repository.is_being_written(session, document_id, numbers):
                raise Postponed("What shall be purged is still being written.")
        for generation in generations:
            chunks += await self._generation(generation, deleted=deleted)
        if deleted:
            async with self.parts.database.write(self.lease.scope) as session:
                await lock_document(session, document_id)
                await self.parts.ledger.hold(session, self.lease)
                await repository.drop_document(session, document_id)
        return chunks

    async def _generation(self, generation: PurgedGeneration, *, deleted: bool) -> int:
        scope, counts = self.lease.scope, Counter[str]()
        async with self.parts.database.read(scope) as session:
            chunks = await repository.chunk_ids(session, generation)
        for name, index in (("vectors", self.parts.vectors), ("terms", self.parts.texts)):
            # What the index itself holds too: a late writer may have added what Postgres never knew.
            held = index.scan(scope, document_id=generation.document_id, generation=generation.number)
            ids = sorted(chunks | {item.chunk_id async for item in held})
            for first in range(0, len(ids), BATCH):
                await index.delete(scope, ids[first : first + BATCH])
            counts[name] += len(ids)
        reached("purging")
        for key in (generation.blob_key, *parsed_keys(generation.document_id, generation.number)):
            counts["blobs"] += await self.parts.blobs.delete(scope, key)
        async with self.parts.database.write(scope) as session:
            operation = await self.parts.ledger.hold(session, self.lease)
            dropped = await repository.drop_generation(session, self.lease.tenant_id, generation)
            if dropped is not None:  # else another purge was faster, and has counted it
                counts["chunks"] = dropped
                operation.counts = dict(counts + Counter(operation.counts))
                if deleted:
                    await repository.add_to_receipt(session, generation.document_id, counts)
        reached("purged")
        return dropped or 0


async def purge(parts: Parts, lease: Lease) -> None:
    """A purge of one document, or without `document_id` of every document of a deleted knowledge base."""
    log = StageLog(parts.database, parts.ledger, lease, {"purge": (0, 100)})
    await log.recorded(_purge(parts, lease, log))


async def _purge(parts: Parts, lease: Lease, log: StageLog) -> None:
    work, chunks = _Purge(parts, lease), 0
    waiting: Postponed | None = None
    log.enter("purge")
    for document_id, deleted in await _documents(parts, lease):
        try:
            chunks += await work.document(document_id, deleted=deleted)
        except Postponed as error:
            waiting = error
        log.progress(chunks)
    if waiting is not None:
        raise waiting
    async with log.moving(None) as session:
        operation = await parts.ledger.hold(session, lease)
        await parts.ledger.succeed(session, lease, operation.counts)  # those of earlier attempts as well


async def _documents(parts: Parts, lease: Lease) -> list[tuple[UUID, bool]]:
    async with parts.database.write(lease.scope) as session:
        await parts.ledger.hold(session, lease)
        if lease.document_id is not None:
            deleted = await repository.is_deleted(session, lease.document_id)
            return [] if deleted is None else [(lease.document_id, deleted)]
        if lease.knowledge_base_id is None:
            return []
        return [(found, True) for found in await repository.tombstone_all(session, lease.knowledge_base_id)]
