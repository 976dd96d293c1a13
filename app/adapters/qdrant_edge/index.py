"""`VectorIndex` kept in a folder, by an engine process that this one starts and stops."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from app.adapters import vector_payload as payload
from app.adapters.qdrant_edge.process import EngineProcess
from app.core.errors import EngineUnavailable
from app.core.scope import TenantScope
from app.ports.indexes import Candidate, ChunkSource, IndexedChunk, IndexFilter
from app.ports.vector_index import VectorPoint, Vectors, VectorSpace

T = TypeVar("T")

UPSERT_BATCH = 64
"""Points a call: few, because a search waits for the call before it."""

SCAN_PAGE = 1_000
IDS_PER_CALL = 1_000


class EdgeVectorIndex:
    """May be used from several event loops of one process: calls go to the engine one after another, in order.

    `folder` is made if missing; the index of a space lies in a subfolder of its name. What a write returned for
    survives a killed process. It may not survive a power cut, which `biggraph repair` mends.
    """

    def __init__(self, folder: Path, space: VectorSpace, *, lock_seconds: float = 15.0) -> None:
        """Opening waits `lock_seconds` for another process to let go: a killed one's engine may be finishing a call."""
        self.space = space
        self._engine = EngineProcess(folder / space.name, space.dimensions, lock_seconds)
        self._thread: ThreadPoolExecutor | None = None

    @property
    def engine_pid(self) -> int | None:
        return self._engine.pid

    async def open(self) -> None:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="vector-index")
        await self._in_thread(self._engine.start)

    async def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.wrap_future(thread.submit(self._engine.stop))
            thread.shutdown()

    async def check(self) -> None:
        await self._call("count")

    async def upsert(self, scope: TenantScope, points: Sequence[VectorPoint]) -> None:
        payload.check_vectors(self.space, (point.vector for point in points))
        for start in range(0, len(points), UPSERT_BATCH):
            batch = points[start : start + UPSERT_BATCH]
            await self._call("upsert", [_row(scope, point) for point in batch])

    async def update_source(self, scope: TenantScope, sources: Sequence[ChunkSource]) -> None:
        for facts, chunk_ids in payload.shared_facts(sources):
            for start in range(0, len(chunk_ids), IDS_PER_CALL):
                chosen = payload.given_chunks(scope, chunk_ids[start : start + IDS_PER_CALL])
                await self._call("set_payload", chosen, facts)

    async def search(self, scope: TenantScope, vector: Vectors, where: IndexFilter, limit: int) -> list[Candidate]:
        if limit <= 0:
            return []
        payload.check_vectors(self.space, (vector,))
        values, conditions = vector.tolist(), payload.conditions(scope, where)
        asked = payload.first_request(limit)
        while True:
            rows: list[tuple[str, float]] = await self._call("search", values, conditions, asked)
            hits = [payload.candidate(*row) for row in rows]
            if not payload.tied_beyond(hits, limit, asked):
                return payload.ranked(hits, limit)
            asked = min(asked * 4, payload.MOST_ASKED)

    async def score(self, scope: TenantScope, vector: Vectors, chunk_ids: Sequence[UUID]) -> dict[UUID, float]:
        payload.check_vectors(self.space, (vector,))
        values = vector.tolist()
        found: dict[UUID, float] = {}
        for start in range(0, len(chunk_ids), IDS_PER_CALL):
            chosen = payload.given_chunks(scope, chunk_ids[start : start + IDS_PER_CALL])
            rows: list[tuple[str, float]] = await self._call("search", values, chosen, IDS_PER_CALL)
            found.update((hit.chunk_id, hit.score) for hit in (payload.candidate(*row) for row in rows))
        return found

    async def delete(self, scope: TenantScope, chunk_ids: Sequence[UUID]) -> None:
        ids = [payload.point_id(scope, chunk_id) for chunk_id in chunk_ids]
        for start in range(0, len(ids), IDS_PER_CALL):
            await self._call("delete", ids[start : start + IDS_PER_CALL])

    async def scan(
        self, scope: TenantScope, *, document_id: UUID | None = None, generation: int | None = None
    ) -> AsyncIterator[IndexedChunk]:
        held = payload.held_chunks(scope, document_id, generation)
        offset: str | None = None
        while True:
            rows, offset = await self._call("scan", held, SCAN_PAGE, offset)
            for chunk, document, number in rows:
                yield IndexedChunk(UUID(chunk), UUID(document), number)
            if offset is None:
                return

    async def _call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401 - what the `Shard` method returns
        return await self._in_thread(lambda: self._engine.call(method, *arguments))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            raise EngineUnavailable("The vector index is not open.", code="index_closed")
        return await asyncio.wrap_future(self._thread.submit(work))


def _row(scope: TenantScope, point: VectorPoint) -> tuple[str, list[float], dict[str, Any]]:
    source = point.source
    return payload.point_id(scope, source.chunk_id), point.vector.tolist(), payload.payload(scope, source)
