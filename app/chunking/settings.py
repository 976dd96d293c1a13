"""A knowledge base's choice of how documents are cut."""

from pydantic import Field, field_validator

from app.chunking.sizes import ChunkSizes
from app.chunking.strategies import STRATEGIES


class ChunkingSettings(ChunkSizes):
    strategy: str = Field(default="structure")

    @field_validator("strategy")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in STRATEGIES:
            raise ValueError(f"There is no chunking strategy {name!r}; there are: {', '.join(sorted(STRATEGIES))}.")
        return name
