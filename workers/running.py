"""The operations that a process carries out, so that it can stop: take no more, finish or hand over what runs."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from app.ingestion.runner import OperationRunner
from app.ports.parts import Parts

log = structlog.get_logger()

Work = Callable[[OperationRunner], Coroutine[Any, Any, None]]

HAND_OVER_SECONDS = 20.0


class RunningOperations:
    """Lives on one event loop."""

    def __init__(self, parts: Parts) -> None:
        self._runner = OperationRunner(parts)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping = False

    async def run(self, work: Work) -> None:
        """Does nothing once the process stops: the operation is still queued in Postgres."""
        if self._stopping:
            log.info("task_declined")
            return
        task = asyncio.create_task(work(self._runner))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # Interrupted is not failed: whoever waits here learns only that it is over.
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()

    async def stop(self, finish_seconds: float = 0.0) -> None:
        """Waits so long for what runs, then interrupts it: each operation gives its lease back. May be called again."""
        self._stopping = True
        if self._tasks and finish_seconds:
            await asyncio.wait(set(self._tasks), timeout=finish_seconds)
        for task in set(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=HAND_OVER_SECONDS)
