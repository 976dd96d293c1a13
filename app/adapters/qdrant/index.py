"""`VectorIndex` over a Qdrant server."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any
from uuid import UUID

from qdrant_client import AsyncQdrantClient
from qdrant_client import models as qdrant

from app.adapters import vector_payload as payload
from app.adapters.qdrant.collection import prepare
from app.adapters.qdrant.errors import confirmed, translated
from app.adapters.vector_payload import Conditions, OneOf, Period
from app.core.errors import EngineRejected, EngineUnavailable
from app.core.scope import TenantScope
from app.ports.indexes import Candidate, ChunkSource, IndexedChunk, IndexFilter
from app.ports.vector_index import VectorPoint, Vectors, VectorSpace

NUMBERS_PER_REQUEST = 200_000
"""Vector components in one upsert: about 4 MB of JSON, an eighth of what a server accepts by default."""

SCAN_PAGE = 1_000
IDS_PER_REQUEST = 500


class QdrantVectorIndex:
    """Confined to one event loop: that of `open`.

    `url` is a server's, or `:memory:` for the client's own engine, which is for tests. The collection is named
    `{prefix}{space.name}`. Seconds bound a whole call of the server, and are for searches and for writes.
    """

    def __init__(
        self,
        url: str,
        space: VectorSpace,
        *,
        api_key: str | None = None,
        prefix: str = "biggraph-",
        search_seconds: float = 10.0,
        write_seconds: float = 60.0,
    ) -> None:
        self.space = space
        self._url = url
        self._api_key = api_key
        self._name = prefix + space.name
        self._search_seconds = search_seconds
        self._write_seconds = write_seconds
        self._connected: AsyncQdrantClient | None = None
        self._batch = max(1, min(500, NUMBERS_PER_REQUEST // space.dimensions))

    async def open(self) -> None:
        client = self._connected or AsyncQdrantClient(
            location=self._url,
            api_key=self._api_key,
            timeout=int(self._write_seconds) + 1,
            check_compatibility=False,  # it asks from a thread of its own and only warns; `prepare` checks
        )
        try:
            async with translated("opening the index", self._write_seconds):
                await prepare(client, self._name, self.space)
        except (EngineRejected, EngineUnavailable):
            if self._connected is None:
                await client.close()
            raise
        self._connected = client

    async def close(self) -> None:
        client, self._connected = self._connected, None
        if client is not None:
            await client.close()

    async def check(self) -> None:
        try:
            async with translated("a check", self._search_seconds):
                await self._client.get_collection(self._name)
        except EngineRejected as error:
            raise EngineUnavailable(error.detail, code=error.error_code) from error

    async def upsert(self, scope: TenantScope, points: Sequence[VectorPoint]) -> None:
        payload.check_vectors(self.space, (point.vector for point in points))
        for start in range(0, len(points), self._batch):
            batch = [_struct(scope, point) for point in points[start : start + self._batch]]
            async with translated("an upsert", self._write_seconds):
                confirmed(await self._client.upsert(self._name, batch, wait=True))

    async def update_source(self, scope: TenantScope, sources: Sequence[ChunkSource]) -> None:
        """Chosen by filter, not by id: the server answers 404 when an id that is given does not exist."""
        for facts, chunk_ids in payload.shared_facts(sources):
            for start in range(0, len(chunk_ids), IDS_PER_REQUEST):
                chosen = payload.given_chunks(scope, chunk_ids[start : start + IDS_PER_REQUEST])
                async with translated("an update", self._write_seconds):
                    confirmed(await self._client.set_payload(self._name, facts, _filter(chosen), wait=True))

    async def search(self, scope: TenantScope, vector: Vectors, where: IndexFilter, limit: int) -> list[Candidate]:
        if limit <= 0:
            return []
        payload.check_vectors(self.space, (vector,))
        values, conditions = vector.tolist(), payload.conditions(scope, where)
        asked = payload.first_request(limit)
        while True:
            hits = await self._nearest(values, conditions, asked)
            if not payload.tied_beyond(hits, limit, asked):
                return payload.ranked(hits, limit)
            asked = min(asked * 4, payload.MOST_ASKED)

    async def score(self, scope: TenantScope, vector: Vectors, chunk_ids: Sequence[UUID]) -> dict[UUID, float]:
        """Exact: so few points are compared one by one, for which the server needs no order from us."""
        payload.check_vectors(self.space, (vector,))
        values = vector.tolist()
        found: dict[UUID, float] = {}
        for start in range(0, len(chunk_ids), IDS_PER_REQUEST):
            chosen = payload.given_chunks(scope, chunk_ids[start : start + IDS_PER_REQUEST])
            hits = await self._nearest(values, chosen, IDS_PER_REQUEST)
            found.update((hit.chunk_id, hit.score) for hit in hits)
        return found

    async def delete(self, scope: TenantScope, chunk_ids: Sequence[UUID]) -> None:
        ids: list[Any] = [payload.point_id(scope, chunk_id) for chunk_id in chunk_ids]
        for start in range(0, len(ids), IDS_PER_REQUEST):
            chosen = qdrant.PointIdsList(points=ids[start : start + IDS_PER_REQUEST])
            async with translated("a deletion", self._write_seconds):
                confirmed(await self._client.delete(self._name, chosen, wait=True))

    async def scan(
        self, scope: TenantScope, *, document_id: UUID | None = None, generation: int | None = None
    ) -> AsyncIterator[IndexedChunk]:
        held = _filter(payload.held_chunks(scope, document_id, generation))
        offset: Any = None
        while True:
            async with translated("a scan", self._search_seconds):
                records, offset = await self._client.scroll(
                    self._name,
                    scroll_filter=held,
                    limit=SCAN_PAGE,
                    offset=offset,
                    with_payload=[payload.CHUNK, payload.DOCUMENT, payload.GENERATION],
                )
            for fields in (record.payload or {} for record in records):
                yield IndexedChunk(
                    UUID(fields[payload.CHUNK]), UUID(fields[payload.DOCUMENT]), fields[payload.GENERATION]
                )
            if offset is None:
                return

    async def _nearest(self, vector: list[float], where: Conditions, limit: int) -> list[Candidate]:
        async with translated("a search", self._search_seconds):
            response = await self._client.query_points(
                self._name, query=vector, query_filter=_filter(where), limit=limit, with_payload=[payload.CHUNK]
            )
        return [payload.candidate((hit.payload or {})[payload.CHUNK], hit.score) for hit in response.points]

    @property
    def _client(self) -> AsyncQdrantClient:
        if self._connected is None:
            raise EngineUnavailable("The vector index is not open.", code="index_closed")
        return self._connected


def _struct(scope: TenantScope, point: VectorPoint) -> qdrant.PointStruct:
    return qdrant.PointStruct(
        id=payload.point_id(scope, point.source.chunk_id),
        vector=point.vector.tolist(),
        payload=payload.payload(scope, point.source),
    )


def _filter(where: Conditions) -> qdrant.Filter:
    must = _field_conditions(where.must)
    if where.point_ids is not None:
        must.append(qdrant.HasIdCondition(has_id=list(where.point_ids)))
    return qdrant.Filter(must=must, must_not=_field_conditions(where.must_not) or None)


def _field_conditions(terms: Iterable[OneOf | Period]) -> list[qdrant.Condition]:
    return [_field_condition(term) for term in terms]


def _field_condition(term: OneOf | Period) -> qdrant.FieldCondition:
    if isinstance(term, Period):
        return qdrant.FieldCondition(key=term.field, range=qdrant.DatetimeRange(gte=term.start, lt=term.end))
    if len(term.values) == 1:
        return qdrant.FieldCondition(key=term.field, match=qdrant.MatchValue(value=term.values[0]))
    return qdrant.FieldCondition(key=term.field, match=qdrant.MatchAny(any=list(term.values)))
