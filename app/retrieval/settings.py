"""How a knowledge base is searched, unless a request says otherwise. Kept in the settings of the knowledge base."""

from enum import StrEnum
from typing import Self

from pydantic import ConfigDict, Field, model_validator

from app.core.described import ApiModel
from app.retrieval.fusion import ChannelWeights, FusionMethod, FusionSettings

LEAST_CANDIDATES = 100
MOST_CANDIDATES = 1_000
MOST_HITS = 200
MOST_RERANKED = 200


class SearchMode(StrEnum):
    HYBRID = "hybrid"
    DENSE = "dense"
    BM25 = "bm25"


class Weights(ApiModel):
    """Fixed weights of the channels; only their ratio matters. At least one is above 0."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dense: float = Field(1.0, ge=0, le=1_000, allow_inf_nan=False)
    """Of the ranking by vectors."""
    bm25: float = Field(1.0, ge=0, le=1_000, allow_inf_nan=False)
    """Of the ranking by terms."""

    @model_validator(mode="after")
    def _not_both_zero(self) -> Self:
        if self.dense + self.bm25 <= 0:
            raise ValueError("one of the weights must be above 0")
        return self


class FusionOptions(ApiModel):
    """How the two channels become one ranking."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: FusionMethod = FusionMethod.CONVEX
    """`convex` adds up scores that are normalised over the candidates, `rrf` adds up reciprocal ranks."""
    k: int = Field(60, ge=1, le=10_000, description="Constant of rrf: the larger, the less the first ranks stand out.")
    adaptive: bool | None = Field(
        None,
        description="Whether BM25's weight follows how many of the query's terms the texts hold. "
        "Not set: yes for convex, no for rrf.",
    )
    weights: Weights | None = Field(None, description="Fixed weights. With them nothing adapts.")

    def as_settings(self) -> FusionSettings:
        weights = ChannelWeights(self.weights.dense, self.weights.bm25) if self.weights else None
        return FusionSettings(method=self.method, k=self.k, adaptive=self.adaptive, weights=weights)


class RetrievalSettings(ApiModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: SearchMode = SearchMode.HYBRID
    """`hybrid` asks both indexes, `dense` the vectors alone, `bm25` the terms alone."""
    top_k: int = Field(10, ge=1, le=MOST_HITS, description="How many hits are returned.")
    candidates: int = Field(
        LEAST_CANDIDATES,
        ge=LEAST_CANDIDATES,
        le=MOST_CANDIDATES,
        description="How many candidates of each channel are fused; never fewer than top_k.",
    )
    fusion: FusionOptions = Field(default_factory=FusionOptions)
    """How the rankings of the two channels become one."""
    min_dense_score: float | None = Field(
        None,
        ge=-1,
        le=1,
        allow_inf_nan=False,
        description="Candidates of the dense channel below this cosine similarity are left out.",
    )

    auto_merge: bool = Field(
        True, description="Whether what holds several found chunks is read in their place, where documents have that."
    )
    merge_share: float = Field(
        0.5,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="How much of what it holds has to be found. The parents of `parent_child` are always read.",
    )

    rerank: bool | None = Field(
        None,
        description="Whether the reranker orders the first candidates anew. Not set: where one is configured. Yes: "
        "where it is not, the answer says so.",
    )
    rerank_depth: int = Field(
        50,
        ge=1,
        le=MOST_RERANKED,
        description="How many of the first fused candidates the reranker is asked about. The others come behind them.",
    )
    min_rerank_score: float | None = Field(
        None,
        allow_inf_nan=False,
        description="Candidates that the reranker scores below this, and those that it is not asked about, are left "
        "out. The scale is the reranker's.",
    )

    @property
    def needs_reranker(self) -> bool:
        """Whether an answer without one is less than what was asked for."""
        return self.rerank is True or (self.rerank is None and self.min_rerank_score is not None)

    @property
    def depth(self) -> int:
        """Candidates a channel that are fused."""
        return max(self.candidates, self.top_k)
