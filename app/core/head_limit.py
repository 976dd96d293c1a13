"""Heads of requests (the first line and the headers) that are too long, or never end, are refused before they fill
memory or connections. uvicorn itself keeps whatever comes, before anybody is asked who they are."""

import asyncio
import json
from asyncio import TimerHandle
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.core.errors import BigGraphError, TooSlow
from app.core.problems import MEDIA_TYPE

MAX_HEAD_BYTES = 64 * 1024
"""One read of the socket more is taken where the head ends in it, or begins in it after a body."""
HEAD_SECONDS = 60.0


class HeadTooLarge(BigGraphError):
    code = "head_too_large"
    status = 431


class HeadLimitProtocol(HttpToolsProtocol):
    """For uvicorn's `http` setting."""

    _bytes = 0
    _deadline: TimerHandle | None = None
    """Runs while a head is awaited."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deadline is not None:
            self._bytes += len(data)
        super().data_received(data)
        if self._deadline is not None and self._bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(HeadTooLarge(f"Address and headers may have {MAX_HEAD_BYTES // 1024} KB in all. Send less."))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def _await_head(self) -> None:
        if self._deadline is None:
            self._bytes = 0
            slow = TooSlow("The headers of the request did not arrive in time. Send it again.")
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._refuse, slow)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, error: BigGraphError) -> None:
        self._stop_waiting()
        status = HTTPStatus(error.status)
        problem = {"type": "about:blank", "title": status.phrase, "status": status.value, "code": error.error_code}
        body = json.dumps({**problem, "detail": error.detail, "request_id": ""}).encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        if self.cycle is None or self.cycle.response_complete:  # else it would stand inside of another answer
            self.transport.write(head.encode("ascii") + body)
        self.transport.close()
