"""`/v1/consistency`: whether the three stores hold the same of a tenant, and mending it."""

from fastapi import APIRouter

from app.identity.access import Admin, PartsDep
from app.ingestion import reconciler
from app.ingestion.schemas import Consistency

router = APIRouter(prefix="/v1/consistency", tags=["operations"])


@router.get("")
async def verify_consistency(scope: Admin, parts: PartsDep) -> Consistency:
    """Compares the sets of chunk ids in Postgres, the vector index and the term index. Changes nothing."""
    return Consistency.of(await reconciler.verify(parts, scope))


@router.post(":repair")
async def repair_consistency(scope: Admin, parts: PartsDep) -> Consistency:
    """Mends what differs, and answers what had been found. A second repair finds nothing."""
    return Consistency.of(await reconciler.repair(parts, scope))
