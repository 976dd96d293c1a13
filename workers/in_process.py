"""The embedded shape's worker: Celery's own, in a thread of the application's process, on the application's loop."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import structlog

from app.adapters.celery.broker import create_celery
from app.core.errors import BigGraphError
from app.ports.parts import Parts
from workers.running import RunningOperations
from workers.sweeper import sweeping
from workers.tasks import register_tasks

log = structlog.get_logger()


@asynccontextmanager
async def worker_thread(parts: Parts) -> AsyncIterator[None]:
    """Runs operations while the block runs; at its end what is running is interrupted and goes on at the next start."""
    loop = asyncio.get_running_loop()
    running = RunningOperations(parts)

    def run(tenant_id: UUID, operation_id: UUID) -> None:
        try:
            asyncio.run_coroutine_threadsafe(running.run(tenant_id, operation_id), loop).result()
        except BigGraphError as error:
            log.warning("task_abandoned", code=error.error_code, detail=error.detail)

    if parts.settings.embedded:
        await parts.ledger.recover()

    celery = create_celery(parts.broker_url, parts.settings.index_prefix)
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
        # Both at once: the worker waits for what runs, and would else be sent again and again what is handed back.
        await asyncio.gather(running.stop(), asyncio.to_thread(controller.stop))
        await asyncio.to_thread(thread.join, 5.0)
