"""What the server takes of a request before anybody knows whose it is, on real sockets."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from app.core import head_limit
from app.core.head_limit import MAX_HEAD_BYTES, HeadLimitProtocol
from tests.conftest import until

START = b"GET / HTTP/1.1\r\nhost: here\r\n"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the length of the body."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    body = str(size).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
async def port() -> AsyncIterator[int]:
    config = uvicorn.Config(echo, http=HeadLimitProtocol, port=0, lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())

    async def started() -> bool:
        return server.started

    await until(started)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await serving


async def answer(port: int, *pieces: bytes) -> bytes:
    """All that comes back; what can't be sent any more is not."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.02)  # so that it comes alone
        return await reader.read()
    except ConnectionError:
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize(
    "pieces",
    [
        [START] + [b"x-more: " + b"y" * 1000 + b"\r\n"] * (MAX_HEAD_BYTES // 1000 + 1),
        [START, b"x-long: "] + [b"y" * 8192] * (MAX_HEAD_BYTES // 8192 + 1),
        [b"GET /"] + [b"y" * 8192] * (MAX_HEAD_BYTES // 8192 + 1),
    ],
    ids=["many headers", "a long header", "a long address"],
)
async def test_a_head_that_is_too_long_is_refused_before_it_ends(port: int, pieces: list[bytes]) -> None:
    head, _, body = (await answer(port, *pieces)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 ")
    assert b"content-type: application/problem+json" in head
    assert json.loads(body)["code"] == "head_too_large"


@pytest.mark.parametrize("pieces", [[], [START]], ids=["nothing", "half of one"])
async def test_a_head_that_does_not_come_is_not_awaited(
    port: int, pieces: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_limit, "HEAD_SECONDS", 0.2)
    assert (await answer(port, *pieces)).startswith(b"HTTP/1.1 408 ")


async def test_bodies_and_further_requests_are_taken(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request has its own head: on one connection they may come to more."""
    monkeypatch.setattr(head_limit, "HEAD_SECONDS", 0.5)
    padding = b"x-pad: " + b"y" * (MAX_HEAD_BYTES // 2) + b"\r\n"
    body = b"z" * MAX_HEAD_BYTES
    post = b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: %d\r\n" % (2 * len(body)) + padding + b"\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(3):
        for piece in (post, body):
            writer.write(piece)
            await writer.drain()
        await asyncio.sleep(0.6)  # a body has more time
        writer.write(body)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        assert await reader.readexactly(6) == b"%d" % (2 * len(body))
    writer.close()
    await writer.wait_closed()
