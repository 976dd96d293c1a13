"""`biggraph up`, but it dies: `python -m tests.e2e.crashing POINT FILE`.

No operation begins before FILE exists, so that several are under way. Then the process sends itself a SIGKILL the first
time that an ingestion reaches the point: nothing is closed, flushed or said to anybody.
"""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from uuid import UUID

from app.cli import main
from app.ingestion import checkpoints
from app.ingestion.runner import OperationRunner


def die_at(point: str) -> None:
    def listener(reached: str) -> None:
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.listeners.append(listener)


def begin_when_exists(file: Path) -> None:
    run = OperationRunner.run

    async def wait_and_run(runner: OperationRunner, tenant_id: UUID, operation_id: UUID) -> None:
        await asyncio.to_thread(_wait_for, file)
        await run(runner, tenant_id, operation_id)

    setattr(OperationRunner, "run", wait_and_run)  # noqa: B010 - mypy knows no other way to replace a method


def _wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(0.02)


if __name__ == "__main__":
    die_at(sys.argv[1])
    begin_when_exists(Path(sys.argv[2]))
    sys.argv = ["biggraph", "up"]
    main()
