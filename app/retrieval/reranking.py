"""The order in which candidates are read: the reranker's, or that of the fusion where there is none or it fails."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from app.chunking.chunk import embedded_text
from app.ports.parts import Parts
from app.retrieval.channels import guarded, stopwatch
from app.retrieval.fusion import ChannelHit, FusedCandidate
from app.retrieval.pool import Plan, Pool
from app.retrieval.schemas import EngineName, TookMs


@dataclass(frozen=True, slots=True)
class Ranking:
    candidates: list[FusedCandidate]
    """In the order in which they are read; those that `min_rerank_score` leaves out are not among them."""
    reranked: Mapping[UUID, ChannelHit] = field(default_factory=dict)
    """Score and rank of every candidate that the reranker was asked about, whether or not it is left out."""


async def rank(
    parts: Parts,
    query: str,
    fused: list[FusedCandidate],
    plan: Plan,
    pool: Pool,
    failures: dict[EngineName, str],
    took: TookMs,
) -> Ranking:
    """Asks the reranker about the first candidates; equal scores keep the order of the fusion.

    The passages are what may be seen and was read under the tenant's scope: nothing else leaves the platform. Without
    an answer in time the order is that of the fusion, and `failures` says so.
    """
    settings, reranker = plan.settings, parts.reranker
    if reranker is None and settings.needs_reranker:
        failures[EngineName.RERANKER] = "No reranker is configured: ask the operator for one, or do without."
    if reranker is None or settings.rerank is False or not fused:
        return Ranking(fused)
    asked, behind = fused[: settings.rerank_depth], fused[settings.rerank_depth :]
    chunks = [pool.stored[one.chunk_id] for one in asked]
    passages = [embedded_text(chunk.document_name, chunk.heading_path, chunk.text) for chunk in chunks]
    with stopwatch(took, "rerank"):
        scores = await guarded(
            EngineName.RERANKER,
            parts.settings.rerank_timeout_seconds,
            lambda: reranker.rerank(query, passages),
            failures,
        )
    if scores is None:
        return Ranking(fused)
    ordered = sorted(zip(asked, scores, strict=True), key=lambda one: -one[1])
    reranked = {one.chunk_id: ChannelHit(score, place) for place, (one, score) in enumerate(ordered, start=1)}
    least = settings.min_rerank_score
    if least is not None:
        return Ranking([one for one, score in ordered if score >= least], reranked)
    return Ranking([*(one for one, _ in ordered), *behind], reranked)
