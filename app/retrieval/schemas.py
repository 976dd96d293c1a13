"""Bodies of `POST /v1/retrieve`; `explained.py` has what `explain` adds."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, model_validator

from app.chunking.chunk import ChunkKind, Provenance
from app.core.described import ApiModel
from app.core.text import Storable
from app.parsing.document import BoundingBox
from app.retrieval.explained import Explanation
from app.retrieval.settings import (
    LEAST_CANDIDATES,
    MOST_CANDIDATES,
    MOST_HITS,
    MOST_RERANKED,
    FusionOptions,
    RetrievalSettings,
    SearchMode,
    Weights,
)

MOST_QUERY_CHARACTERS = 8_000
_LEAST_SCORES = {"min_dense_score", "min_rerank_score"}
EARLIEST, LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("the query is empty: ask for something")
    return value


Query = Annotated[str, Storable(min_length=1, max_length=MOST_QUERY_CHARACTERS), AfterValidator(_not_blank)]
Label = Annotated[str, Storable(min_length=1, max_length=255)]
Real = Annotated[float, Field(allow_inf_nan=False)]
Content = Annotated[str, Storable(max_length=16_384)]
MetadataValue = bool | int | Real | Content
MetadataChoice = MetadataValue | Annotated[list[MetadataValue], Field(min_length=1, max_length=100)]
Moment = Annotated[AwareDatetime, Field(ge=EARLIEST, le=LATEST)]


class RetrieveFilter(ApiModel):
    """All conditions hold at once; one that is absent or empty says nothing."""

    model_config = ConfigDict(extra="forbid")

    document_ids: list[UUID] = Field(default_factory=list, max_length=1_000)
    """At most 1,000 documents that may be found; one that is not known matches nothing."""
    external_ids: list[Label] = Field(
        default_factory=list,
        max_length=1_000,
        description="Your own ids of documents; one that is not known matches nothing.",
    )
    tags_any: list[Label] = Field(default_factory=list, max_length=100, description="At least one of these tags.")
    tags_all: list[Label] = Field(default_factory=list, max_length=100, description="Every one of these tags.")
    metadata: dict[Label, MetadataChoice] = Field(
        default_factory=dict,
        max_length=64,
        description='Key to the value, or the list of accepted values. Types count: 1 is not "1".',
    )
    created_from: Moment | None = Field(None, description="Documents added at this time or later.")
    created_before: Moment | None = Field(None, description="Documents added earlier than this.")

    def choices(self) -> dict[str, tuple[str | int | float | bool, ...]]:
        return {
            key: tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
            for key, value in self.metadata.items()
        }


class RetrieveRequest(ApiModel):
    """What is absent comes from the settings of the knowledge bases asked, or else from the defaults."""

    model_config = ConfigDict(extra="forbid")

    query: Query
    """A question, or words, in any language."""
    knowledge_base_ids: list[UUID] = Field(
        default_factory=list, max_length=200, description="Empty or absent: all that you may read."
    )
    top_k: int | None = Field(None, ge=1, le=MOST_HITS)
    """How many hits are returned; 10 unless the settings say otherwise."""
    mode: SearchMode | None = None
    """`hybrid` asks both indexes, `dense` the vectors alone, `bm25` the terms alone."""
    fusion: FusionOptions | None = Field(None, description="What is left out of it comes from the stored settings.")
    weights: Weights | None = Field(None, description="The same as `fusion.weights`.")
    filter: RetrieveFilter = Field(default_factory=RetrieveFilter)
    """What must hold of the documents found."""
    min_dense_score: float | None = Field(None, ge=-1, le=1, allow_inf_nan=False)
    """Candidates of the dense channel below this cosine similarity are left out; null lets all of them in."""
    candidates: int | None = Field(
        None, ge=LEAST_CANDIDATES, le=MOST_CANDIDATES, description="How many of each channel are fused; at least top_k."
    )
    auto_merge: bool | None = None
    """Whether what holds several found chunks is read in their place, where documents have that."""
    merge_share: float | None = Field(None, gt=0, le=1, allow_inf_nan=False)
    """How much of what it holds has to be found."""
    rerank: bool | None = Field(
        None, description="Whether the reranker orders the first candidates anew. Default: where one is configured."
    )
    rerank_depth: int | None = Field(
        None, ge=1, le=MOST_RERANKED, description="How many of the first fused candidates it is asked about."
    )
    min_rerank_score: float | None = Field(
        None, allow_inf_nan=False, description="What it scores below this, or not at all, is left out."
    )
    explain: bool = Field(False, description="Also tell what became of each candidate.")
    explain_chunk_ids: list[UUID] = Field(
        default_factory=list, max_length=50, description="Why is this chunk (not) there? Implies `explain`."
    )
    explain_document_ids: list[UUID] = Field(
        default_factory=list, max_length=10, description="Why is this document (not) there? Implies `explain`."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.candidates is not None and self.top_k is not None and self.candidates < self.top_k:
            raise ValueError(f"candidates must be at least top_k, which is {self.top_k}")
        if self.weights is not None and self.fusion is not None and "weights" in self.fusion.model_fields_set:
            raise ValueError("give weights once: either as weights or as fusion.weights")
        if self.rerank is False and self.min_rerank_score is not None:
            raise ValueError("min_rerank_score needs the reranker: leave it out, or rerank: false")
        return self

    @property
    def wants_explanation(self) -> bool:
        return self.explain or bool(self.explain_chunk_ids or self.explain_document_ids)

    def overrides(self) -> dict[str, Any]:
        """The settings that this request names itself; null for a least score takes a stored one away."""
        given = self.model_dump(include=set(RetrievalSettings.model_fields), exclude_unset=True)
        given = {name: value for name, value in given.items() if value is not None or name in _LEAST_SCORES}
        if self.weights is not None:
            given["fusion"] = {**given.get("fusion", {}), "weights": self.weights.model_dump()}
        return given


class EngineName(StrEnum):
    VECTORS = "vectors"
    TERMS = "terms"
    RERANKER = "reranker"


class SettingsSource(StrEnum):
    KNOWLEDGE_BASES = "knowledge_bases"
    DEFAULTS = "defaults"


class UsedSettings(RetrievalSettings):
    """The settings that this answer was made with."""

    source: SettingsSource
    """Where what the request left out came from: the knowledge bases, which agree, or else the defaults."""
    overridden: list[str]
    """Settings that the request named itself."""


class Scores(ApiModel):
    """None where a channel lacks the chunk or was not asked."""

    dense: float | None
    """Cosine similarity, in [-1, 1]."""
    bm25: float | None
    """At least 0, without an upper bound."""
    rrf: float
    """Whichever method ordered the hits."""
    fused: float
    """By the method that ordered the hits. Comparable inside one answer only."""
    rerank: float | None
    """On the reranker's own scale; None where it was not asked about the chunk, or failed."""


class Ranks(ApiModel):
    """From 1, among the candidates that may be seen."""

    dense: int | None
    """None where the channel lacks the chunk or was not asked."""
    bm25: int | None
    """None where the channel lacks the chunk or was not asked."""
    rrf: int
    """By the two above, whichever method ordered the hits."""
    rerank: int | None
    """Among those that the reranker was asked about."""


class Hit(ApiModel):
    chunk_id: UUID
    document_id: UUID
    document_name: str
    external_id: str | None
    """Your own id of the document."""
    knowledge_base_id: UUID
    generation: int
    """The version of the document that it is of."""
    ordinal: int
    """Its place among the chunks of the document, from 0."""
    text: str
    kind: ChunkKind
    """`table_summary` tells what the columns of a table hold, and is no text of the document."""
    heading_path: list[str]
    """Headings above it, the highest first."""
    page: int | None
    """On which it begins, from 1; None where the format has no pages."""
    page_end: int | None
    """On which it ends."""
    provenance: list[Provenance]
    """Page and box of each part of the text; empty where the format has no pages, or a person edited the text."""
    bbox: BoundingBox | None
    """Around all that stands on `page`."""
    start: int
    """Where it begins in the text of the document, in characters."""
    end: int
    """Where it ends there: the offset behind its last character."""
    metadata: dict[str, Any]
    """Of the document."""
    tags: list[str]
    """Of the document."""
    scores: Scores
    """Of a parent: those of the best chunk that it stands for."""
    ranks: Ranks
    """Of a parent: those of the best chunk that it stands for."""
    matched_terms: list[str]
    """Terms of the query that the chunk, its title or its headings hold, as they are indexed; for highlighting."""
    merged_from: list[UUID] = Field(default_factory=list)
    """Where this is a parent: the chunks that were found, best first, in whose place its text and place are given."""


class TookMs(ApiModel):
    """Milliseconds. `embed` and `dense` go on at the same time as `bm25`; repeated rounds add up."""

    authorise: float = 0
    """Finding out what may be read, and by which settings."""
    embed: float = 0
    """Making the query's vector, or finding it among those kept."""
    dense: float = 0
    """Asking the vector index."""
    bm25: float = 0
    """Asking the term index."""
    hydrate: float = 0
    """Reading candidates from the database, which drops what may not be seen."""
    rerank: float = 0
    """Asking the reranker."""
    total: float = 0
    """All of it."""


class RetrievalResult(ApiModel):
    """Hits, best first."""

    hits: list[Hit]
    """At most `top_k`, best first."""
    degraded: list[EngineName]
    """What could not be asked. Without an index, hits come from the other one alone; without the reranker, they stand
    in the order of the fusion, and `min_rerank_score` leaves nothing out."""
    degraded_reasons: dict[EngineName, str]
    """What befell each of them, in a sentence."""
    settings: UsedSettings
    """What the answer was made with."""
    took_ms: TookMs
    """Where the time went."""
    explanation: Explanation | None = None
    """None where none was asked for."""
