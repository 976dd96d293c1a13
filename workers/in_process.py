"""The embedded shape's worker: Celery's own, in a thread of the application's process, on the application's loop."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import structlog

from app.adapters.celery.broker import create_celery
from app.core.errors import BigGraphError
from app.ingestion.runner import OperationRunner
from app.ports.parts import Parts
from workers.sweeper import sweeping
from workers.tasks import register_tasks

log = structlog.get_logger()

STOP_SECONDS = 20.0


@asynccontextmanager
async def worker_thread(parts: Parts) -> AsyncIterator[None]:
    """Runs operations while the block runs; at its end what is running is interrupted and goes on at the next start."""
    loop = asyncio.get_running_loop()
    runner = OperationRunner(parts)
    running: set[asyncio.Task[None]] = set()

    async def tracked(work: Callable[[OperationRunner], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.current_task()
        if task is not None:
            running.add(task)
            task.add_done_callback(running.discard)
        await work(runner)

    def run(work: Callable[[OperationRunner], Coroutine[Any, Any, None]]) -> None:
        try:
            asyncio.run_coroutine_threadsafe(tracked(work), loop).result()
        except BigGraphError as error:
            log.warning("task_abandoned", code=error.error_code, detail=error.detail)
        except (asyncio.CancelledError, RuntimeError):
            log.info("task_interrupted")

    celery = create_celery(parts.broker_url)
    register_tasks(celery, run)
    controller = celery.WorkController(
        pool_cls="threads",
        concurrency=parts.settings.worker_concurrency,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
    )
    thread = threading.Thread(target=controller.start, name="celery-worker", daemon=True)
    thread.start()
    try:
        async with sweeping(parts):
            yield
    finally:
        for task in list(running):
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=STOP_SECONDS)
        await asyncio.to_thread(controller.stop)
        await asyncio.to_thread(thread.join, 5.0)
