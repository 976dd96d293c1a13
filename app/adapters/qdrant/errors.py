"""What the client raises, as this application's errors: may the call be retried, or was the request refused?"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse
from qdrant_client.http.models import UpdateResult, UpdateStatus

from app.core.errors import EngineRejected, EngineUnavailable

TRANSIENT = frozenset({408, 409, 423, 425, 429})


@asynccontextmanager
async def translated(doing: str, seconds: float) -> AsyncIterator[None]:
    """Raises `EngineUnavailable` or `EngineRejected` for whatever fails inside or takes longer than `seconds`.

    The client's own timeout bounds each read of a response, not the whole of it.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise EngineUnavailable(f"Qdrant took longer than {seconds:g} s for {doing}.", code="engine_late") from error
    except ResourceExhaustedResponse as error:
        raise EngineUnavailable(f"Qdrant limits its rate: {error}", retry_after=error.retry_after_s) from error
    except UnexpectedResponse as error:
        raise _of_response(error, doing) from error
    except ApiException as error:  # no response: refused, reset, timed out, or not what the interface says
        cause = getattr(error, "source", error)
        raise EngineUnavailable(f"Qdrant did not answer {doing} ({type(cause).__name__}).") from error
    except QdrantException as error:
        raise EngineUnavailable(f"Qdrant did not answer {doing} ({error}).") from error
    except ValueError as error:  # the client's own checks of a request
        raise EngineRejected(f"Qdrant's client refused {doing}: {error}") from error


def _of_response(error: UnexpectedResponse, doing: str) -> EngineRejected | EngineUnavailable:
    status, said = error.status_code or 0, _message(error)
    if status in (401, 403):
        return EngineRejected(f"Qdrant refused the key for {doing}: check QDRANT_API_KEY.", code="engine_key_refused")
    if status == 404:
        return EngineUnavailable(
            f"Qdrant lacks what {doing} needs ({said}). A dropped collection is made again at the next start; "
            "then run `biggraph repair`.",
            code="index_missing",
        )
    if 400 <= status < 500 and status not in TRANSIENT:
        return EngineRejected(f"Qdrant refused {doing} with status {status}: {said}")
    return EngineUnavailable(f"Qdrant failed in {doing} with status {status}: {said}")


def _message(error: UnexpectedResponse) -> str:
    """Qdrant answers `{"status": {"error": "..."}}`; a proxy before it may answer anything."""
    try:
        return str(json.loads(error.content)["status"]["error"])[:500]
    except (ValueError, KeyError, TypeError):
        return error.reason_phrase or "no reason given"


def confirmed(result: UpdateResult) -> None:
    """Raises `EngineUnavailable` unless the write is done: a server may stop waiting and say so with status 200."""
    if result.status is not UpdateStatus.COMPLETED:
        raise EngineUnavailable(f"Qdrant has not applied a write yet ({result.status}).", code="engine_late")
