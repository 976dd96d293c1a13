"""The operations that a process carries out, so that it can stop: take no more, finish or hand over what runs."""

import asyncio
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

import structlog

from app.core.ledger import RUN_TASK, run_arguments
from app.ingestion.runner import OperationRunner
from app.ports.parts import Parts

log = structlog.get_logger()

HAND_OVER_SECONDS = 20.0


class RunningOperations:
    """Lives on one event loop."""

    def __init__(self, parts: Parts) -> None:
        self._broker = parts.broker
        self._runner = OperationRunner(parts)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping = False

    async def run(self, tenant_id: UUID, operation_id: UUID) -> None:
        """Carries out what a message asks for. Once the process stops, sends the message on instead.

        So too where it was interrupted: perhaps it had claimed a lease, and given it back with a message of its own,
        perhaps it had not come so far. Whoever gets a message too many finds nothing to do. Raises `EngineUnavailable`
        where the broker is down: then the sweeper finds what waits.
        """
        if self._stopping or not await self._has_ended(self._runner.run(tenant_id, operation_id)):
            await self._broker.publish(RUN_TASK, run_arguments(tenant_id, operation_id))
            log.info("task_handed_back", operation_id=str(operation_id))

    async def _has_ended(self, work: Coroutine[Any, Any, None]) -> bool:
        """False where it was interrupted. Raises what it raises."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.wait({task})
        if task.cancelled():
            return False
        task.result()
        return True

    async def stop(self, finish_seconds: float = 0.0) -> None:
        """Waits so long for what runs, then interrupts it: each operation gives its lease back. May be called again."""
        self._stopping = True
        if self._tasks and finish_seconds:
            await asyncio.wait(set(self._tasks), timeout=finish_seconds)
        for task in set(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=HAND_OVER_SECONDS)
