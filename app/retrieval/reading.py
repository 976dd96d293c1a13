"""From a ranking of candidates to what is read: hits, some of them parents of what was found."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.core.database import Database
from app.core.scope import TenantScope
from app.retrieval import repository
from app.retrieval.fusion import FusedCandidate, Fusion
from app.retrieval.merging import MergedHit, Parent, merge
from app.retrieval.pool import Plan, Pool
from app.retrieval.repository import StoredChunk
from app.retrieval.reranking import Ranking
from app.retrieval.visibility import barrier


@dataclass(frozen=True, slots=True)
class Read:
    """Hits in their order, and what is read of each, by its id."""

    hits: list[MergedHit]
    stored: dict[UUID, StoredChunk]
    parents: dict[UUID, Parent]


@dataclass(frozen=True, slots=True)
class Findings:
    """An answer before it is written down: what was planned, found, fused, ranked and read."""

    plan: Plan
    pool: Pool
    fusion: Fusion
    u: float
    """Share of the query's terms that the first BM25 candidates hold."""
    ranking: Ranking
    read: Read


async def read_hits(
    database: Database, scope: TenantScope, candidates: Sequence[FusedCandidate], plan: Plan, pool: Pool
) -> Read:
    """Asks Postgres only where a candidate has a parent. A parent that may not be seen stands for nothing."""
    stored = dict(pool.stored)
    parent_of = {
        one.chunk_id: parent_id for one in candidates if (parent_id := stored[one.chunk_id].parent_id) is not None
    }
    parents: dict[UUID, Parent] = {}
    settings = plan.settings
    if parent_of and settings.auto_merge:
        async with database.read(scope) as session:
            parents = await repository.parents(session, set(parent_of.values()))
    while True:
        hits = merge(candidates, parent_of, parents, share=settings.merge_share, top_k=settings.top_k)
        unread = {hit.chunk_id for hit in hits} - stored.keys()
        if not unread:
            return Read(hits, stored, parents)
        async with database.read(scope) as session:
            found, _ = await repository.hydrate(session, unread, plan.where)
        stored |= {key: chunk for key, chunk in found.items() if barrier(chunk, plan.readable) is None}
        for gone in unread - stored.keys():  # disabled, replaced or deleted between the two readings
            del parents[gone]
