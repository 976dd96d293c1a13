"""The fork server as its owner sees it: started at first use, again after a crash, one for each process."""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from app.core.errors import EngineUnavailable

_START = "import json, sys; sys.path[:] = json.loads(sys.argv[2]); from app.parsing.fork_server import main; main()"
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
_SECONDS_TO_END = 5


class ServerProcess:
    """May be used from any thread. A process forked from this one starts a server of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._owner = 0
        self._pdf_engine = "pymupdf"

    def start_job(self, job: socket.socket, leash: socket.socket) -> None:
        """Hands the far ends of a job's sockets to a new child. Raises `EngineUnavailable`."""
        with self._lock:
            for _ in range(2):
                control = self._running()
                try:
                    socket.send_fds(control, [b"j"], [job.fileno(), leash.fileno()])
                except (BrokenPipeError, ConnectionResetError):
                    self._forget()
                    continue
                return
        raise EngineUnavailable("The parser process does not start.")

    def start(self, pdf_engine: str) -> None:
        """Starts it ahead of the first document, which otherwise waits a second for it.

        `pdf_engine` is one of `registry.PDF_ENGINES`; a server that runs with another one is ended.
        """
        if pdf_engine != self._pdf_engine:
            self.stop()
        with self._lock:
            self._pdf_engine = pdf_engine
            self._running()

    def stop(self) -> None:
        """Ends it and all its children; a later job starts it again."""
        with self._lock:
            process = self._process if self._owner == os.getpid() else None
            self._forget()
        if process is None:
            return
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _running(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._owner == os.getpid():
            if self._process.poll() is None:
                return self._control
            self._forget()
        near, far = socket.socketpair()
        with far:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-c", _START, str(far.fileno()), json.dumps(_import_path()), self._pdf_engine],
                pass_fds=[far.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                cwd="/",
                start_new_session=True,
            )
        self._control, self._owner = near, os.getpid()
        return near

    def _forget(self) -> None:
        """Closing our end makes the server end, if it still runs."""
        if self._control is not None:
            self._control.close()
        self._control = None
        if self._process is not None and self._owner == os.getpid():
            self._process.poll()
        self._process = None


def _import_path() -> list[str]:
    """Where this process imports from, in absolute paths, with this package's home in any case."""
    home = str(Path(__file__).resolve().parents[2])
    paths = [str(Path(entry).absolute()) if entry else str(Path.cwd()) for entry in sys.path]
    return paths if home in paths else [*paths, home]


def _environment() -> dict[str, str]:
    """Neither secrets nor settings; one thread for numeric libraries, since the server forks."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {**kept, "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
