"""The two channels of one query, asked at the same time, each with its own deadline."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

import structlog

from app.core.errors import EngineRejected, EngineUnavailable, Unavailable
from app.core.scope import TenantScope
from app.ports.indexes import Candidate, IndexFilter
from app.ports.parts import Parts
from app.ports.text_index import MAX_QUERY_TERMS
from app.ports.vector_index import Vectors
from app.retrieval.schemas import EngineName, TookMs
from app.retrieval.settings import SearchMode
from app.terms import query_terms

log = structlog.get_logger()

Found = TypeVar("Found")

MATCHED_POOL = 20
"""First BM25 candidates that are asked at once which terms they hold, while the dense channel is still busy."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the channels brought in one round. A channel that was not asked or failed brought nothing."""

    dense: list[Candidate] = field(default_factory=list)
    bm25: list[Candidate] = field(default_factory=list)

    @property
    def candidates(self) -> list[Candidate]:
        return self.dense + self.bm25

    @property
    def chunk_ids(self) -> set[UUID]:
        return {candidate.chunk_id for candidate in self.candidates}


class Channels:
    """May be read several times; the query is embedded once, and a channel that failed is not asked again."""

    def __init__(self, parts: Parts, scope: TenantScope, query: str, mode: SearchMode, took: TookMs) -> None:
        self.terms = query_terms(query)[:MAX_QUERY_TERMS]
        self.matched: dict[UUID, frozenset[str]] = {}
        """Terms that chunks hold, as far as it was asked."""
        self.failures: dict[EngineName, str] = {}
        self.asks_dense = mode is not SearchMode.BM25
        self.asks_bm25 = mode is not SearchMode.DENSE and bool(self.terms)
        self._parts = parts
        self._scope = scope
        self._query = query
        self._took = took
        self._vector: Vectors | None = None

    async def read(self, where: IndexFilter, limit: int) -> Reading:
        """The best `limit` of each channel. Raises `Unavailable` when every channel that was to be asked has failed."""
        dense, bm25 = await asyncio.gather(
            self._guarded(EngineName.VECTORS, self.asks_dense, lambda: self._search_dense(where, limit)),
            self._guarded(EngineName.TERMS, self.asks_bm25, lambda: self._search_bm25(where, limit)),
        )
        asked = {EngineName.VECTORS} if self.asks_dense else set()
        asked |= {EngineName.TERMS} if self.asks_bm25 else set()
        if asked and asked <= self.failures.keys():
            raise Unavailable(
                "Nothing can be searched at the moment. " + " ".join(self.failures[name] for name in sorted(asked)),
                code="retrieval_unavailable",
                degraded=sorted(asked),
            )
        return Reading(dense or [], bm25 or [])

    async def _search_dense(self, where: IndexFilter, limit: int) -> list[Candidate]:
        vector = await self._embedded()
        with stopwatch(self._took, "dense"):
            return await self._parts.vectors.search(self._scope, vector, where, limit)

    async def _embedded(self) -> Vectors:
        if self._vector is None:
            with stopwatch(self._took, "embed"):
                self._vector = await self._parts.question_vectors.get(
                    self._parts.embedder, self._scope.tenant_id, self._query
                )
        return self._vector

    async def _search_bm25(self, where: IndexFilter, limit: int) -> list[Candidate]:
        with stopwatch(self._took, "bm25"):
            found = await self._parts.texts.search(self._scope, self.terms, where, limit)
            await self._ask_matched([candidate.chunk_id for candidate in found[:MATCHED_POOL]])
        return found

    async def find_matched(self, chunk_ids: Sequence[UUID]) -> None:
        """Completes `matched` for these chunks, as far as the text index answers."""

        async def ask() -> None:
            with stopwatch(self._took, "bm25"):
                await self._ask_matched(chunk_ids)

        await self._guarded(EngineName.TERMS, self.asks_bm25, ask)

    async def _ask_matched(self, chunk_ids: Sequence[UUID]) -> None:
        missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in self.matched]
        if missing:
            self.matched |= await self._parts.texts.matched_terms(self._scope, self.terms, missing)

    async def dense_scores(self, chunk_ids: Sequence[UUID]) -> dict[UUID, float]:
        """Exact scores of chunks, whether found or not; nothing where the index is down."""

        async def ask() -> dict[UUID, float]:
            return await self._parts.vectors.score(self._scope, await self._embedded(), chunk_ids)

        return await self._guarded(EngineName.VECTORS, self.asks_dense and bool(chunk_ids), ask) or {}

    async def bm25_scores(self, where: IndexFilter, chunk_ids: Sequence[UUID]) -> dict[UUID, float]:
        """As `dense_scores`; terms weigh what they weigh in a search `where`."""

        async def ask() -> dict[UUID, float]:
            return await self._parts.texts.score(self._scope, self.terms, where, chunk_ids)

        return await self._guarded(EngineName.TERMS, self.asks_bm25 and bool(chunk_ids), ask) or {}

    async def _guarded(self, name: EngineName, asked: bool, work: Callable[[], Awaitable[Found]]) -> Found | None:
        """What `work` gives within the deadline; None where the engine is not asked, has failed, or fails now."""
        if not asked or name in self.failures:
            return None
        return await guarded(name, self._parts.settings.retrieval_timeout_seconds, work, self.failures)


async def guarded(
    name: EngineName, seconds: float, work: Callable[[], Awaitable[Found]], failures: dict[EngineName, str]
) -> Found | None:
    """What `work` gives within the deadline; None where it is late or its engine fails, which `failures` then tells."""
    try:
        async with asyncio.timeout(seconds):
            return await work()
    except TimeoutError:
        failures[name] = reason = f"The {name.value} did not answer within {seconds:g} s."
    except (EngineUnavailable, EngineRejected) as error:
        reason = error.detail  # names addresses, folders and what a server said: for operators
        failures[name] = f"The {name.value} can't be asked at the moment ({error.error_code})."
    log.warning("retrieval_degraded", engine=name.value, reason=reason)
    return None


@contextmanager
def stopwatch(took: TookMs, part: str) -> Iterator[None]:
    """Adds the time that a block takes to one field of `took`, even if the block fails."""
    start = time.perf_counter()
    try:
        yield
    finally:
        setattr(took, part, getattr(took, part) + (time.perf_counter() - start) * 1000)
