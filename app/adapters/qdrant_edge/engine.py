"""The engine's process: `python -m app.adapters.qdrant_edge.engine SOCKET FOLDER DIMENSIONS LOCK_SECONDS`.

Answers calls of `Shard` methods one after another over an inherited socket, as pickled pairs: `(method, arguments)` in,
`(outcome, value)` out, the first of which tells how opening went. Ends when the other end closes, which the operating
system does for a killed application too.
"""

import fcntl
import signal
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

from app.adapters.qdrant_edge.process import DAMAGED, DONE, FAILED, IN_USE
from app.adapters.qdrant_edge.shard import Shard, ShardFailed

IDLE_SECONDS = 2.0


def main() -> None:
    # Ctrl-C reaches the whole process group; the application decides when the engine ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe, folder, dimensions = Connection(int(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3])
    lock = _locked(folder, float(sys.argv[4]))
    if lock is None:
        pipe.send((IN_USE, None))
        return
    try:
        shard = Shard(folder, dimensions)
    except ShardFailed as error:
        pipe.send((DAMAGED, str(error)))
        return
    pipe.send((DONE, None))
    try:
        _serve(pipe, shard)
    finally:
        shard.close()
        lock.close()


def _serve(pipe: Connection, shard: Shard) -> None:
    untidy = True
    while True:
        if untidy and not pipe.poll(IDLE_SECONDS):
            shard.tidy()
            untidy = False
        try:
            method, arguments = pipe.recv()
        except (EOFError, ConnectionError):
            return
        untidy = True
        pipe.send(_outcome(shard, method, arguments))


def _outcome(shard: Shard, method: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        return DONE, getattr(shard, method)(*arguments)
    except ShardFailed as error:
        return FAILED, str(error)


def _locked(folder: Path, seconds: float) -> IO[bytes] | None:
    """The folder's lock, held until it is closed or the process ends; None if another process keeps it."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / "lock").open("wb")
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                lock.close()
                return None
            time.sleep(0.05)
        else:
            return lock


if __name__ == "__main__":
    main()
