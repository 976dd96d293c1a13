"""Any server that speaks OpenAI's `POST /v1/embeddings`."""

import asyncio
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from app.adapters.embedding.e5_tokens import E5Tokens
from app.adapters.model_http import ModelHttp
from app.adapters.token_cut import first_tokens
from app.core.errors import EngineRejected
from app.ports.vector_index import Vectors, VectorSpace

_BATCH = 32
_PASSAGE_ATTEMPTS = 5
_QUERY_ATTEMPTS = 2


class ApproximateTokens:
    """A `TokenCounter` for models whose tokenizer is not at hand: counts in tokens of multilingual-e5.

    Its vocabulary of 250,000 pieces holds more whole words than most, of Chinese above all, so the model's own count is
    often higher: set `max_tokens` well below the model's limit.
    """

    def __init__(self, max_tokens: int, tokens: E5Tokens) -> None:
        self.max_tokens = max_tokens
        self._tokens = tokens

    def count(self, text: str) -> int:
        return self._tokens.count(text)

    def spans(self, text: str) -> list[tuple[int, int]]:
        return self._tokens.spans(text)


class OpenAIEmbedder:
    """An `Embedder` over HTTP: batches of 32, a few at a time; a query waits for none of them."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        dimensions: int,
        max_tokens: int = 512,
        api_key: str = "",
        query_prefix: str = "",
        passage_prefix: str = "",
        concurrency: int = 4,
        timeout_seconds: float = 60.0,
        first_wait: float = 0.5,
        tokens_folder: Path | None = None,
    ) -> None:
        """`url` is the API's base and ends in `/v1`. The prefixes are put before each text, for models trained so."""
        self.space = VectorSpace(_space_name(model, dimensions), dimensions)
        self._counter = E5Tokens(tokens_folder)
        self.tokens = ApproximateTokens(max_tokens, self._counter)
        self._url = f"{url.rstrip('/')}/embeddings"
        self._model = model
        self._query_prefix, self._passage_prefix = query_prefix, passage_prefix
        self._limit = asyncio.Semaphore(concurrency)
        self._http = ModelHttp(
            "embedding server", api_key=api_key, timeout_seconds=timeout_seconds, first_wait=first_wait
        )

    async def open(self) -> None:
        await self._http.open()
        await asyncio.to_thread(self._counter.load)

    async def close(self) -> None:
        await self._http.close()

    async def check(self) -> None:
        await self.embed_query("?")

    async def embed_query(self, text: str) -> Vectors:
        vectors = await self._request([self._query_prefix + text], _QUERY_ATTEMPTS)
        vector: Vectors = vectors[0]
        return vector

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        tasks = [asyncio.create_task(self._embed_batch(batch)) for batch in batches]
        try:
            parts = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return np.concatenate([np.empty((0, self.space.dimensions), np.float32), *parts])

    async def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        async with self._limit:
            most = self.tokens.max_tokens
            whole = await asyncio.to_thread(lambda: [first_tokens(text, most, self._counter) for text in texts])
            return await self._request([self._passage_prefix + text for text in whole], _PASSAGE_ATTEMPTS)

    async def _request(self, texts: Sequence[str], attempts: int) -> Vectors:
        # Servers refuse the empty text; a lone surrogate has no place in JSON's UTF-8.
        readable = [re.sub("[\ud800-\udfff]", "\ufffd", text) or " " for text in texts]
        body = {"model": self._model, "input": readable, "encoding_format": "float"}
        return self._vectors(await self._http.post(self._url, body, attempts=attempts), len(texts))

    def _vectors(self, answer: Any, count: int) -> Vectors:  # noqa: ANN401 - JSON of a stranger
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            indices = [row["index"] for row in rows]
            vectors = [np.asarray(row["embedding"], np.float32) for row in rows]
        except (KeyError, TypeError, ValueError) as error:
            raise EngineRejected("The embedding server answered in a form that is not OpenAI's.") from error
        if indices != list(range(count)):
            raise EngineRejected(f"The embedding server answered {len(indices)} vectors for {count} texts.")
        for vector in vectors:
            if vector.shape != (self.space.dimensions,):
                raise EngineRejected(
                    f"The model {self._model} makes vectors of {vector.size} dimensions, "
                    f"not {self.space.dimensions}: correct EMBEDDING_DIMENSIONS."
                )
        matrix = np.stack(vectors)
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise EngineRejected("The embedding server answered a vector without a direction.")
        unit: Vectors = matrix / lengths
        return unit


def _space_name(model: str, dimensions: int) -> str:
    """Fit for a collection's name, and another one for every other model."""
    plain = re.sub("[^a-z0-9_-]+", "-", model.lower()).strip("-")
    if plain != model:
        plain = f"{plain}-{hashlib.sha256(model.encode()).hexdigest()[:6]}"
    return f"{plain}-{dimensions}"
