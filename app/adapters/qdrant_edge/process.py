"""The application's end of the engine's process. Blocking; calls must come from one thread at a time."""

import os
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import app
from app.core.errors import EngineUnavailable

DONE: Final = "done"
FAILED: Final = "failed"
DAMAGED: Final = "damaged"
IN_USE: Final = "in_use"

RESTART_SECONDS = 5.0
"""At least this long after a start that led to nothing, so that searches over a broken index fail at once."""

CLOSE_SECONDS = 30.0


class EngineProcess:
    """Starts the engine when it is needed, and again after it has died."""

    def __init__(self, folder: Path, dimensions: int, lock_seconds: float) -> None:
        self._folder = folder
        self._arguments = [str(folder), str(dimensions), str(lock_seconds)]
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._failure: EngineUnavailable | None = None
        """Of a start that was of no use: the engine did not open the folder, or died before it answered anything."""
        self._answered = False
        self._started = 0.0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Returns when the folder is open; raises `EngineUnavailable` with what to do when it can't be."""
        if self._pipe is not None:
            return
        self._started = time.monotonic()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "app.adapters.qdrant_edge.engine", str(theirs.fileno()), *self._arguments],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": _import_path()},
            )
        self._pipe = Connection(ours.detach())
        self._failure = None
        self._answered = False
        outcome, detail = self._received()
        if outcome != DONE:
            self._failure = self._explained(outcome, detail)
            self.stop()
            raise self._failure

    def call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401 - what the method returns
        """The result of the `Shard` method. `EngineUnavailable` if it failed or the process died in it."""
        if self._pipe is None:
            if self._failure and time.monotonic() - self._started < RESTART_SECONDS:
                raise self._failure
            self.start()
        assert self._pipe is not None  # noqa: S101 - `start` sets it or raises
        try:
            self._pipe.send((method, arguments))
        except ConnectionError as error:
            raise self._died() from error
        outcome, value = self._received()
        if outcome != DONE:
            raise self._explained(outcome, value)
        self._answered = True
        return value

    def stop(self) -> None:
        """Closes the pipe, on which the engine flushes and ends."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is not None:
            try:
                self._process.wait(CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()  # nothing is lost: what was acknowledged is in the log
                self._process.wait()
            self._process = None

    def _received(self) -> tuple[str, Any]:
        assert self._pipe is not None  # noqa: S101 - callers have just used it
        try:
            outcome, value = self._pipe.recv()
        except (EOFError, ConnectionError) as error:
            raise self._died() from error
        return outcome, value

    def _died(self) -> EngineUnavailable:
        self.stop()
        error = EngineUnavailable(
            f"The vector engine over {self._folder} died; it is started again. If this goes on, {self._remedy()}"
        )
        self._failure = None if self._answered else error
        return error

    def _explained(self, outcome: str, detail: str | None) -> EngineUnavailable:
        if outcome == IN_USE:
            return EngineUnavailable(
                f"The vector index in {self._folder} is open in another process. Stop that process, or use another "
                "data directory: an embedded index has one process.",
                code="index_in_use",
            )
        if outcome == DAMAGED:
            return EngineUnavailable(
                f"The vector index in {self._folder} can't be opened ({detail}). To mend it, {self._remedy()}",
                code="index_damaged",
                retry_after=None,
            )
        return EngineUnavailable(f"The vector engine over {self._folder} failed: {detail}")

    def _remedy(self) -> str:
        return f"stop the application, delete {self._folder}, start it, and run `biggraph repair`, which rebuilds it."


def _import_path() -> str:
    """Where the child finds this very package, installed or not."""
    root = str(Path(app.__file__).resolve().parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    return root + (os.pathsep + inherited if inherited else "")
