"""Request bodies that are too large are refused while they arrive, before they fill memory or disk."""

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.errors import TooLarge
from app.core.problems import problem_response

MULTIPART_OVERHEAD = 1024**2
MAX_JSON_BYTES = 32 * 1024**2


class BodyLimitMiddleware:
    """Multipart bodies may hold one file of `max_file_bytes`; all others `MAX_JSON_BYTES`."""

    def __init__(self, app: ASGIApp, max_file_bytes: int) -> None:
        self._app = app
        self._max_file_bytes = max_file_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        multipart = headers.get(b"content-type", b"").startswith(b"multipart/")
        limit = self._max_file_bytes + MULTIPART_OVERHEAD if multipart else MAX_JSON_BYTES
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > limit:
            await problem_response(Request(scope), _too_large(limit))(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _too_large(limit)
            return message

        await self._app(scope, counted, send)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The upload is larger than the {limit // 1024**2} MB that one request may have. "
        "Split it, or ask for a higher BIGGRAPH_MAX_UPLOAD_BYTES.",
        max_bytes=limit,
    )
