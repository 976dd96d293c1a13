"""`/v1/consistency`: whether the three stores hold the same of a tenant, and mending it."""

from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel

from app.identity.access import Admin, PartsDep
from app.ingestion import reconciler
from app.ingestion.reconciler import IndexReport, TenantReport

router = APIRouter(prefix="/v1/consistency", tags=["operations"])


class IndexConsistency(BaseModel):
    wanted: int
    """Chunks that it must hold: of active generations of live documents."""
    found: int
    missing: int
    orphaned: int

    @classmethod
    def of(cls, report: IndexReport) -> "IndexConsistency":
        return cls(wanted=report.wanted, found=report.found, missing=report.missing_count, orphaned=len(report.orphans))


class Consistency(BaseModel):
    clean: bool
    vectors: IndexConsistency
    terms: IndexConsistency
    blobs_missing: list[str]
    """Originals that are lost: the documents stay searchable, but can't be downloaded or ingested again."""
    blobs_orphaned: int
    unpurged_documents: list[UUID]

    @classmethod
    def of(cls, report: TenantReport) -> "Consistency":
        return cls(
            clean=report.clean,
            vectors=IndexConsistency.of(report.vectors),
            terms=IndexConsistency.of(report.terms),
            blobs_missing=report.blobs_missing,
            blobs_orphaned=len(report.blobs_orphaned),
            unpurged_documents=report.unpurged,
        )


@router.get("")
async def verify_consistency(scope: Admin, parts: PartsDep) -> Consistency:
    """Compares the sets of chunk ids in Postgres, the vector index and the term index. Changes nothing."""
    return Consistency.of(await reconciler.verify(parts, scope))


@router.post(":repair")
async def repair_consistency(scope: Admin, parts: PartsDep) -> Consistency:
    """Mends what differs, and answers what had been found. A second repair finds nothing."""
    return Consistency.of(await reconciler.repair(parts, scope))
