"""What one worker process keeps: an event loop in a thread, with engines opened on it once, and the sweeper."""

import asyncio
import threading
from contextlib import AsyncExitStack
from uuid import UUID

import structlog
from uvicorn.loops.auto import auto_loop_factory

from app.core.errors import BigGraphError
from app.core.settings import Settings
from app.runtime import open_parts
from workers.running import RunningOperations
from workers.sweeper import sweeping

log = structlog.get_logger()


class WorkerRuntime:
    """Started after the fork. Tasks run in Celery's threads or processes and submit coroutines here."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stack = AsyncExitStack()
        self._running: RunningOperations | None = None

    def start(self) -> None:
        self._loop = auto_loop_factory()()
        self._thread = threading.Thread(target=self._loop.run_forever, name="event-loop", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()

    async def _open(self) -> None:
        parts = await self._stack.enter_async_context(open_parts(self._settings))
        await self._stack.enter_async_context(sweeping(parts))
        self._running = RunningOperations(parts)
        self._stack.push_async_callback(self._running.stop)

    def run(self, tenant_id: UUID, operation_id: UUID) -> None:
        """Raises nothing that is expected: the ledger has it, and the sweeper brings the operation back."""
        if self._loop is None or self._running is None:
            raise RuntimeError("the worker's event loop is not running")
        try:
            asyncio.run_coroutine_threadsafe(self._running.run(tenant_id, operation_id), self._loop).result()
        except BigGraphError as error:
            log.warning("task_abandoned", code=error.error_code, detail=error.detail)

    def drain(self) -> None:
        """Returns at once. What runs may finish for `BIGGRAPH_DRAIN_SECONDS`; then it is handed to other workers."""
        if self._loop is not None and self._running is not None:
            asyncio.run_coroutine_threadsafe(self._running.stop(self._settings.drain_seconds), self._loop)

    def stop(self) -> None:
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._stack.aclose(), self._loop).result(timeout=30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
