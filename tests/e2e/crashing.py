"""`biggraph up`, but it dies when it is told to: `python -m tests.e2e.crashing FOLDER`.

While FOLDER/hold exists no operation begins, so that several are under way at once. When an ingestion reaches the point
that FOLDER/point names, the process sends itself a SIGKILL: nothing is closed, flushed or said to anybody.
"""

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from app.cli import main
from app.ingestion import checkpoints
from app.ingestion.runner import OperationRunner


def die_when_told(file: Path) -> None:
    def listener(reached: str) -> None:
        with suppress(FileNotFoundError):
            if file.read_text() == reached:
                os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.listeners.append(listener)


def begin_when_gone(file: Path) -> None:
    run = OperationRunner.run

    async def wait_and_run(runner: OperationRunner, tenant_id: UUID, operation_id: UUID) -> None:
        await asyncio.to_thread(_wait_while, file)
        await run(runner, tenant_id, operation_id)

    setattr(OperationRunner, "run", wait_and_run)  # noqa: B010 - mypy knows no other way to replace a method


def _wait_while(file: Path) -> None:
    while file.exists():
        time.sleep(0.02)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    die_when_told(folder / "point")
    begin_when_gone(folder / "hold")
    sys.argv = ["biggraph", "up"]
    main()
