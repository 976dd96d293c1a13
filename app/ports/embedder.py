"""Text to vectors, and to tokens of the same model, which the chunker measures in."""

from collections.abc import Callable, Sequence
from typing import Protocol

from app.ports.vector_index import Vectors, VectorSpace

Embed = Callable[[Sequence[str]], Vectors]
"""Passages to vectors as `Embedder.embed_passages` makes them, for code in a thread: it blocks until they are there."""


class TokenCounter(Protocol):
    """Tokens as the embedding model counts them. Pure and fast; may be called from any thread."""

    @property
    def max_tokens(self) -> int:
        """The longest text, in tokens, that the model reads whole."""

    def count(self, text: str) -> int: ...

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end offset (in characters of `text`) of each token, in order; special tokens are left out."""


class Embedder(Protocol):
    space: VectorSpace

    @property
    def tokens(self) -> TokenCounter: ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def check(self) -> None:
        """Returns if the model answers, raises `EngineUnavailable` if not."""

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions), rows of length 1, in order. Any number of texts: the adapter batches.

        Retries what may be retried (429 and 5xx, honouring Retry-After) a few times, then raises `EngineUnavailable`.
        """

    async def embed_query(self, text: str) -> Vectors:
        """Shape (dimensions,), length 1. Goes before passages that are waiting; does not retry for long."""
