"""A line to a server that a test can cut. The server goes on for everybody else; whoever uses the line loses it."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tests.peers.tcp import Relay

DEFAULT_PORTS = {"postgresql": 5432, "redis": 6379, "http": 80, "https": 443}


class Line:
    """A relay that runs in a thread of its own, for tests without an event loop. `url` is the server's, through it."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._relay = Relay(where.hostname or "127.0.0.1", where.port or DEFAULT_PORTS[where.scheme])
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"line to {where.scheme}", daemon=True)
        self._thread.start()
        self._do(self._relay.start())
        credentials, at, _ = where.netloc.rpartition("@")
        self.url = urlunsplit(where._replace(netloc=f"{credentials}{at}127.0.0.1:{self._relay.port}"))

    @contextmanager
    def cut(self) -> Iterator[None]:
        """While the block runs, connections are broken and new ones refused."""

        async def cut() -> None:
            self._relay.cut()

        async def mend() -> None:
            self._relay.mend()

        self._do(cut())
        try:
            yield
        finally:
            self._do(mend())

    def close(self) -> None:
        async def stop() -> None:
            await self._relay.stop()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self._do(stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)
