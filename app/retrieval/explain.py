"""Why each candidate, and each chunk that was asked about, is or is not among the hits."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from app.core.database import Database
from app.core.scope import TenantScope
from app.ports.indexes import Candidate
from app.ports.parts import Parts
from app.retrieval import repository
from app.retrieval.channels import Channels
from app.retrieval.explained import (
    ExplainedCandidate,
    ExplainedChannel,
    ExplainedChunk,
    ExplainedDocument,
    ExplainedMerge,
    ExplainedReranking,
    Explanation,
    Outcome,
    RerankedCandidate,
)
from app.retrieval.fusion import Fusion, fuse
from app.retrieval.pool import Plan, Pool
from app.retrieval.reading import Findings, Read
from app.retrieval.reasons import WouldBe, document_reason, reason
from app.retrieval.repository import StoredChunk
from app.retrieval.schemas import RetrieveRequest
from app.retrieval.visibility import barrier

MOST_CHUNKS_OF_A_DOCUMENT = 500
BEST_CHUNKS = 3


async def explain(
    parts: Parts, scope: TenantScope, request: RetrieveRequest, channels: Channels, findings: Findings
) -> Explanation:
    """Asks the indexes for exact scores of the chunks, and of the documents' chunks, that were asked about."""
    pool, fusion = findings.pool, findings.fusion
    asked = {chunk_id: pool.stored.get(chunk_id) for chunk_id in dict.fromkeys(request.explain_chunk_ids)}
    documents = await _chunks_of(
        parts.database, scope, findings.plan, list(dict.fromkeys(request.explain_document_ids))
    )
    every = [*asked, *(chunk_id for chunks in documents.values() for chunk_id in chunks)]
    dense, bm25 = await channels.dense_scores(every), await channels.bm25_scores(findings.plan.where, every)
    judge = _Judge(findings, channels, dense, bm25)
    known: set[str] = set().union(*channels.matched.values())
    return Explanation(
        terms=list(dict.fromkeys(channels.terms)),
        unknown_terms=[term for term in dict.fromkeys(channels.terms) if term not in known],
        u=findings.u,
        dense_weight=fusion.dense_weight,
        bm25_weight=fusion.bm25_weight,
        rounds=pool.rounds,
        dense=judge.channel(pool.reading.dense, asked=channels.asks_dense),
        bm25=judge.channel(pool.reading.bm25, asked=channels.asks_bm25),
        reranking=_reranking(parts, findings),
        merges=_merges(findings.read),
        chunks=[judge.chunk(chunk_id, chunk) for chunk_id, chunk in asked.items()],
        documents=[judge.document(document_id, chunks) for document_id, chunks in documents.items()],
    )


def _reranking(parts: Parts, findings: Findings) -> ExplainedReranking | None:
    hits = findings.ranking.reranked
    if parts.reranker is None or not hits:
        return None
    fused = _fused_ranks(findings.fusion)
    return ExplainedReranking(
        model=parts.reranker.name,
        candidates=[
            RerankedCandidate(chunk_id=chunk_id, rank=hit.rank, score=hit.score, fused_rank=fused[chunk_id])
            for chunk_id, hit in hits.items()
        ],
    )


def _merges(read: Read) -> list[ExplainedMerge]:
    return [
        ExplainedMerge(
            chunk_id=hit.chunk_id,
            merged_from=list(hit.merged_from),
            children=read.parents[hit.chunk_id].child_count,
            always_read=read.parents[hit.chunk_id].always_read,
        )
        for hit in read.hits
        if hit.merged_from
    ]


async def _chunks_of(
    database: Database, scope: TenantScope, plan: Plan, document_ids: Sequence[UUID]
) -> dict[UUID, dict[UUID, StoredChunk]]:
    """The chunks of each document's active generation, the first of a long one."""
    found: dict[UUID, dict[UUID, StoredChunk]] = {}
    if document_ids:
        async with database.read(scope) as session:
            for document_id in document_ids:
                ids = await repository.live_chunk_ids(session, document_id, MOST_CHUNKS_OF_A_DOCUMENT)
                found[document_id], _ = await repository.hydrate(session, ids, plan.where)
    return found


@dataclass(frozen=True)
class _Judge:
    """Everything that is known of one answer, to say of any chunk what became of it."""

    findings: Findings
    channels: Channels
    exact_dense: dict[UUID, float]
    exact_bm25: dict[UUID, float]

    @property
    def plan(self) -> Plan:
        return self.findings.plan

    @property
    def pool(self) -> Pool:
        return self.findings.pool

    def channel(self, candidates: Sequence[Candidate], *, asked: bool) -> ExplainedChannel:
        below = {one.chunk_id for one in self.pool.reading.dense if self._below_threshold(one.score)}
        return ExplainedChannel(
            asked=asked,
            requested=self.pool.requested if asked else 0,
            candidates=[
                ExplainedCandidate(
                    chunk_id=one.chunk_id,
                    document_id=chunk.document_id if (chunk := self.pool.stored.get(one.chunk_id)) else None,
                    rank=rank,
                    score=one.score,
                    outcome=barrier(chunk, self.plan.readable)
                    or self._placed(one.chunk_id)
                    or (Outcome.BELOW_MIN_DENSE_SCORE if one.chunk_id in below else Outcome.BEYOND_CANDIDATES),
                    merged_into=self._merged_into.get(one.chunk_id),
                )
                for rank, one in enumerate(candidates, start=1)
            ],
        )

    def chunk(self, chunk_id: UUID, chunk: StoredChunk | None) -> ExplainedChunk:
        would_be = self._would_be(chunk_id)
        outcome = barrier(chunk, self.plan.readable) or self._placed(chunk_id)
        if outcome is None and chunk is not None and chunk.level > 0:
            outcome = Outcome.NOT_SEARCHED
        if outcome is None:
            below = self._below_threshold(would_be.dense_score) and would_be.bm25_rank is None
            outcome = Outcome.BELOW_MIN_DENSE_SCORE if below else Outcome.NOT_FOUND_BY_CHANNELS
        return ExplainedChunk(
            chunk_id=chunk_id,
            document_id=chunk.document_id if chunk else None,
            ordinal=chunk.ordinal if chunk else None,
            outcome=outcome,
            dense_score=would_be.dense_score,
            bm25_score=would_be.bm25_score,
            dense_rank=would_be.dense_rank,
            bm25_rank=would_be.bm25_rank,
            fused_rank=would_be.fused_rank,
            rerank_score=would_be.reranked.score if would_be.reranked else None,
            rerank_rank=would_be.reranked.rank if would_be.reranked else None,
            merged_into=self._merged_into.get(chunk_id),
            reason=reason(outcome, chunk, would_be, self.plan.settings, self.channels),
        )

    def document(self, document_id: UUID, chunks: dict[UUID, StoredChunk]) -> ExplainedDocument:
        """Looks closely at the chunks with the best exact scores of either kind, and keeps the best of them."""
        promising = {
            chunk_id
            for scores in (self.exact_dense, self.exact_bm25)
            for chunk_id in sorted(chunks, key=lambda one: -scores.get(one, -1.0))[:BEST_CHUNKS]
        }
        explained = sorted((self.chunk(chunk_id, chunks[chunk_id]) for chunk_id in promising), key=_best_first)
        return ExplainedDocument(
            document_id=document_id,
            reason=document_reason(explained),
            best_chunks=explained[:BEST_CHUNKS],
        )

    def _placed(self, chunk_id: UUID) -> Outcome | None:
        if chunk_id in self._returned:
            return Outcome.RETURNED
        if chunk_id in self._merged_into:
            return Outcome.MERGED
        if chunk_id in self._places:
            return Outcome.BELOW_TOP_K
        if chunk_id in self.findings.ranking.reranked:
            return Outcome.BELOW_MIN_RERANK_SCORE
        return Outcome.BEYOND_RERANK_DEPTH if chunk_id in self._fused else None

    @cached_property
    def _returned(self) -> set[UUID]:
        return {hit.chunk_id for hit in self.findings.read.hits}

    @cached_property
    def _merged_into(self) -> dict[UUID, UUID]:
        return {one: hit.chunk_id for hit in self.findings.read.hits for one in hit.merged_from}

    @cached_property
    def _fused(self) -> dict[UUID, int]:
        return _fused_ranks(self.findings.fusion)

    @cached_property
    def _places(self) -> dict[UUID, int]:
        """Where candidates stand in the order in which they are read, from 1."""
        return {one.chunk_id: place for place, one in enumerate(self.findings.ranking.candidates, start=1)}

    def _below_threshold(self, score: float | None) -> bool:
        threshold = self.plan.settings.min_dense_score
        return threshold is not None and score is not None and score < threshold

    def _would_be(self, chunk_id: UUID) -> WouldBe:
        """Puts a chunk where its exact scores would, among the candidates of this answer, and fuses again."""
        dense_score, bm25_score = self.exact_dense.get(chunk_id), self.exact_bm25.get(chunk_id)
        counted = None if self._below_threshold(dense_score) else dense_score
        depth = self.plan.settings.depth
        dense = _with(self.pool.dense, chunk_id, counted, depth)
        bm25 = _with(self.pool.bm25, chunk_id, bm25_score, depth)
        fused = fuse(dense, bm25, self.plan.settings.fusion.as_settings(), u=self.findings.u)
        fused_rank = _fused_ranks(fused).get(chunk_id)
        return WouldBe(
            dense_score=dense_score,
            bm25_score=bm25_score,
            dense_rank=_place(dense, chunk_id),
            bm25_rank=_place(bm25, chunk_id),
            fused_rank=fused_rank,
            reranked=self.findings.ranking.reranked.get(chunk_id),
            place=self._places.get(chunk_id, fused_rank),
            last_dense=self.pool.dense[-1].score if self.pool.dense else None,
            last_bm25=self.pool.bm25[-1].score if self.pool.bm25 else None,
        )


def _fused_ranks(fusion: Fusion) -> dict[UUID, int]:
    return {one.chunk_id: one.fused.rank for one in fusion.candidates}


def _with(candidates: Collection[Candidate], chunk_id: UUID, score: float | None, depth: int) -> list[Candidate]:
    """The best `depth` of the candidates and one more chunk, which is left where it is if it is there already."""
    own = list(candidates)
    if score is not None and all(one.chunk_id != chunk_id for one in own):
        own.append(Candidate(chunk_id, score))
    return sorted(own, key=lambda one: (-one.score, one.chunk_id))[:depth]


def _place(candidates: Sequence[Candidate], chunk_id: UUID) -> int | None:
    return next((rank for rank, one in enumerate(candidates, start=1) if one.chunk_id == chunk_id), None)


def _best_first(chunk: ExplainedChunk) -> tuple[bool, bool, int, float]:
    """Those among the hits first, then by the rank that they have or would have, then by dense score.

    The reranker's ranks come before those of the fusion: what it was not asked about stood behind what it was.
    """
    rank = chunk.rerank_rank or chunk.fused_rank
    return (
        chunk.outcome is not Outcome.RETURNED,
        rank is None,
        rank or 0,
        -(chunk.dense_score or 0.0),
    )
