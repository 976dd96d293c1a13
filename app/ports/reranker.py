"""Cross-encoder scores of passages for a query."""

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    name: str

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def check(self) -> None: ...

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        """A relevance score for each passage, in the order given; higher is better. `EngineUnavailable` on failure."""
