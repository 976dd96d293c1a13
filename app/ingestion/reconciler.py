"""Compares what the three stores hold of a tenant, and mends it. Postgres is the truth.

Wanted in both indexes: exactly the chunks of active generations of live documents. Generations that are being built
are left alone: their ingestion verifies them itself. A second repair after a first finds nothing to do.

The stores are read while documents come and go, so Postgres is read before them and after them. What it said of a
generation changes one way only (building, active, retired, purged) and no number is given twice: missing is what was
wanted both times and was not found, an orphan is what was found and neither reading knows.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from app.core.database import ReadSession
from app.core.scope import TenantScope
from app.ingestion import projection
from app.ingestion import reconciler_repository as repository
from app.ingestion.reconciler_repository import BlobKeys
from app.ingestion.repository import DocumentGeneration
from app.models import OperationKind
from app.ports.indexes import IndexedChunk
from app.ports.parts import Parts
from app.ports.text_index import TextIndex
from app.ports.vector_index import VectorIndex

log = structlog.get_logger()

BATCH = 500


@dataclass(slots=True)
class IndexReport:
    """What differs in one index, by document and generation."""

    wanted: int = 0
    found: int = 0
    missing: dict[DocumentGeneration, set[UUID]] = field(default_factory=dict)
    orphans: set[UUID] = field(default_factory=set)

    @property
    def missing_count(self) -> int:
        return sum(len(ids) for ids in self.missing.values())

    @property
    def missing_ids(self) -> list[UUID]:
        """Those of one document one after another."""
        return [chunk for ids in self.missing.values() for chunk in ids]


@dataclass(slots=True)
class TenantReport:
    tenant_id: UUID
    vectors: IndexReport
    terms: IndexReport
    blobs_missing: list[str]
    """Originals that a document needs and the blob store lacks: these can't be mended, only uploaded again."""
    blobs_orphaned: list[str]
    unpurged: list[UUID]
    """Documents with retired generations, or a tombstone, that no purge is under way for."""

    @property
    def clean(self) -> bool:
        return not (
            self.vectors.missing
            or self.vectors.orphans
            or self.terms.missing
            or self.terms.orphans
            or self.blobs_missing
            or self.blobs_orphaned
            or self.unpurged
        )


@dataclass(frozen=True, slots=True)
class _Facts:
    """What Postgres says at one moment."""

    busy: set[DocumentGeneration]
    wanted: dict[DocumentGeneration, set[UUID]]
    blobs: BlobKeys

    @classmethod
    async def read(cls, session: ReadSession) -> "_Facts":
        # In this order: a generation that becomes active between the two is then in both, never in neither.
        busy = await repository.busy_generations(session)
        return cls(busy, await repository.wanted_chunks(session), await repository.blob_keys(session))


async def verify(parts: Parts, scope: TenantScope) -> TenantReport:
    """Compares id sets; changes nothing."""
    async with parts.database.read(scope) as session:
        before = await _Facts.read(session)
    held = {key async for key in parts.blobs.list(scope)}
    in_vectors = [item async for item in parts.vectors.scan(scope)]
    in_terms = [item async for item in parts.texts.scan(scope)]
    async with parts.database.read(scope) as session:
        after = await _Facts.read(session)
        unpurged = await repository.unpurged_documents(session)
    unknown = [key for key in held if not (before.blobs.knows(key) or after.blobs.knows(key))]
    return TenantReport(
        tenant_id=scope.tenant_id,
        vectors=_compare(before, after, in_vectors),
        terms=_compare(before, after, in_terms),
        blobs_missing=sorted((before.blobs.needed & after.blobs.needed) - held),
        blobs_orphaned=sorted(key for key in unknown if not repository.is_fresh(key)),
        unpurged=[found.document_id for found in unpurged],
    )


async def repair(parts: Parts, scope: TenantScope) -> TenantReport:
    """Mends what `verify` finds, and returns what it had found."""
    report = await verify(parts, scope)
    await _remove(parts.vectors, scope, report.vectors.orphans)
    await _remove(parts.texts, scope, report.terms.orphans)
    await _write_missing(parts, scope, report)
    await _remove_orphaned_blobs(parts, scope, report)
    if report.unpurged:
        await _purge_again(parts, scope)
    return report


def _compare(before: _Facts, after: _Facts, found: Iterable[IndexedChunk]) -> IndexReport:
    wanted = {key: ids for key, ids in before.wanted.items() if key in after.wanted}
    passing = (before.busy | after.busy | before.wanted.keys() | after.wanted.keys()) - wanted.keys()
    report = IndexReport(wanted=sum(len(ids) for ids in wanted.values()))
    held: dict[DocumentGeneration, set[UUID]] = defaultdict(set)
    for item in found:
        key = (item.document_id, item.generation)
        if key in passing:
            continue
        report.found += 1
        if item.chunk_id in wanted.get(key, ()):
            held[key].add(item.chunk_id)
        else:
            report.orphans.add(item.chunk_id)
    report.missing = {key: ids - held[key] for key, ids in wanted.items() if ids - held[key]}
    return report


async def _remove(index: VectorIndex | TextIndex, scope: TenantScope, ids: set[UUID]) -> None:
    ordered = sorted(ids)
    for first in range(0, len(ordered), BATCH):
        await index.delete(scope, ordered[first : first + BATCH])


async def _write_missing(parts: Parts, scope: TenantScope, report: TenantReport) -> None:
    """In batches across documents: a write to an index costs much the same for one chunk as for a batch of them."""
    vectors, terms = report.vectors.missing_ids, report.terms.missing_ids
    ordered = list(dict.fromkeys([*vectors, *terms]))
    for first in range(0, len(ordered), projection.BATCH):
        batch = set(ordered[first : first + projection.BATCH])
        await projection.write_again(parts, scope, vectors=batch.intersection(vectors), terms=batch.intersection(terms))


async def _remove_orphaned_blobs(parts: Parts, scope: TenantScope, report: TenantReport) -> None:
    for key in report.blobs_orphaned:
        await parts.blobs.delete(scope, key)


async def _purge_again(parts: Parts, scope: TenantScope) -> None:
    async with parts.database.write(scope) as session:
        unpurged = await repository.unpurged_documents(session)
        for kb_id in {found.knowledge_base_id for found in unpurged if found.with_knowledge_base}:
            parts.ledger.enqueue(session, scope, OperationKind.PURGE, knowledge_base_id=kb_id)
        for found in unpurged:
            if not found.with_knowledge_base:
                parts.ledger.enqueue(
                    session,
                    scope,
                    OperationKind.PURGE,
                    knowledge_base_id=found.knowledge_base_id,
                    document_id=found.document_id,
                )


async def tenant_ids(parts: Parts) -> list[UUID]:
    async with parts.database.system() as session:
        return await repository.tenant_ids(session)
