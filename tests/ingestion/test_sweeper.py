"""The sweeper goes on whatever happens: retries, lost workers and lost messages all wait for it."""

import asyncio
from dataclasses import replace

from tests.ingestion.bench import Bench
from workers.sweeper import sweeping


async def test_a_sweep_that_breaks_is_not_the_last(bench: Bench) -> None:
    swept = asyncio.Event()

    async def breaks() -> None:
        raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")

    async def done() -> None:
        swept.set()

    worker = bench.interposed("ledger", "sweep", before=breaks).interposed("outbox", "sweep", after=done)
    settings = worker.parts.settings.model_copy(update={"sweep_seconds": 0.01})
    async with sweeping(replace(worker.parts, settings=settings)):
        await asyncio.wait_for(swept.wait(), 20)
