"""How large chunks may be, in tokens of the embedding model. What every strategy needs to know."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ChunkSizes(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    target_tokens: int = Field(default=320, ge=32, le=8192)
    """What a section that has to be split is split into, about."""
    max_tokens: int = Field(default=450, ge=32, le=8192)
    """The longest stored text of a chunk. A section that fits is kept whole."""
    max_embedded_tokens: int = Field(default=480, ge=64, le=8192)
    """The longest embedded text: title, heading path and stored text. The model's own limit holds besides."""
    min_tokens: int = Field(default=48, ge=0, le=1024)
    """Neighbouring sections that are both shorter than this are put together."""
    overlap_tokens: int = Field(default=40, ge=0, le=2048)
    """How much of a chunk's end the next one repeats at most, in whole sentences, where a section had to be split."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.target_tokens > self.max_tokens:
            raise ValueError(
                f"target_tokens ({self.target_tokens}) must not be larger than max_tokens ({self.max_tokens})."
            )
        if self.max_tokens > self.max_embedded_tokens:
            raise ValueError(
                f"max_tokens ({self.max_tokens}) must not be larger than max_embedded_tokens "
                f"({self.max_embedded_tokens}): the embedded text holds the stored text, title and heading path."
            )
        if self.overlap_tokens * 2 > self.target_tokens:
            raise ValueError(
                f"overlap_tokens ({self.overlap_tokens}) must be at most half of target_tokens ({self.target_tokens})."
            )
        if self.min_tokens > self.target_tokens:
            raise ValueError(
                f"min_tokens ({self.min_tokens}) must not be larger than target_tokens ({self.target_tokens})."
            )
        return self
