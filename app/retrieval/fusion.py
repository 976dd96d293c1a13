"""One ranking out of two: reciprocal rank fusion and convex combination. Pure.

Notation: s_c(d) is the score of chunk d in channel c, r_c(d) its rank there (from 1), u the share of the query's terms
that the texts know, w the weight of the lexical channel.

- RRF: sum over channels of w_c / (k + r_c(d)); Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms
  Condorcet and individual rank learning methods", SIGIR 2009.
- Convex combination: w * norm(s_bm25(d)) + (1 - w) * norm(s_dense(d)); Bruch, Gai and Ingber, "An analysis of fusion
  functions for hybrid retrieval", ACM TOIS 42(1), 2023.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from app.ports.indexes import Candidate

FULL_POOL = 100
"""With this many BM25 candidates the worst of them stands for "does not matter"; with fewer, a score of 0 does."""
COVERAGE_POOL = 10
"""How many of the first BM25 candidates are asked which query terms they hold."""
UNKNOWN_BELOW, KNOWN_FROM = 0.3, 0.7
"""Shares of known query terms between which the lexical channel goes from no weight to its full weight."""


class FusionMethod(StrEnum):
    RRF = "rrf"
    CONVEX = "convex"


@dataclass(frozen=True, slots=True)
class ChannelWeights:
    """Weights given by a person; only their ratio matters to `convex`."""

    dense: float = 1.0
    bm25: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.dense) and math.isfinite(self.bm25)):
            raise ValueError("Channel weights must be finite numbers.")
        if min(self.dense, self.bm25) < 0 or self.dense + self.bm25 <= 0:
            raise ValueError("Channel weights must not be negative, and one of them must be above 0.")


@dataclass(frozen=True, slots=True)
class FusionSettings:
    method: FusionMethod = FusionMethod.CONVEX
    k: int = 60
    """RRF's constant: the larger, the less the first ranks stand out."""
    adaptive: bool | None = None
    """Whether the lexical weight follows how much of the query the texts know. None: yes for convex, no for RRF."""
    weights: ChannelWeights | None = None
    """Fixed weights; given, nothing adapts."""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError("RRF's k must be at least 1.")

    @property
    def adapts(self) -> bool:
        if self.weights is not None:
            return False
        return self.method is FusionMethod.CONVEX if self.adaptive is None else self.adaptive


@dataclass(frozen=True, slots=True)
class ChannelHit:
    score: float
    rank: int
    """From 1."""


@dataclass(frozen=True, slots=True)
class FusedCandidate:
    """A chunk found by at least one channel; a channel that lacks it is None."""

    chunk_id: UUID
    dense: ChannelHit | None
    bm25: ChannelHit | None
    rrf: ChannelHit
    """Score and rank under RRF, whichever method ordered the list."""
    fused: ChannelHit
    """Score and rank under the chosen method: the order of the list."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """The fused list, best first, and what it was made with."""

    candidates: list[FusedCandidate]
    dense_weight: float
    bm25_weight: float


@dataclass(frozen=True, slots=True)
class _Channel:
    hits: Mapping[UUID, ChannelHit] = field(default_factory=dict)

    @classmethod
    def ranked(cls, candidates: Iterable[Candidate]) -> "_Channel":
        """Orders by score, ties by chunk id; of a chunk given twice the better score counts."""
        hits: dict[UUID, ChannelHit] = {}
        for candidate in sorted(candidates, key=lambda one: (-one.score, one.chunk_id)):
            if candidate.chunk_id not in hits:
                hits[candidate.chunk_id] = ChannelHit(candidate.score, len(hits) + 1)
        return cls(hits)

    def normalised(self, *, minimum: float | None = None) -> dict[UUID, float]:
        """Min-max to [0, 1] over this channel's candidates; all 1 where they don't differ."""
        if not self.hits:
            return {}
        scores = [hit.score for hit in self.hits.values()]
        low, high = min(scores) if minimum is None else min(minimum, *scores), max(scores)
        if high <= low:
            return dict.fromkeys(self.hits, 1.0)
        return {chunk_id: (hit.score - low) / (high - low) for chunk_id, hit in self.hits.items()}

    def reciprocal_ranks(self, k: int) -> dict[UUID, float]:
        return {chunk_id: 1 / (k + hit.rank) for chunk_id, hit in self.hits.items()}


def coverage(query_terms: Collection[str], matched: Mapping[UUID, Collection[str]]) -> float:
    """u: the share of the query's distinct terms that at least one of the given chunks holds; 0 without terms.

    `matched` is what `TextIndex.matched_terms` says of the first `COVERAGE_POOL` BM25 candidates.
    """
    asked = set(query_terms)
    if not asked:
        return 0.0
    known: set[str] = set()
    for terms in matched.values():
        known.update(terms)
    return len(asked & known) / len(asked)


def lexical_factor(u: float) -> float:
    """How far the lexical channel is to be trusted, in [0, 1]: 0 up to u = 0.3, 1 from u = 0.7, linear between."""
    return min(1.0, max(0.0, (u - UNKNOWN_BELOW) / (KNOWN_FROM - UNKNOWN_BELOW)))


def fuse(dense: Sequence[Candidate], bm25: Sequence[Candidate], settings: FusionSettings, *, u: float = 1.0) -> Fusion:
    """Fuses the candidates of both channels, best first, ties by BM25 rank, then by chunk id.

    `u` is `coverage`; it is looked at only where `settings.adapts`. A channel without any candidate (nothing matched,
    it was not asked, or it failed) leaves the whole weight to the other.
    """
    channels = _Channel.ranked(dense), _Channel.ranked(bm25)
    dense_weight, bm25_weight = _weights(channels, settings)
    both = bool(channels[0].hits and channels[1].hits)
    factor = lexical_factor(u) if both and settings.adapts else 1.0
    is_rrf = settings.method is FusionMethod.RRF

    rrf_weights = (dense_weight, bm25_weight * factor if is_rrf else bm25_weight)
    rrf = _weighted_sum(rrf_weights, *(channel.reciprocal_ranks(settings.k) for channel in channels))
    if is_rrf:
        return _report(channels, rrf, rrf, rrf_weights)

    w = bm25_weight / (dense_weight + bm25_weight) * factor
    # A short list is all that matches: its last chunk is still evidence, so the scale starts at no match at all.
    lexical = channels[1].normalised(minimum=None if len(channels[1].hits) >= FULL_POOL else 0.0)
    return _report(channels, rrf, _weighted_sum((1 - w, w), channels[0].normalised(), lexical), (1 - w, w))


def _weights(channels: tuple[_Channel, _Channel], settings: FusionSettings) -> tuple[float, float]:
    """(dense, bm25) weights before adaptation: those given, else equal; an empty channel gives way to the other."""
    dense, bm25 = channels
    if not bm25.hits:
        return 1.0, 0.0
    if not dense.hits:
        return 0.0, 1.0
    given = settings.weights or ChannelWeights()
    return given.dense, given.bm25


def _weighted_sum(
    weights: tuple[float, float], dense: Mapping[UUID, float], bm25: Mapping[UUID, float]
) -> dict[UUID, float]:
    return {
        chunk_id: weights[0] * dense.get(chunk_id, 0.0) + weights[1] * bm25.get(chunk_id, 0.0)
        for chunk_id in dense.keys() | bm25.keys()
    }


def _ranked(scores: Mapping[UUID, float], bm25: Mapping[UUID, ChannelHit]) -> dict[UUID, ChannelHit]:
    """Ties are common under RRF (ranks 1 and 2 against 2 and 1), and ids say nothing: BM25's rank decides first."""

    def key(chunk_id: UUID) -> tuple[float, float, UUID]:
        hit = bm25.get(chunk_id)
        return -scores[chunk_id], hit.rank if hit else math.inf, chunk_id

    order = sorted(scores, key=key)
    return {chunk_id: ChannelHit(scores[chunk_id], rank) for rank, chunk_id in enumerate(order, start=1)}


def _report(
    channels: tuple[_Channel, _Channel],
    rrf: Mapping[UUID, float],
    fused: Mapping[UUID, float],
    weights: tuple[float, float],
) -> Fusion:
    rrf_hits = _ranked(rrf, channels[1].hits)
    candidates = [
        FusedCandidate(
            chunk_id, channels[0].hits.get(chunk_id), channels[1].hits.get(chunk_id), rrf_hits[chunk_id], hit
        )
        for chunk_id, hit in _ranked(fused, channels[1].hits).items()
    ]
    return Fusion(candidates, dense_weight=weights[0], bm25_weight=weights[1])
