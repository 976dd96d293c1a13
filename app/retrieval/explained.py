"""What `explain` adds to an answer: the way of every candidate, and of the chunks that were asked about."""

from enum import StrEnum
from uuid import UUID

from pydantic import ConfigDict

from app.core.described import ApiModel


class Outcome(StrEnum):
    """What became of a chunk."""

    RETURNED = "returned"
    MERGED = "merged"
    """Its text is returned as part of a parent."""
    BELOW_TOP_K = "below_top_k"
    BELOW_MIN_RERANK_SCORE = "below_min_rerank_score"
    BEYOND_RERANK_DEPTH = "beyond_rerank_depth"
    """The reranker was not asked about it, and `min_rerank_score` lets nothing pass without a score."""
    NOT_FOUND_BY_CHANNELS = "not_found_by_channels"
    """It may be seen, but no channel brought it among its candidates."""
    BELOW_MIN_DENSE_SCORE = "below_min_dense_score"
    BEYOND_CANDIDATES = "beyond_candidates"
    """Fetched as a spare, and not needed."""
    DOCUMENT_DELETED = "document_deleted"
    GENERATION_NOT_ACTIVE = "generation_not_active"
    CHUNK_DISABLED = "chunk_disabled"
    FILTERED = "filtered"
    NOT_SEARCHED = "not_searched"
    """A parent: it is read in place of what was found of it, which was not enough, and is in no index itself."""
    NOT_ALLOWED = "not_allowed"
    """Its knowledge base was not asked, is deleted, or may not be read."""
    UNKNOWN = "unknown"
    """No such chunk: a left-over of an index, or never one of this tenant."""


class ExplainedCandidate(ApiModel):
    model_config = ConfigDict(frozen=True)

    chunk_id: UUID
    document_id: UUID | None
    """None where it is unknown."""
    rank: int
    """From 1, as the engine gave it: dropped ones count."""
    score: float
    """As the engine gave it."""
    outcome: Outcome
    """What became of it."""
    merged_into: UUID | None
    """The parent that is returned in its place."""


class ExplainedChannel(ApiModel):
    asked: bool
    """False where the mode leaves the channel out."""
    requested: int
    """How many candidates the engine was asked for in the last round."""
    candidates: list[ExplainedCandidate]
    """In the order of the engine."""


class RerankedCandidate(ApiModel):
    model_config = ConfigDict(frozen=True)

    chunk_id: UUID
    rank: int
    """From 1, by the reranker."""
    score: float
    """On the reranker's own scale."""
    fused_rank: int
    """Where the fusion had put it."""


class ExplainedReranking(ApiModel):
    model: str
    """As it is configured."""
    candidates: list[RerankedCandidate]
    """All that it was asked about, best first, whether or not `min_rerank_score` leaves them out."""


class ExplainedChunk(ApiModel):
    """Why a chunk that was asked about is, or is not, among the hits."""

    chunk_id: UUID
    document_id: UUID | None
    """None where it is unknown."""
    ordinal: int | None
    """Its place among the chunks of the document, from 0. None where it is unknown."""
    outcome: Outcome
    """What became of it."""
    dense_score: float | None
    """Exact cosine similarity, whether or not the channel found it; None where the index lacks it or is down."""
    bm25_score: float | None
    """By the terms of the query, whether or not the channel found it; None where it has none of them or the index is
    down."""
    dense_rank: int | None
    """Where it stands, or would stand, among the channel's candidates; None if behind all of them."""
    bm25_rank: int | None
    """The same among those of BM25."""
    fused_rank: int | None
    """Where it stands, or would stand if it could be seen; None if no channel would bring it."""
    rerank_score: float | None
    """None where the reranker was not asked about it."""
    rerank_rank: int | None
    """From 1, by the reranker."""
    merged_into: UUID | None
    """The parent that is returned in its place."""
    reason: str
    """What became of it, in a sentence."""


class ExplainedDocument(ApiModel):
    """Why a document that was asked about is, or is not, among the hits."""

    document_id: UUID
    reason: str
    """In a sentence."""
    best_chunks: list[ExplainedChunk]
    """Its best three."""


class ExplainedMerge(ApiModel):
    """A parent among the hits, and why it is read in place of what was found of it."""

    chunk_id: UUID
    """The parent."""
    merged_from: list[UUID]
    """The chunks that were found of it, best first."""
    children: int
    """How many chunks of the level below it holds. `merge_share` of them had to be found."""
    always_read: bool
    """One was enough."""


class Explanation(ApiModel):
    terms: list[str]
    """Terms of the query, stop words left out."""
    unknown_terms: list[str]
    """Those that none of the first BM25 candidates holds."""
    u: float
    """Share of the query's terms that the first BM25 candidates hold."""
    dense_weight: float
    """1 - w of the convex combination; the weight of the dense ranks under rrf."""
    bm25_weight: float
    """w of the convex combination; the weight of the BM25 ranks under rrf."""
    rounds: int
    """How often the indexes were asked: again when too much was dropped, or a generation changed meanwhile."""
    dense: ExplainedChannel
    """What the vector index brought."""
    bm25: ExplainedChannel
    """What the term index brought."""
    reranking: ExplainedReranking | None
    """None where no reranker was asked, or it failed."""
    merges: list[ExplainedMerge]
    """Parents among the hits."""
    chunks: list[ExplainedChunk]
    """Those of `explain_chunk_ids`."""
    documents: list[ExplainedDocument]
    """Those of `explain_document_ids`."""
