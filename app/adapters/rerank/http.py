"""A cross-encoder behind `/rerank`, in the form that Jina, Cohere, Voyage and llama.cpp share."""

import math
from collections.abc import Sequence
from typing import Any

from app.adapters.model_http import ModelHttp
from app.core.errors import EngineRejected, EngineUnavailable

_ATTEMPTS = 2
"""A person waits for the answer, and without scores it keeps the order of the fusion."""


class HttpReranker:
    """A `Reranker`. All passages of a query go in one request."""

    def __init__(
        self, url: str, model: str, *, api_key: str = "", timeout_seconds: float = 10.0, first_wait: float = 0.2
    ) -> None:
        """`url` is the address of the endpoint itself."""
        self.name = model or "rerank"
        self._url = url
        self._model = model
        self._http = ModelHttp("reranker", api_key=api_key, timeout_seconds=timeout_seconds, first_wait=first_wait)

    async def open(self) -> None:
        await self._http.open()

    async def close(self) -> None:
        await self._http.close()

    async def check(self) -> None:
        """Scores one word."""
        await self.rerank("?", ["?"])

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        if not passages:
            return []
        body: dict[str, Any] = {"query": query, "documents": list(passages), "top_n": len(passages)}
        if self._model:
            body["model"] = self._model
        try:
            answer = await self._http.post(self._url, body, attempts=_ATTEMPTS)
            return _scores(answer, len(passages))
        except EngineRejected as error:
            # The port knows one failure only: whoever asks goes on without scores either way.
            raise EngineUnavailable(error.detail, retry_after=None) from error


def _scores(answer: Any, count: int) -> list[float]:  # noqa: ANN401 - JSON of a stranger
    """Scores by index. Voyage calls its list `data`; the others call it `results`."""
    try:
        rows = answer["results"] if "results" in answer else answer["data"]
        scores = {row["index"]: float(row["relevance_score"]) for row in rows}
    except (KeyError, TypeError, ValueError) as error:
        raise EngineRejected("The reranker answered in a form that is not known.") from error
    if len(rows) != count or scores.keys() != set(range(count)):
        raise EngineRejected(f"The reranker answered {len(rows)} scores for {count} passages.")
    if not all(map(math.isfinite, scores.values())):
        raise EngineRejected("The reranker answered a score that is no number.")
    return [scores[index] for index in range(count)]
