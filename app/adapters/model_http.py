"""JSON over HTTP to model servers: what is tried again, for how long, and which error it becomes in the end."""

import asyncio
import email.utils
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx

from app.core.errors import EngineRejected, EngineUnavailable

_PASSING = frozenset({408, 409, 425, 429})
_LONGEST_WAIT = 30.0
"""Seconds. A server that asks for more is given up on, and its wish passed on to the caller."""


class ModelHttp:
    """A client of one server. `what` names it in errors ("The embedding server …")."""

    def __init__(self, what: str, *, api_key: str, timeout_seconds: float, first_wait: float = 0.5) -> None:
        self._what = what
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, 10.0))
        self._first_wait = first_wait
        self._client: httpx.AsyncClient | None = None

    async def open(self) -> None:
        if self._client is None:
            self._client = httpx.AsyncClient(headers=self._headers, timeout=self._timeout)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def post(self, url: str, body: Mapping[str, Any], *, attempts: int) -> Any:  # noqa: ANN401 - JSON
        """The answer's JSON.

        Timeouts, broken connections, 429, 408 and 5xx are tried again, up to `attempts` times in all, after what
        `Retry-After` says or else a doubling wait with full jitter. Then `EngineUnavailable`; other refusals are
        `EngineRejected` at once.
        """
        for attempt in range(1, attempts + 1):
            failure = await self._try(url, body)
            if not isinstance(failure, EngineUnavailable):
                return failure
            wait = self._wait(failure, attempt)
            if attempt == attempts or wait > _LONGEST_WAIT:
                raise failure
            await asyncio.sleep(wait)
        raise ValueError("At least one attempt is needed.")

    async def _try(self, url: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON or an `EngineUnavailable`
        if self._client is None:
            raise EngineUnavailable(f"The {self._what} is not open.")
        try:
            response = await self._client.post(url, json=body)
        except httpx.TimeoutException:
            return EngineUnavailable(f"The {self._what} did not answer in time.", retry_after=None)
        except httpx.TransportError:
            return EngineUnavailable(f"The {self._what} can't be reached.", retry_after=None)
        except httpx.RequestError:
            return EngineUnavailable(f"The {self._what} answered what can't be decoded.", retry_after=None)
        if response.status_code in _PASSING or response.status_code >= 500:
            return EngineUnavailable(
                f"The {self._what} is busy or failing (status {response.status_code}).",
                retry_after=retry_after_seconds(response.headers.get("Retry-After")),
            )
        if response.status_code in {401, 403}:
            raise EngineRejected(f"The {self._what} refused the API key (status {response.status_code}).")
        if not response.is_success:
            raise EngineRejected(f"The {self._what} refused the request (status {response.status_code}).")
        try:
            return response.json()
        except ValueError:
            return EngineUnavailable(f"The {self._what} answered something else than JSON.", retry_after=None)

    def _wait(self, failure: EngineUnavailable, attempt: int) -> float:
        # Full jitter: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
        backoff = self._first_wait * 2 ** (attempt - 1)
        if failure.retry_after is not None:
            return failure.retry_after + random.uniform(0, self._first_wait)  # noqa: S311 - spreads load, guards nothing
        return random.uniform(backoff / 2, backoff)  # noqa: S311


def retry_after_seconds(value: str | None) -> int | None:
    """What a `Retry-After` header asks for (RFC 9110, 10.2.3: seconds or a date), None where it can't be read."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return int(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0, round((aware - datetime.now(UTC)).total_seconds()))
