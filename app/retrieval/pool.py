"""Candidates that may be seen: the indexes are read until enough of them are together and none was overtaken."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import structlog

from app.core.database import Database
from app.core.scope import TenantScope
from app.ports.indexes import Candidate, IndexFilter
from app.retrieval import repository
from app.retrieval.channels import Channels, Reading, stopwatch
from app.retrieval.repository import StoredChunk
from app.retrieval.schemas import TookMs
from app.retrieval.settings import RetrievalSettings
from app.retrieval.visibility import lifeless_documents, overtaken, visible

log = structlog.get_logger()

MOST_ROUNDS = 5
MOST_REQUESTED = 5_000
MOST_EXCLUDED = 1_000


@dataclass(frozen=True, slots=True)
class Plan:
    """What a request comes to once its ids are checked and its settings are known."""

    settings: RetrievalSettings
    where: IndexFilter
    readable: frozenset[UUID]
    """Knowledge bases that are asked and may be read."""
    as_of: datetime
    """The database's clock before the indexes are read."""
    explained_chunk_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of the last round. `dense` and `bm25` may be seen; `reading` is what the indexes said."""

    dense: list[Candidate]
    bm25: list[Candidate]
    reading: Reading
    requested: int
    """How many candidates each channel was asked for."""
    stored: Mapping[UUID, StoredChunk]
    rounds: int


async def gather_candidates(
    database: Database, scope: TenantScope, channels: Channels, plan: Plan, took: TookMs
) -> Pool:
    """Reads the indexes and then Postgres, again where a generation changed in between or too much was dropped.

    Every round stands alone: candidates of two rounds are never mixed, and what may be seen is decided by the one
    snapshot that is read after the indexes. Raises `Unavailable` when every channel has failed.
    """
    where, since, requested = plan.where, plan.as_of, plan.settings.depth
    seen_overtaken: set[UUID] = set()
    for number in range(1, MOST_ROUNDS + 1):
        reading = await channels.read(where, requested)
        with stopwatch(took, "hydrate"):
            async with database.read(scope) as session:
                chunk_ids = reading.chunk_ids.union(plan.explained_chunk_ids)
                stored, as_of = await repository.hydrate(session, chunk_ids, plan.where)
        pool = _pool(reading, stored, plan, requested, number)
        fresh = overtaken(reading.candidates, stored, since) - seen_overtaken
        if fresh:
            # Left-overs that nobody has purged come back in the next round, and do not ask for a third.
            seen_overtaken |= fresh
            since = as_of or since
        elif _too_few(pool, plan.settings) and requested < MOST_REQUESTED:
            requested = min(requested * 4, MOST_REQUESTED)
            excluded = sorted(lifeless_documents(stored.values()))[:MOST_EXCLUDED]
            where = replace(plan.where, excluded_document_ids=tuple(excluded))
        else:
            return pool
    log.warning("retrieval_rounds_exhausted", rounds=MOST_ROUNDS, overtaken=len(fresh))
    return pool


def _pool(reading: Reading, stored: Mapping[UUID, StoredChunk], plan: Plan, requested: int, rounds: int) -> Pool:
    dense = above(reading.dense, plan.settings.min_dense_score)
    return Pool(
        dense=visible(dense, stored, plan.readable)[: plan.settings.depth],
        bm25=visible(reading.bm25, stored, plan.readable)[: plan.settings.depth],
        reading=reading,
        requested=requested,
        stored=stored,
        rounds=rounds,
    )


def above(dense: list[Candidate], threshold: float | None) -> list[Candidate]:
    return [one for one in dense if threshold is None or one.score >= threshold]


def _too_few(pool: Pool, settings: RetrievalSettings) -> bool:
    """Whether a channel that has more to give kept less than half of what is to be fused, or less than is returned."""
    enough = max(settings.top_k, settings.depth // 2)
    dense_ended = bool(
        settings.min_dense_score is not None
        and pool.reading.dense
        and pool.reading.dense[-1].score < settings.min_dense_score
    )
    return (len(pool.dense) < enough and len(pool.reading.dense) >= pool.requested and not dense_ended) or (
        len(pool.bm25) < enough and len(pool.reading.bm25) >= pool.requested
    )
