"""Outcomes as sentences. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.retrieval.channels import Channels
from app.retrieval.explained import ExplainedChunk, Outcome
from app.retrieval.fusion import ChannelHit
from app.retrieval.repository import StoredChunk
from app.retrieval.schemas import EngineName
from app.retrieval.settings import RetrievalSettings


@dataclass(frozen=True, slots=True)
class WouldBe:
    """Exact scores of a chunk, and the ranks that they give it among the candidates of an answer."""

    dense_score: float | None
    bm25_score: float | None
    dense_rank: int | None
    bm25_rank: int | None
    fused_rank: int | None
    reranked: ChannelHit | None
    place: int | None
    """In the order in which candidates are read; where it is not among them, its fused rank."""
    last_dense: float | None
    """Score of the last candidate that may be seen."""
    last_bm25: float | None


def reason(
    outcome: Outcome, chunk: StoredChunk | None, would_be: WouldBe, settings: RetrievalSettings, channels: Channels
) -> str:
    match outcome:
        case Outcome.RETURNED | Outcome.MERGED | Outcome.NOT_SEARCHED:
            return _placed(outcome, would_be)
        case Outcome.BELOW_TOP_K:
            return f"It has rank {would_be.place}{_moved(would_be)}, and top_k is {settings.top_k}."
        case Outcome.BELOW_MIN_RERANK_SCORE | Outcome.BEYOND_RERANK_DEPTH:
            return _left_out(would_be, settings)
        case Outcome.BELOW_MIN_DENSE_SCORE:
            return (
                f"Its dense score is {would_be.dense_score:.4f}, below min_dense_score, which is "
                f"{settings.min_dense_score:g}, and {_bm25_sentence(would_be, settings, channels)}."
            )
        case Outcome.NOT_FOUND_BY_CHANNELS | Outcome.BEYOND_CANDIDATES:
            return _not_found(would_be, settings, channels)
        case _:
            return _barred(outcome, chunk, would_be)


def _placed(outcome: Outcome, would_be: WouldBe) -> str:
    if outcome is Outcome.NOT_SEARCHED:
        return "It is not searched itself: it is read where enough of what it holds is found."
    if outcome is Outcome.MERGED:
        place = f"It has rank {would_be.place}{_moved(would_be)}"
        return f"{place}, and what holds it and its neighbours is returned in its place."
    if would_be.place is None:
        return "It is returned in place of what was found of it."
    return f"It is returned, at rank {would_be.place}{_moved(would_be)}."


def _moved(would_be: WouldBe) -> str:
    if would_be.reranked is None:
        return ""
    return f" by its rerank score of {would_be.reranked.score:.4f} ({would_be.fused_rank} before)"


def _left_out(would_be: WouldBe, settings: RetrievalSettings) -> str:
    threshold = f"min_rerank_score, which is {settings.min_rerank_score:g}"
    if would_be.reranked is not None:
        return f"Its rerank score is {would_be.reranked.score:.4f}, below {threshold}."
    return (
        f"It has rank {would_be.fused_rank} in the fusion, and the reranker was asked about the first "
        f"{settings.rerank_depth} only: without a score it can't reach {threshold}."
    )


def document_reason(chunks: Sequence[ExplainedChunk]) -> str:
    """`chunks`: the document's most promising ones, best first."""
    if not chunks:
        return "It has no chunk that can be searched: it is not ready yet, its ingestion failed, or it holds no text."
    best = chunks[0]
    return f"Of its best chunk, number {best.ordinal}: {best.reason}"


def _barred(outcome: Outcome, chunk: StoredChunk | None, would_be: WouldBe) -> str:
    match outcome:
        case Outcome.DOCUMENT_DELETED:
            sentence = "Its document is deleted."
        case Outcome.CHUNK_DISABLED:
            sentence = "The chunk is disabled."
        case Outcome.FILTERED:
            sentence = "Its document does not match the filter."
        case Outcome.NOT_ALLOWED:
            return "Its knowledge base was not asked, or you may not read it."
        case Outcome.GENERATION_NOT_ACTIVE if chunk is not None and chunk.active_generation is not None:
            sentence = f"It is of generation {chunk.generation} of its document; {chunk.active_generation} is active."
        case Outcome.GENERATION_NOT_ACTIVE:
            sentence = "Its document is not ready yet."
        case _:
            return "There is no such chunk."
    return f"{sentence} It would have rank {would_be.fused_rank}." if would_be.fused_rank else sentence


def _not_found(would_be: WouldBe, settings: RetrievalSettings, channels: Channels) -> str:
    if would_be.dense_rank is not None or would_be.bm25_rank is not None:
        return (
            f"No index brought it, although its scores would give it rank {would_be.fused_rank}: "
            "the search for vectors is approximate, or the indexes changed while they were read."
        )
    return f"{_dense_sentence(would_be, settings, channels)}, and {_bm25_sentence(would_be, settings, channels)}."


def _dense_sentence(would_be: WouldBe, settings: RetrievalSettings, channels: Channels) -> str:
    if not channels.asks_dense:
        return "The vector index was not asked"
    if EngineName.VECTORS in channels.failures:
        return "The vector index is down"
    if would_be.dense_score is None:
        return "The vector index does not hold it"
    return (
        f"Its dense score is {would_be.dense_score:.4f}, and the last of the {settings.depth} candidates has "
        f"{would_be.last_dense or 0.0:.4f}"
    )


def _bm25_sentence(would_be: WouldBe, settings: RetrievalSettings, channels: Channels) -> str:
    if not channels.asks_bm25:
        return "the term index was not asked" if channels.terms else "the query has no terms to look for"
    if EngineName.TERMS in channels.failures:
        return "the term index is down"
    if would_be.bm25_score is None:
        return "it holds none of the query's terms"
    return (
        f"its BM25 score is {would_be.bm25_score:.4f}, and the last of the {settings.depth} candidates has "
        f"{would_be.last_bm25 or 0.0:.4f}"
    )
