"""A cross-encoder behind an HTTP endpoint `/rerank`, asked in one of the two ways that servers know."""

import asyncio
import math
import time
from collections.abc import Sequence
from typing import Any, Literal

from app.adapters.model_http import ModelHttp
from app.adapters.token_cut import first_tokens
from app.core.errors import EngineRejected, EngineUnavailable
from app.ports.embedder import TokenCounter

Style = Literal["jina", "tei"]

_ATTEMPTS = 2
"""A person waits for the answer, and without scores it keeps the order of the fusion."""
_TEI_BATCH = 32
"""Passages of one request that Text Embeddings Inference takes by default (`--max-client-batch-size`)."""
_SPECIAL_TOKENS = 4
"""Around a pair of texts, in XLM-RoBERTa's form, the one with most."""


class HttpReranker:
    """A `Reranker`.

    In the style `jina` (Jina, Cohere, Voyage, vLLM, llama.cpp and more) all passages of a query go in one request; in
    that of Text Embeddings Inference in as many as its limit asks for. Query and passage are cut to `max_tokens`
    together, as `tokens` counts: most servers refuse what is longer.
    """

    def __init__(
        self,
        url: str,
        model: str,
        tokens: TokenCounter,
        *,
        style: Style = "jina",
        max_tokens: int = 512,
        api_key: str = "",
        timeout_seconds: float = 10.0,
        first_wait: float = 0.2,
        trust_seconds: float = 60.0,
    ) -> None:
        """`url` is the address of the endpoint itself. For `trust_seconds` after an answer `check` asks for none."""
        self.name = model or "rerank"
        self._url = url
        self._model = model
        self._tokens = tokens
        self._style = style
        self._room = max_tokens - _SPECIAL_TOKENS
        self._http = ModelHttp("reranker", api_key=api_key, timeout_seconds=timeout_seconds, first_wait=first_wait)
        self._trust_seconds = trust_seconds
        self._trusted_until = 0.0

    async def open(self) -> None:
        await self._http.open()

    async def close(self) -> None:
        await self._http.close()
        self._trusted_until = 0.0

    async def check(self) -> None:
        """Scores one word, unless the model has answered lately: readiness is asked all the time, and calls cost."""
        if time.monotonic() >= self._trusted_until:
            await self.rerank("?", ["?"])

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        if not passages:
            return []
        query, texts = await asyncio.to_thread(self._cut, query, passages)
        batch = _TEI_BATCH if self._style == "tei" else len(texts)
        scores: list[float] = []
        try:
            for start in range(0, len(texts), batch):
                scores += await self._request(query, texts[start : start + batch])
        except EngineRejected as error:
            # The port knows one failure only: whoever asks goes on without scores either way.
            raise EngineUnavailable(error.detail, retry_after=None) from error
        finally:  # also where whoever asks has given up
            self._trusted_until = time.monotonic() + self._trust_seconds if len(scores) == len(texts) else 0.0
        return scores

    def _cut(self, query: str, passages: Sequence[str]) -> tuple[str, list[str]]:
        """A query takes half of the room at the most."""
        query = first_tokens(query, self._room // 2, self._tokens)
        left = self._room - self._tokens.count(query)
        return query, [first_tokens(passage, left, self._tokens) for passage in passages]

    async def _request(self, query: str, texts: Sequence[str]) -> list[float]:
        body: dict[str, Any] = {"query": query}
        if self._style == "tei":
            body |= {"texts": list(texts), "truncate": True}
        else:
            body["documents"] = list(texts)  # all are scored where no number is given; Voyage refuses `top_n`
        if self._model:
            body["model"] = self._model
        return _scores(await self._http.post(self._url, body, attempts=_ATTEMPTS), len(texts))


def _scores(answer: Any, count: int) -> list[float]:  # noqa: ANN401 - JSON of a stranger
    """Scores by index. Voyage calls its list `data`, the others `results`; with TEI the list is the whole answer."""
    try:
        rows = answer if isinstance(answer, list) else answer["results"] if "results" in answer else answer["data"]
        scores = {row["index"]: float(row["relevance_score" if "relevance_score" in row else "score"]) for row in rows}
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise EngineRejected("The reranker answered in a form that is not known: see RERANK_STYLE.") from error
    if len(rows) != count or scores.keys() != set(range(count)):
        raise EngineRejected(f"The reranker answered {len(rows)} scores for {count} passages.")
    if not all(map(math.isfinite, scores.values())):
        raise EngineRejected("The reranker answered a score that is no number.")
    return [scores[index] for index in range(count)]
