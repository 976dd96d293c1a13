"""Vectors of chunks. One index holds one vector space (one embedding model)."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.scope import TenantScope
from app.ports.indexes import Candidate, ChunkSource, IndexedChunk, IndexFilter

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """A space of unit vectors compared by cosine. `name` is fit for a collection's name: `[a-z0-9_-]+`."""

    name: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class VectorPoint:
    source: ChunkSource
    vector: Vectors
    """Shape (dimensions,), length 1."""


class VectorIndex(Protocol):
    space: VectorSpace

    async def open(self) -> None:
        """Makes the collection and its payload indexes where they are missing. May be called again."""

    async def close(self) -> None: ...

    async def check(self) -> None:
        """Returns if the engine answers, raises `EngineUnavailable` if not."""

    async def upsert(self, scope: TenantScope, points: Sequence[VectorPoint]) -> None:
        """Writes points by chunk id; when it returns, searches see all of them. Idempotent."""

    async def update_source(self, scope: TenantScope, sources: Sequence[ChunkSource]) -> None:
        """Replaces the stored `ChunkSource` of points that exist, leaving vectors. Absent ids are skipped."""

    async def search(self, scope: TenantScope, vector: Vectors, where: IndexFilter, limit: int) -> list[Candidate]:
        """The nearest `limit` points by cosine similarity, best first; ties by chunk id."""

    async def score(self, scope: TenantScope, vector: Vectors, chunk_ids: Sequence[UUID]) -> dict[UUID, float]:
        """Cosine similarity of the given chunks, those absent left out. For explanations."""

    async def delete(self, scope: TenantScope, chunk_ids: Sequence[UUID]) -> None:
        """Removes points of this tenant; unknown ids are no error."""

    async def scan(
        self, scope: TenantScope, *, document_id: UUID | None = None, generation: int | None = None
    ) -> AsyncIterator[IndexedChunk]:
        """Every point held for the tenant (of the document, of the generation), in no order. Exact, not approximate."""
        yield IndexedChunk(UUID(int=0), UUID(int=0), 0)  # pragma: no cover - makes this an async generator's type
