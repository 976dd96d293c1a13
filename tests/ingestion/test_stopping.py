"""A worker that stops keeps no message to itself: another one is woken at once, not when somebody misses it."""

import asyncio

import pytest

from app.models import OperationState
from tests.ingestion.bench import Bench, prose
from workers.running import RunningOperations


async def waiting(bench: Bench) -> int:
    """Messages in the broker, from which nobody takes any here."""
    return await bench.parts.broker.waiting()


async def queued(bench: Bench) -> list[OperationState]:
    return [operation.state for operation in await bench.operations(OperationState.QUEUED)]


async def test_what_comes_after_the_stop_is_handed_back(bench: Bench) -> None:
    operation = (await bench.upload(prose("fox"))).operation
    assert operation is not None
    running = RunningOperations(bench.parts)
    await running.stop()
    before = await waiting(bench)
    await running.run(bench.scope.tenant_id, operation.id)
    assert await waiting(bench) == before + 1
    assert await queued(bench) == [OperationState.QUEUED]
    await bench.work()
    assert await queued(bench) == []


@pytest.mark.parametrize(("engine", "method"), [("ledger", "claim_turn"), ("embedder", "embed_passages")])
async def test_what_is_interrupted_is_handed_back_whether_it_had_begun_or_not(
    bench: Bench, engine: str, method: str
) -> None:
    operation = (await bench.upload(prose("fox"))).operation
    assert operation is not None
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    running = RunningOperations(bench.interposed(engine, method, before=hang).parts)
    run = asyncio.create_task(running.run(bench.scope.tenant_id, operation.id))
    await reached.wait()
    before = await waiting(bench)
    await running.stop()
    await run
    assert await waiting(bench) > before
    assert await queued(bench) == [OperationState.QUEUED]
    assert (await bench.operation(operation.id)).attempts == 0


async def test_what_ends_by_itself_is_not_handed_back(bench: Bench) -> None:
    operation = (await bench.upload(prose("fox"))).operation
    assert operation is not None
    before = await waiting(bench)
    await RunningOperations(bench.parts).run(bench.scope.tenant_id, operation.id)
    assert await waiting(bench) == before
