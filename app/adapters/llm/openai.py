"""Chat models of any OpenAI-compatible server, tried in order."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import cast

import httpx
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from openai import APIStatusError, APITimeoutError, OpenAIError
from pydantic import SecretStr

from app.core.errors import EngineUnavailable, NotFound
from app.ports.chat_models import ChatDelta, ChatMessage, TokenUsage

_MESSAGES: dict[str, type[BaseMessage]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
_FAILURES = (OpenAIError, httpx.HTTPError, TimeoutError, ValueError, TypeError, KeyError)
"""What the client raises where a server is down, late, refuses, breaks off, or answers in another form."""
_log = logging.getLogger(__name__)


class _ModelFailed(Exception):
    """One model gave no answer; the next may."""


class OpenAIChatModels:
    """A `ChatModels` of at least one model."""

    def __init__(self, url: str, models: Sequence[str], *, api_key: str = "", timeout_seconds: float = 60.0) -> None:
        """`url` is the API's base and ends in `/v1`. The timeout is that of silence, not of the whole answer."""
        self.names: tuple[str, ...] = tuple(dict.fromkeys(models))
        self._url = url.rstrip("/")
        self._api_key = api_key
        self._timeout = timeout_seconds
        self._client: httpx.AsyncClient | None = None
        self._models: dict[str, ChatOpenAI] = {}

    async def open(self) -> None:
        """Connects to nothing yet."""
        if self._client is not None:
            return
        # Some key is always given: without one the client would take one from the environment and send it.
        key = SecretStr(self._api_key or "none")
        self._client = httpx.AsyncClient(timeout=httpx.Timeout(self._timeout, connect=min(self._timeout, 10.0)))
        for name in self.names:
            self._models[name] = ChatOpenAI(
                model=name,
                base_url=self._url,
                api_key=key,
                timeout=self._client.timeout,
                stream_chunk_timeout=self._timeout,
                stream_usage=True,
                max_retries=0,  # the next model is the retry
                http_async_client=self._client,
            )

    async def close(self) -> None:
        client, self._client = self._client, None
        self._models = {}
        if client is not None:
            await client.aclose()

    async def check(self) -> dict[str, str | None]:
        """Asks the server for its list of models; one that has no such list is taken at its word."""
        if self._client is None:
            return dict.fromkeys(self.names, "The models are not open.")
        headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
        try:
            response = await self._client.get(f"{self._url}/models", headers=headers)
        except httpx.HTTPError:
            return dict.fromkeys(self.names, "The server can't be reached.")
        if response.status_code in {404, 405}:
            return dict.fromkeys(self.names)
        if not response.is_success:
            return dict.fromkeys(self.names, f"The server answers with status {response.status_code}.")
        try:
            offered = {model["id"] for model in response.json()["data"]}
        except (ValueError, KeyError, TypeError):
            return dict.fromkeys(self.names, "The server's list of models is not in OpenAI's form.")
        return {name: None if name in offered else "The server does not offer this model." for name in self.names}

    async def stream(self, messages: Sequence[ChatMessage], *, model: str | None = None) -> AsyncIterator[ChatDelta]:
        if model is not None and model not in self.names:
            raise NotFound(f"There is no model named {model!r}.", code="model_not_found")
        order = self.names if model is None else (model, *(name for name in self.names if name != model))
        for name in order:
            answered = False
            try:
                async with aclosing(self._stream_of(name, messages)) as deltas:
                    async for delta in deltas:
                        yield delta
                        answered = True
            except _ModelFailed as error:
                _log.warning("The chat model %s failed: %s", name, error)
                if answered:
                    raise EngineUnavailable("The chat model broke off in the middle of its answer.") from error
            else:
                return
        raise EngineUnavailable("None of the chat models answers.")

    async def _stream_of(self, name: str, messages: Sequence[ChatMessage]) -> AsyncGenerator[ChatDelta, None]:
        """Raises `_ModelFailed` where the answer is missing, empty, or not brought to its end."""
        chat = self._models.get(name)
        if chat is None:
            raise EngineUnavailable("The chat models are not open.")
        spoken, finished, usage = False, False, None
        sent = [_MESSAGES[message.role](content=message.content) for message in messages]
        try:
            async with aclosing(cast("AsyncGenerator[AIMessageChunk, None]", chat.astream(sent))) as chunks:
                async for chunk in chunks:
                    usage = _usage(chunk) or usage
                    finished = finished or bool(chunk.response_metadata.get("finish_reason"))
                    if text := str(chunk.text):
                        yield ChatDelta(text, name)
                        spoken = True
        except _FAILURES as error:
            raise _ModelFailed(_reason(error)) from error
        if not spoken:
            raise _ModelFailed("the answer was empty")
        if not finished:
            raise _ModelFailed("the stream ended before the answer did")
        if usage is not None:
            yield ChatDelta("", name, usage)


def _usage(chunk: AIMessageChunk) -> TokenUsage | None:
    found = chunk.usage_metadata
    return None if found is None else TokenUsage(found["input_tokens"], found["output_tokens"])


def _reason(error: Exception) -> str:
    """For the log. The text of the error is left out: servers put keys and prompts into it."""
    if isinstance(error, APIStatusError):
        return f"status {error.status_code}"
    if isinstance(error, TimeoutError | APITimeoutError | httpx.TimeoutException):
        return "no answer in time"
    return type(error).__name__
