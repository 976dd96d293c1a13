"""`retrieve`: a question in, the chunks that answer it and may be seen out."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from app.chunking.chunk import ChunkKind, Provenance
from app.core.errors import KnowledgeBaseNotFound, NotFound
from app.core.scope import TenantScope
from app.parsing.document import BoundingBox
from app.ports.indexes import IndexFilter
from app.ports.parts import Parts
from app.retrieval import repository
from app.retrieval.channels import Channels, stopwatch
from app.retrieval.explain import explain
from app.retrieval.fusion import COVERAGE_POOL, coverage, fuse
from app.retrieval.merging import MergedHit
from app.retrieval.pool import Plan, Pool, gather_candidates
from app.retrieval.reading import Findings, read_hits
from app.retrieval.repository import Grant, StoredChunk
from app.retrieval.reranking import Ranking, rank
from app.retrieval.schemas import (
    Hit,
    Ranks,
    RetrievalResult,
    RetrieveRequest,
    Scores,
    SettingsSource,
    TookMs,
    UsedSettings,
)
from app.retrieval.settings import RetrievalSettings

_PROVENANCE = TypeAdapter(list[Provenance])


class Retriever:
    """Opens read sessions of its own and holds none while an index or a model works."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def retrieve(self, scope: TenantScope, request: RetrieveRequest) -> RetrievalResult:
        """The best chunks for a question, all from one snapshot of what the caller may see.

        Raises `NotFound` for an id of the request that does not exist for the tenant, and `Unavailable` when every
        channel that was to be asked has failed. A failure of one of two channels, or of the reranker, is told in
        `degraded`.
        """
        took = TookMs()
        with stopwatch(took, "total"):
            result = await self._retrieve(scope, request, took)
        for part, milliseconds in took:
            setattr(took, part, round(milliseconds, 2))
        return result

    async def _retrieve(self, scope: TenantScope, request: RetrieveRequest, took: TookMs) -> RetrievalResult:
        with stopwatch(took, "authorise"):
            granted = await self._granted(scope, request)
        used = settings_for(request, granted.settings.values())
        plan = _plan(request, granted, used)
        channels = Channels(self._parts, scope, request.query, used.mode, took)
        if plan is None:
            return RetrievalResult(hits=[], degraded=[], degraded_reasons={}, settings=used, took_ms=took)
        pool = await gather_candidates(self._parts.database, scope, channels, plan, took)
        u = coverage(channels.terms, await _matched_by_best(channels, pool))
        fusion = fuse(pool.dense, pool.bm25, used.fusion.as_settings(), u=u)
        ranking = await rank(self._parts, request.query, fusion.candidates, plan, pool, channels.failures, took)
        with stopwatch(took, "hydrate"):
            read = await read_hits(self._parts.database, scope, ranking.candidates, plan, pool)
        await channels.find_matched([chunk_id for hit in read.hits for chunk_id in hit.candidate_ids])
        explanation = None
        if request.wants_explanation:
            findings = Findings(plan, pool, fusion, u, ranking, read)
            explanation = await explain(self._parts, scope, request, channels, findings)
        return RetrievalResult(
            hits=[_hit(hit, read.stored[hit.chunk_id], channels, ranking) for hit in read.hits],
            degraded=sorted(channels.failures),
            degraded_reasons=channels.failures,
            settings=used,
            took_ms=took,
            explanation=explanation,
        )

    async def _granted(self, scope: TenantScope, request: RetrieveRequest) -> Grant:
        documents = {*request.filter.document_ids, *request.explain_document_ids}
        async with self._parts.database.read(scope) as session:
            granted = await repository.grant(
                session,
                knowledge_base_ids=set(request.knowledge_base_ids),
                document_ids=documents,
                external_ids=set(request.filter.external_ids),
                chunk_ids=set(request.explain_chunk_ids),
            )
        _require(KnowledgeBaseNotFound, request.knowledge_base_ids, granted.settings)
        _require(partial(_unknown, "document"), documents, granted.document_ids)
        _require(partial(_unknown, "chunk"), request.explain_chunk_ids, granted.chunk_ids)
        return granted


def settings_for(request: RetrieveRequest, stored: Iterable[Mapping[str, Any] | None]) -> UsedSettings:
    """The request's own settings over those that all knowledge bases agree on, or else over the defaults."""
    bases = [RetrievalSettings.model_validate(one or {}, extra="ignore") for one in stored]
    agreed = bool(bases) and all(base == bases[0] for base in bases)
    base = (bases[0] if agreed else RetrievalSettings()).model_dump()
    own = request.overrides()
    return UsedSettings.model_validate(
        {
            **base,
            **own,
            "fusion": {**base["fusion"], **own.get("fusion", {})},
            "source": SettingsSource.KNOWLEDGE_BASES if agreed else SettingsSource.DEFAULTS,
            "overridden": sorted(own),
        }
    )


def _require(error: Callable[[UUID], NotFound], asked: Iterable[UUID], known: Iterable[UUID]) -> None:
    missing = sorted(set(asked).difference(known))
    if missing:
        raise error(missing[0])


def _unknown(kind: str, missing: UUID) -> NotFound:
    return NotFound(f"There is no {kind} {missing}.", code=f"{kind}_not_found")


def _plan(request: RetrieveRequest, granted: Grant, settings: RetrievalSettings) -> Plan | None:
    """None where nothing can match: there is no knowledge base, or no document has the external ids asked for."""
    document_ids = set(request.filter.document_ids)
    if request.filter.external_ids:
        named = set(granted.external_document_ids)
        document_ids = document_ids & named if document_ids else named
    if not granted.settings or (not document_ids and (request.filter.document_ids or request.filter.external_ids)):
        return None
    where = IndexFilter(
        knowledge_base_ids=tuple(sorted(granted.settings)),
        document_ids=tuple(sorted(document_ids)),
        tags_any=tuple(request.filter.tags_any),
        tags_all=tuple(request.filter.tags_all),
        metadata=request.filter.choices(),
        created_from=request.filter.created_from,
        created_before=request.filter.created_before,
    )
    return Plan(settings, where, frozenset(granted.settings), granted.as_of, tuple(request.explain_chunk_ids))


async def _matched_by_best(channels: Channels, pool: Pool) -> dict[UUID, frozenset[str]]:
    """Which terms each of the first visible BM25 candidates holds."""
    best = [candidate.chunk_id for candidate in pool.bm25[:COVERAGE_POOL]]
    await channels.find_matched(best)
    return {chunk_id: channels.matched.get(chunk_id, frozenset()) for chunk_id in best}


def _hit(hit: MergedHit, chunk: StoredChunk, channels: Channels, ranking: Ranking) -> Hit:
    candidate = hit.best
    dense, bm25, reranked = candidate.dense, candidate.bm25, ranking.reranked.get(candidate.chunk_id)
    held = frozenset[str]().union(*(channels.matched.get(one, frozenset()) for one in hit.candidate_ids))
    return Hit(
        chunk_id=chunk.chunk_id,
        document_id=chunk.document_id,
        document_name=chunk.document_name,
        external_id=chunk.external_id,
        knowledge_base_id=chunk.knowledge_base_id,
        generation=chunk.generation,
        ordinal=chunk.ordinal,
        text=chunk.text,
        kind=ChunkKind(chunk.kind),
        heading_path=chunk.heading_path,
        page=chunk.page,
        page_end=chunk.page_end,
        provenance=_PROVENANCE.validate_json(chunk.provenance),
        bbox=BoundingBox.model_validate_json(chunk.bbox) if chunk.bbox else None,
        start=chunk.start,
        end=chunk.end,
        metadata=json.loads(chunk.metadata),
        tags=chunk.tags,
        scores=Scores(
            dense=dense.score if dense else None,
            bm25=bm25.score if bm25 else None,
            rrf=candidate.rrf.score,
            fused=candidate.fused.score,
            rerank=reranked.score if reranked else None,
        ),
        ranks=Ranks(
            dense=dense.rank if dense else None,
            bm25=bm25.rank if bm25 else None,
            rrf=candidate.rrf.rank,
            rerank=reranked.rank if reranked else None,
        ),
        matched_terms=[term for term in dict.fromkeys(channels.terms) if term in held],
        merged_from=list(hit.merged_from),
    )
