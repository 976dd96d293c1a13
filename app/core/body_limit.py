"""Request bodies that are too large, or that never end, are refused before they fill memory, disk or connections."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.errors import BigGraphError, TooLarge, TooSlow
from app.core.problems import problem_response

MULTIPART_OVERHEAD = 1024**2
MAX_TEXT_BYTES = 32 * 1024**2
"""Of a document that is sent as JSON."""
MAX_BODY_BYTES = 1024**2
"""Of all else. The framework reads such a body, and makes objects of it, before anybody is asked who they are."""
GRACE_SECONDS = 60.0
LEAST_BYTES_PER_SECOND = 8 * 1024
"""A body may take the grace, and beyond it as long as this rate allows for what has arrived."""
LINGER_SECONDS, PAUSE_SECONDS = 30.0, 1.0
"""How long the rest of a body is taken after the answer, and for how long it may pause."""


class BodyLimitMiddleware:
    """On paths that `uploads` matches, multipart bodies may hold one file of `max_file_bytes`, others
    `MAX_TEXT_BYTES`; on all other paths `MAX_BODY_BYTES` is the limit, whatever a body says that it is."""

    def __init__(
        self, app: ASGIApp, max_file_bytes: int, uploads: re.Pattern[str], grace_seconds: float = GRACE_SECONDS
    ) -> None:
        self._app = app
        self._max_file_bytes = max_file_bytes
        self._uploads = uploads
        self._grace_seconds = grace_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit(scope)
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared[:20]) > limit:
            await problem_response(Request(scope), _too_large(limit))(scope, receive, _lingering(receive, send))
            return
        is_empty = declared in ("", "0") and "transfer-encoding" not in headers
        body = _Body(receive, send, limit, self._grace_seconds, whole=is_empty)
        await self._app(scope, body.receive, body.send)
        if body.refusal is not None and not body.answered:
            await problem_response(Request(scope), body.refusal)(scope, receive, _lingering(receive, send))

    def _limit(self, scope: Scope) -> int:
        if not self._uploads.fullmatch(scope["path"]):
            return MAX_BODY_BYTES
        multipart = Headers(scope=scope).get("content-type", "").startswith("multipart/")
        return self._max_file_bytes + MULTIPART_OVERHEAD if multipart else MAX_TEXT_BYTES


class _Body:
    """One request's body on its way in. What the application answers to one that was refused is not sent: it may not
    know why it could not read on."""

    def __init__(self, receive: Receive, send: Send, limit: int, grace_seconds: float, *, whole: bool) -> None:
        self._receive = receive
        self._send = send
        self._limit = limit
        self._received = 0
        self._whole = whole
        self._began = asyncio.get_running_loop().time()
        self._grace_seconds = grace_seconds
        self.refusal: BigGraphError | None = None
        self.answered = False

    async def receive(self) -> Message:
        if self._whole or self.answered:  # what follows is the end of the connection, which has all the time it wants
            return await self._receive()
        with self._refusing():
            deadline = self._began + self._grace_seconds + self._received / LEAST_BYTES_PER_SECOND
            try:
                async with asyncio.timeout_at(deadline):
                    message = await self._receive()
            except TimeoutError as error:
                raise TooSlow("The body of the request did not arrive in time. Send it again.") from error
            self._received += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._received > self._limit:
                raise _too_large(self._limit)
        return message

    async def send(self, message: Message) -> None:
        if self.refusal is None or self.answered:
            if not self.answered and not self._whole:
                self._send = _lingering(self._receive, self._send)
            self.answered = True
            await self._send(message)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except (TooLarge, TooSlow) as refusal:
            self.refusal = refusal
            raise


def _lingering(receive: Receive, send: Send) -> Send:
    """For an answer that comes before the body has been read.

    The rest is taken and thrown away for a while: a caller that writes before it reads would lose the answer if the
    connection just ended. Then it is closed, however much is still to come.
    """

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send({**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]})
            return
        await send({**message, "more_body": True})
        if not message.get("more_body", False):
            await _discard(receive)
            await send({"type": "http.response.body", "body": b""})

    return answer


async def _discard(receive: Receive) -> None:
    """Takes what is left of a body until it ends or pauses, at most for `LINGER_SECONDS`."""
    loop = asyncio.get_running_loop()
    end, more = loop.time() + LINGER_SECONDS, True
    with suppress(TimeoutError):
        while more:
            async with asyncio.timeout_at(min(end, loop.time() + PAUSE_SECONDS)):
                more = (await receive()).get("more_body", False)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The request is larger than the {limit // 1024**2} MB that this one may have. "
        "Split it; for files the operator may set a higher BIGGRAPH_MAX_UPLOAD_BYTES.",
        max_bytes=limit,
    )
