"""A TCP relay in front of a server, that a test can cut: the server stays, its clients lose it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Relay:
    """Listens on a free port of the loopback and passes bytes on, unless `down`."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.down = False

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """Breaks all connections and refuses new ones."""
        self.down = True
        for writer in list(self._writers):
            writer.transport.abort()

    def mend(self) -> None:
        self.down = False

    async def stop(self) -> None:
        self.cut()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.down:
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))
        self._writers -= {writer, back}


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        writer.transport.abort()
    finally:
        writer.close()


@asynccontextmanager
async def relay(host: str, port: int) -> AsyncIterator[Relay]:
    made = Relay(host, port)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()
