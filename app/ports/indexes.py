"""What both indexes share: where a chunk comes from, how hits are narrowed, what a hit is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ChunkSource:
    """The facts of a chunk by which both indexes filter. Stored beside its vector and its terms."""

    chunk_id: UUID
    knowledge_base_id: UUID
    document_id: UUID
    generation: int
    created_at: datetime
    """When the document was added; aware, UTC."""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """Flat; nested values have been dropped before."""


@dataclass(frozen=True, slots=True)
class IndexFilter:
    """All given conditions hold at once; an empty condition says nothing. An index applies all of them itself."""

    knowledge_base_ids: tuple[UUID, ...] = ()
    document_ids: tuple[UUID, ...] = ()
    excluded_document_ids: tuple[UUID, ...] = ()
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    metadata: Mapping[str, tuple[str | int | float | bool, ...]] = field(default_factory=dict)
    """Key to accepted values: the chunk's equals one of them, of the same JSON type (`1` is not `"1"` or `true`)."""
    created_from: datetime | None = None
    """Inclusive."""
    created_before: datetime | None = None
    """Exclusive."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit of one channel: an id and a score, nothing that could leak. Postgres decides what becomes of it."""

    chunk_id: UUID
    score: float
    """Cosine similarity in [-1, 1] of the vector index; BM25, >= 0, of the text index."""


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """What an index holds of a chunk, as the reconciler sees it."""

    chunk_id: UUID
    document_id: UUID
    generation: int
