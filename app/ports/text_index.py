"""Terms of chunks, ranked by BM25 (k1 = 1.0, b = 0.75, as `app.adapters.bm25` says).

Text arrives as terms already: `app.terms` makes them.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from app.core.scope import TenantScope
from app.ports.indexes import Candidate, ChunkSource, IndexedChunk, IndexFilter

MAX_QUERY_TERMS = 512
"""Distinct terms of a query that are looked up, the first ones; a query as long as a chapter costs no more."""


@dataclass(frozen=True, slots=True)
class TermDocument:
    source: ChunkSource
    terms: tuple[str, ...]
    """In order, repeated as often as they occur; none holds white space."""
    version: int
    """Fencing number of the writer. A write with a lower version than what is stored is dropped silently."""


class TextIndex(Protocol):
    async def open(self) -> None:
        """Makes the index where it is missing. May be called again."""

    async def close(self) -> None: ...

    async def check(self) -> None:
        """Returns if the engine answers, raises `EngineUnavailable` if not."""

    async def upsert(self, scope: TenantScope, documents: Sequence[TermDocument]) -> None:
        """Writes by chunk id, every item checked; when it returns, searches see all of them. Idempotent."""

    async def update_source(self, scope: TenantScope, sources: Sequence[ChunkSource]) -> None:
        """Replaces the stored `ChunkSource` of chunks that exist, leaving terms. Absent ids are skipped."""

    async def search(self, scope: TenantScope, terms: Sequence[str], where: IndexFilter, limit: int) -> list[Candidate]:
        """The best `limit` chunks that hold at least one term, by BM25, best first; ties by chunk id. No terms: none.

        How rare a term is, is counted among the tenant's chunks in the knowledge bases of `where` (all if it names
        none), whatever else `where` says. A term given n times weighs n times. Both hold in `score` too.
        """

    async def score(
        self, scope: TenantScope, terms: Sequence[str], where: IndexFilter, chunk_ids: Sequence[UUID]
    ) -> dict[UUID, float]:
        """What a search `where` gives these of the tenant's chunks, let through by it or not. For explanations.

        Chunks that are absent or hold no term are left out.
        """

    async def matched_terms(
        self, scope: TenantScope, terms: Sequence[str], chunk_ids: Sequence[UUID]
    ) -> dict[UUID, frozenset[str]]:
        """Which of the terms each given chunk holds; chunks that are absent are left out."""

    async def delete(self, scope: TenantScope, chunk_ids: Sequence[UUID]) -> None:
        """Removes chunks of this tenant; unknown ids are no error."""

    async def scan(
        self, scope: TenantScope, *, document_id: UUID | None = None, generation: int | None = None
    ) -> AsyncIterator[IndexedChunk]:
        """Every chunk held for the tenant (of the document, of the generation), in no order. Exact."""
        yield IndexedChunk(UUID(int=0), UUID(int=0), 0)  # pragma: no cover - makes this an async generator's type
