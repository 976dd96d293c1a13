"""Publishes what was left behind: outbox rows whose process died, leases that ran out, messages that a broker lost.
Removes what has had its time: published rows, and the keys of uploads that were answered.

It runs in every worker process (and in the one process of the embedded shape). Several at once do no harm: rows are
claimed with `SKIP LOCKED`.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from app.core.errors import BigGraphError
from app.documents.accepting import forget_keys
from app.ports.parts import Parts

log = structlog.get_logger()


@asynccontextmanager
async def sweeping(parts: Parts) -> AsyncIterator[None]:
    """Sweeps at once and then every `BIGGRAPH_SWEEP_SECONDS` while the block runs."""
    task = asyncio.create_task(_sweep_forever(parts))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _sweep_forever(parts: Parts) -> None:
    while True:
        try:
            left = await parts.ledger.sweep()
            published = await parts.outbox.sweep()
            forgotten = await forget_keys(parts.database)
            if left or published or forgotten:
                log.info("swept", left_behind=left, published=published, forgotten_keys=forgotten)
        except BigGraphError as error:
            log.warning("sweep_failed", code=error.error_code, detail=error.detail)
        except Exception as error:  # nobody would start another sweeper
            log.error("sweep_crashed", exc_info=error)
        await asyncio.sleep(parts.settings.sweep_seconds)
