"""What may be seen of what the indexes brought, and whether a generation changed between the two readings. Pure."""

from collections.abc import Collection, Mapping, Sequence, Set
from datetime import datetime
from uuid import UUID

from app.ports.indexes import Candidate
from app.retrieval.explained import Outcome
from app.retrieval.repository import StoredChunk


def barrier(chunk: StoredChunk | None, readable: Set[UUID]) -> Outcome | None:
    """What keeps a chunk from being seen; None if nothing does. `readable`: knowledge bases asked that may be read."""
    if chunk is None:
        return Outcome.UNKNOWN
    barriers = {
        Outcome.NOT_ALLOWED: chunk.knowledge_base_deleted or chunk.knowledge_base_id not in readable,
        Outcome.DOCUMENT_DELETED: chunk.document_deleted,
        Outcome.GENERATION_NOT_ACTIVE: chunk.generation != chunk.active_generation,
        Outcome.CHUNK_DISABLED: not chunk.enabled,
        Outcome.FILTERED: not chunk.matches,
    }
    return next((outcome for outcome, stands in barriers.items() if stands), None)


def overtaken(candidates: Collection[Candidate], stored: Mapping[UUID, StoredChunk], since: datetime) -> set[UUID]:
    """Candidates that may have been replaced while they were on their way from the indexes to here.

    Both indexes hold a new generation whole before it becomes active. So what was activated before `since`, a moment
    of the database's clock before the indexes were read, was there to be found: its predecessor is dropped and
    nothing is missing. What was activated later may be missing, and the indexes must be read again. A candidate
    without a row may be of a generation that has even been purged by now, or a left-over; only a second reading tells.
    """
    return {
        candidate.chunk_id
        for candidate in candidates
        if (chunk := stored.get(candidate.chunk_id)) is None
        or (_superseded(chunk) and chunk.activated_at is not None and chunk.activated_at >= since)
    }


def _superseded(chunk: StoredChunk) -> bool:
    return chunk.active_generation is not None and chunk.generation < chunk.active_generation


def lifeless_documents(chunks: Collection[StoredChunk]) -> set[UUID]:
    """Documents no chunk of which can be seen: deleted, or without an active generation."""
    return {chunk.document_id for chunk in chunks if chunk.document_deleted or chunk.active_generation is None}


def visible(
    candidates: Sequence[Candidate], stored: Mapping[UUID, StoredChunk], readable: Set[UUID]
) -> list[Candidate]:
    return [candidate for candidate in candidates if barrier(stored.get(candidate.chunk_id), readable) is None]
