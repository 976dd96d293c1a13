"""What each strategy may be told beside the sizes that all of them share. Unknown options are refused."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.chunking.sizes import ChunkSizes
from app.core.text import Storable

Separator = Annotated[str, Storable(min_length=1, max_length=32)]


class _Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class RecursiveOptions(_Options):
    """Text is cut at the first separator of the list that makes its parts fit, and the parts are packed again."""

    separators: tuple[Separator, ...] | None = Field(
        None,
        min_length=1,
        max_length=16,
        description="Strongest first, taken literally; a part ends with its separator. Not set: paragraphs, lines, "
        "ends of sentences and of clauses, Chinese and Western. At last text is cut between words.",
    )


class Breakpoint(StrEnum):
    """How large the distance of two neighbouring sentences has to be, among all of the document, to part them."""

    PERCENTILE = "percentile"
    STANDARD_DEVIATION = "standard_deviation"
    INTERQUARTILE = "interquartile"


DEFAULT_AMOUNTS: Mapping[Breakpoint, float] = {
    Breakpoint.PERCENTILE: 95.0,
    Breakpoint.STANDARD_DEVIATION: 3.0,
    Breakpoint.INTERQUARTILE: 1.5,
}
"""Those of LangChain's `SemanticChunker`, whose readers expect them."""
LARGEST_FACTOR = 10.0


class SemanticOptions(_Options):
    """Sentences are embedded, and a section is cut where neighbours mean something else. Costs as much as embedding
    the document once more."""

    breakpoint: Breakpoint = Breakpoint.PERCENTILE
    """By which statistic of all distances a break is told; `amount` says how far from it."""
    amount: float | None = Field(
        None,
        ge=0,
        le=100,
        allow_inf_nan=False,
        description="percentile: the share of distances, 0 to 100, that are no break (95). standard_deviation (3) and "
        "interquartile (1.5): how many of them, 0 to 10, above the mean distance a break begins.",
    )
    buffer_sentences: int = Field(
        1, ge=0, le=5, description="Neighbours on each side that are embedded with a sentence: more is smoother."
    )

    @model_validator(mode="after")
    def _amount_fits_the_method(self) -> Self:
        if self.breakpoint is not Breakpoint.PERCENTILE and (self.amount or 0) > LARGEST_FACTOR:
            raise ValueError(
                f"amount ({self.amount:g}) of {self.breakpoint} is a factor of 0 to {LARGEST_FACTOR:g}; only a "
                "percentile may be larger."
            )
        return self

    @property
    def chosen_amount(self) -> float:
        return DEFAULT_AMOUNTS[self.breakpoint] if self.amount is None else self.amount


class ParentChildOptions(_Options):
    """Small children are searched; the parent that holds the child found is what is read."""

    child_tokens: int = Field(128, ge=32, le=8192, description="The longest text of a child; at most max_tokens.")
    parent_tokens: int = Field(
        1024, ge=64, le=16_384, description="The longest text of a parent. It is not embedded: no model limits it."
    )

    @model_validator(mode="after")
    def _ascend(self) -> Self:
        if self.child_tokens >= self.parent_tokens:
            raise ValueError(
                f"child_tokens ({self.child_tokens}) must be smaller than parent_tokens ({self.parent_tokens})."
            )
        return self


class HierarchicalOptions(_Options):
    """Leaves are searched; where enough leaves of one parent are found, the parent is read in their place, and where
    enough parents are, what holds them."""

    leaf_tokens: int = Field(128, ge=32, le=8192, description="The longest text of a leaf; at most max_tokens.")
    middle_tokens: int = Field(512, ge=64, le=16_384, description="The longest text that holds leaves of one section.")
    top_tokens: int = Field(2048, ge=128, le=32_768, description="The longest text that holds middle ones.")

    @model_validator(mode="after")
    def _ascend(self) -> Self:
        if not self.leaf_tokens < self.middle_tokens < self.top_tokens:
            raise ValueError(
                f"leaf_tokens ({self.leaf_tokens}), middle_tokens ({self.middle_tokens}) and top_tokens "
                f"({self.top_tokens}) must grow from one to the next."
            )
        return self


class TableOptions(_Options):
    """How tables with column names are searched, whatever the strategy. Cells stay as they are in the parsed form."""

    rows: bool = Field(
        True, description="A table too long for one chunk as sentences that name every column; else as Markdown."
    )
    summary: bool = Field(
        True, description="One more chunk a table: its columns with types, ranges and values, rows and how many."
    )
    described: bool = Field(
        True, description="That chunk begins with what the language model says of the table, where one is configured."
    )


class ChunkingOptions(ChunkSizes):
    """Everything that a strategy is told."""

    tables: TableOptions = Field(default_factory=TableOptions)
    """How tables are searched, whatever the strategy."""
    recursive: RecursiveOptions = Field(default_factory=RecursiveOptions)
    """Options of this strategy."""
    semantic: SemanticOptions = Field(default_factory=SemanticOptions)
    """Options of this strategy."""
    parent_child: ParentChildOptions = Field(default_factory=ParentChildOptions)
    """Options of this strategy."""
    hierarchical: HierarchicalOptions = Field(default_factory=HierarchicalOptions)
    """Options of this strategy."""
