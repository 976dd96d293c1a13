"""A knowledge base's choice of how documents are cut."""

from typing import Self

from pydantic import Field, field_validator, model_validator

from app.chunking.options import ChunkingOptions
from app.chunking.strategies import STRATEGIES


class ChunkingSettings(ChunkingOptions):
    strategy: str = Field(
        default="structure",
        description="structure, recursive, semantic, parent_child or hierarchical. The options of the others wait.",
    )

    @field_validator("strategy")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in STRATEGIES:
            raise ValueError(f"There is no chunking strategy {name!r}; there are: {', '.join(sorted(STRATEGIES))}.")
        return name

    @model_validator(mode="after")
    def _smallest_fit(self) -> Self:
        smallest = {
            "parent_child": ("parent_child.child_tokens", self.parent_child.child_tokens),
            "hierarchical": ("hierarchical.leaf_tokens", self.hierarchical.leaf_tokens),
        }
        name, size = smallest.get(self.strategy, ("", 0))
        if size > self.max_tokens:
            raise ValueError(f"{name} ({size}) must not be larger than max_tokens ({self.max_tokens}).")
        return self
