"""Cross-encoder scores of passages for a query."""

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    name: str
    """Of the model, for explanations."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def check(self) -> None:
        """Returns if the model answers, raises `EngineUnavailable` if not. May take its word of the last minute."""

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        """A relevance score for each passage, in the order given; higher is better. `EngineUnavailable` on failure.

        Scores are finite and of the model's own scale: probabilities of some, logits of others. What is longer than
        the model reads is cut at its end.
        """
