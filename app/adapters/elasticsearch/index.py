"""`TextIndex` over `AsyncElasticsearch`.

One index serves all tenants. A tenant's entries are routed to one shard and every read is filtered by the tenant. As in
the embedded engine, `bm25` scores chunks by the statistics of those searched, not of the whole shard.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from elasticsearch import AsyncElasticsearch, BadRequestError

from app.adapters.bm25 import MARGIN, Scorer, TermStatistics
from app.adapters.elasticsearch import mapping
from app.adapters.elasticsearch.bulk import BulkWriter, Write, slices
from app.adapters.elasticsearch.errors import translated_errors
from app.adapters.text_fields import LAYOUT_VERSION, entry_key, joined_terms, weighted_terms
from app.adapters.vector_payload import ranked
from app.core.errors import EngineRejected, EngineUnavailable
from app.core.scope import TenantScope
from app.ports.indexes import Candidate, ChunkSource, IndexedChunk, IndexFilter
from app.ports.text_index import TermDocument

_SCAN_PAGE = 5_000
_GIVEN = 1_000
_MOST_HITS = 10_000
"""The server's `index.max_result_window`."""

_UPDATE_ATTEMPTS = 5


class ElasticsearchIndex:
    """A text index behind the alias `<prefix>-terms-<layout>-<analyzer_version>`.

    `url` may hold user and password; `api_key` stands for them. Times in seconds. `shards` counts for a new index only.
    """

    def __init__(
        self,
        url: str,
        *,
        analyzer_version: str,
        prefix: str = "biggraph",
        api_key: str | None = None,
        shards: int = 1,
        search_timeout: float = 5.0,
        write_timeout: float = 60.0,
    ) -> None:
        self.alias = f"{prefix}-terms-{LAYOUT_VERSION}-{analyzer_version}".lower()
        self._url = url
        self._api_key = api_key
        self._shards = shards
        self._search_timeout = search_timeout
        self._write_timeout = write_timeout
        self._client: AsyncElasticsearch | None = None

    async def open(self) -> None:
        if self._client is None:
            # Every call may be repeated safely, so the client may try again when a connection was lost.
            self._client = AsyncElasticsearch(
                self._url,
                api_key=self._api_key,
                request_timeout=self._write_timeout,
                max_retries=2,
                retry_on_timeout=False,
            )
        with translated_errors():
            if not await self._client.indices.exists_alias(name=self.alias):
                await self._create(self._client)
            found = await self._client.indices.get_mapping(index=self.alias)
        if any(index["mappings"].get("_meta", {}).get("layout") != LAYOUT_VERSION for index in found.values()):
            raise EngineRejected(
                f"The Elasticsearch index {self.alias} was not made by this application. Remove it, start again, "
                "and run `biggraph repair` to rebuild it.",
                code="index_damaged",
            )

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def check(self) -> None:
        with translated_errors():
            health = await self._searching().cluster.health(
                index=self.alias, timeout=f"{round(self._search_timeout * 1000)}ms"
            )
        if health["status"] == "red":
            raise EngineUnavailable("Elasticsearch has lost a shard of the index.", code="text_index_failed")

    async def upsert(self, scope: TenantScope, documents: Sequence[TermDocument]) -> None:
        writes = [
            Write(
                entry_key(scope, document.source.chunk_id),
                document.version,
                mapping.entry(scope, document.source, joined_terms(document.terms)),
            )
            for document in documents
        ]
        if writes:
            writer = self._writer()
            await writer.write(str(scope.tenant_id), writes)
            await writer.refresh()

    async def update_source(self, scope: TenantScope, sources: Sequence[ChunkSource]) -> None:
        writer, routing = self._writer(), str(scope.tenant_id)
        remaining = {entry_key(scope, source.chunk_id): source for source in sources}
        for _ in range(_UPDATE_ATTEMPTS):
            if not remaining:
                break
            stored = await writer.stored(routing, remaining, terms=True)
            outcome = await writer.write(
                routing,
                [
                    Write(key, entry.version, mapping.entry(scope, remaining[key], entry.terms))
                    for key, entry in stored.items()
                ],
            )
            await writer.write(routing, [Write(key, stored[key].version, None) for key in outcome.created])
            remaining = {key: remaining[key] for key in outcome.refused}
        if remaining:
            raise EngineUnavailable("Chunks change too often to be updated now.", code="text_index_contended")
        if sources:
            await writer.refresh()

    async def delete(self, scope: TenantScope, chunk_ids: Sequence[UUID]) -> None:
        if not chunk_ids:
            return
        writer, routing = self._writer(), str(scope.tenant_id)
        stored = await writer.stored(routing, [entry_key(scope, chunk_id) for chunk_id in chunk_ids])
        await writer.write(routing, [Write(key, entry.version, None) for key, entry in stored.items()])
        await writer.refresh()

    async def search(self, scope: TenantScope, terms: Sequence[str], where: IndexFilter, limit: int) -> list[Candidate]:
        weighted = weighted_terms(terms)
        if not weighted or limit < 1:
            return []
        scorer, shard = await asyncio.gather(
            self._scorer(scope, weighted, where), self._shard_statistics(scope, weighted)
        )
        boosts = scorer.boosts(shard)
        if not boosts:
            return []
        held = await self._terms(scope, mapping.scored(boosts, *mapping.matching(scope, where)), limit + MARGIN)
        return ranked((Candidate(chunk_id, scorer.score(own)) for chunk_id, own in held.items()), limit)

    async def score(
        self, scope: TenantScope, terms: Sequence[str], where: IndexFilter, chunk_ids: Sequence[UUID]
    ) -> dict[UUID, float]:
        weighted = weighted_terms(terms)
        if not weighted or not chunk_ids:
            return {}
        scorer = await self._scorer(scope, weighted, where)
        held = await self._terms_given(scope, chunk_ids)
        return {chunk_id: score for chunk_id, own in held.items() if (score := scorer.score(own))}

    async def matched_terms(
        self, scope: TenantScope, terms: Sequence[str], chunk_ids: Sequence[UUID]
    ) -> dict[UUID, frozenset[str]]:
        wanted = frozenset(weighted_terms(terms))
        held = await self._terms_given(scope, chunk_ids)
        return {chunk_id: wanted.intersection(own) for chunk_id, own in held.items()}

    async def scan(
        self, scope: TenantScope, *, document_id: UUID | None = None, generation: int | None = None
    ) -> AsyncIterator[IndexedChunk]:
        """Reads one point in time: writes during a scan are not seen by it."""
        client = self._connected()
        with translated_errors():
            opened = await client.open_point_in_time(index=self.alias, keep_alive="2m", routing=str(scope.tenant_id))
        point_in_time: str = opened["id"]
        try:
            after: list[Any] | None = None
            while True:
                with translated_errors():
                    page = await client.search(
                        pit={"id": point_in_time, "keep_alive": "2m"},
                        query=mapping.held(scope, document_id, generation),
                        source=False,
                        fields=[{"field": name} for name in ("chunk_id", "document_id", "generation")],
                        sort=["_shard_doc"],
                        search_after=after,
                        size=_SCAN_PAGE,
                        track_total_hits=False,
                        allow_partial_search_results=False,
                    )
                point_in_time = page["pit_id"]
                hits = page["hits"]["hits"]
                for hit in hits:
                    fields = hit["fields"]
                    yield IndexedChunk(
                        UUID(fields["chunk_id"][0]), UUID(fields["document_id"][0]), int(fields["generation"][0])
                    )
                if len(hits) < _SCAN_PAGE:
                    return
                after = hits[-1]["sort"]
        finally:
            with translated_errors():
                await client.close_point_in_time(id=point_in_time)

    async def _create(self, client: AsyncElasticsearch) -> None:
        try:
            await client.indices.create(
                index=f"{self.alias}-000001", **mapping.index_body(self.alias, shards=self._shards)
            )
        except BadRequestError as error:
            # Another process was first.
            if error.error != "resource_already_exists_exception":
                raise

    async def _scorer(self, scope: TenantScope, weighted: Mapping[str, int], where: IndexFilter) -> Scorer:
        among = mapping.all_of(mapping.in_knowledge_bases(scope, where))
        # Lengths are asked for apart: the same request each time, which the server answers from its cache.
        lengths, holding = await asyncio.gather(
            self._aggregate(scope, among, mapping.LENGTHS), self._aggregate(scope, among, mapping.holding(weighted))
        )
        counted = [bucket["doc_count"] for bucket in holding["holding"]["buckets"]]
        searched = TermStatistics(lengths["length"]["count"], dict(zip(weighted, counted, strict=True)))
        return Scorer(weighted, searched, lengths["length"]["avg"] or 1.0)

    async def _aggregate(self, scope: TenantScope, query: mapping.Body, aggregations: mapping.Body) -> mapping.Body:
        with translated_errors():
            answer = await self._searching().search(
                index=self.alias,
                routing=str(scope.tenant_id),
                query=query,
                aggregations=aggregations,
                size=0,
                track_total_hits=False,
                allow_partial_search_results=False,
            )
        found: mapping.Body = answer["aggregations"]
        return found

    async def _shard_statistics(self, scope: TenantScope, terms: Iterable[str]) -> TermStatistics:
        """What the engine itself weighs with, deleted entries included: of a document that holds just these terms."""
        with translated_errors():
            answer = await self._searching().termvectors(
                index=self.alias,
                routing=str(scope.tenant_id),
                doc={"terms": " ".join(terms)},
                fields=["terms"],
                term_statistics=True,
                positions=False,
                offsets=False,
                payloads=False,
            )
        found = answer["term_vectors"].get("terms", {"field_statistics": {"doc_count": 0}, "terms": {}})
        holding = {term: facts.get("doc_freq", 0) for term, facts in found["terms"].items()}
        return TermStatistics(found["field_statistics"]["doc_count"], holding)

    async def _terms_given(self, scope: TenantScope, chunk_ids: Sequence[UUID]) -> dict[UUID, list[str]]:
        held: dict[UUID, list[str]] = {}
        for some in slices(chunk_ids, _GIVEN):
            held |= await self._terms(scope, mapping.given(scope, some), len(some))
        return held

    async def _terms(self, scope: TenantScope, query: mapping.Body, size: int) -> dict[UUID, list[str]]:
        """Terms of the best hits; equal ones by chunk id."""
        with translated_errors():
            answer = await self._searching().search(
                index=self.alias,
                routing=str(scope.tenant_id),
                query=query,
                sort=[{"_score": "desc"}, {"chunk_id": "asc"}],
                size=min(size, _MOST_HITS),
                source_includes=["terms"],
                track_total_hits=False,
                allow_partial_search_results=False,
            )
        return {UUID(hit["sort"][1]): hit["_source"]["terms"].split() for hit in answer["hits"]["hits"]}

    def _connected(self) -> AsyncElasticsearch:
        if self._client is None:
            raise EngineUnavailable("The text index is not open.", code="text_index_closed")
        return self._client

    def _searching(self) -> AsyncElasticsearch:
        """A search that is late is of no use: its channel has been given up by then."""
        return self._connected().options(request_timeout=self._search_timeout, max_retries=0)

    def _writer(self) -> BulkWriter:
        return BulkWriter(self._connected(), self.alias)
