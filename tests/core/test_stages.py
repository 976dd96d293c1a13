"""Stages are recorded with the results that they belong to, and while they last."""

import asyncio
from datetime import UTC, datetime

import pytest

from app.core import stages
from app.core.errors import Cancelled, EngineUnavailable, LeaseLost
from app.core.ledger import Lease
from app.core.stages import StageLog
from tests.core.conftest import Desk

SPANS = {"parse": (0, 20), "embed": (20, 80), "activate": (80, 100)}


@pytest.fixture
async def lease(desk: Desk) -> Lease:
    lease = await desk.ledger.claim(desk.scope.tenant_id, await desk.enqueue(), "worker")
    assert lease is not None
    return lease


def log_of(desk: Desk, lease: Lease) -> StageLog:
    return StageLog(desk.database, desk.ledger, lease, SPANS)


async def test_a_transaction_that_moves_on_records_all_that_has_passed(desk: Desk, lease: Lease) -> None:
    log = log_of(desk, lease)
    log.enter("parse")
    log.progress(7, 7)
    assert await desk.stages(lease.operation_id) == []
    async with log.moving("embed"):
        pass
    parse, embed = await desk.stages(lease.operation_id)
    assert (parse.stage, parse.done, parse.total) == ("parse", 7, 7)
    assert parse.finished_at is not None
    assert parse.started_at <= parse.finished_at <= embed.started_at
    assert (embed.stage, embed.finished_at) == ("embed", None)
    operation = await desk.operation(lease.operation_id)
    assert (operation.stage, operation.percent) == ("embed", 20)


async def test_a_transaction_that_fails_leaves_the_stage_where_it_was(desk: Desk, lease: Lease) -> None:
    log = log_of(desk, lease)

    async def fail_to_move_on() -> None:
        log.enter("parse")
        log.progress(1, 2)
        async with log.moving("embed"):
            raise EngineUnavailable("The index does not answer.")

    with pytest.raises(EngineUnavailable):
        await log.recorded(fail_to_move_on())
    (parse,) = await desk.stages(lease.operation_id)
    assert (parse.stage, parse.done, parse.finished_at) == ("parse", 1, None)
    operation = await desk.operation(lease.operation_id)
    assert (operation.stage, operation.percent) == ("parse", 10), "a retry begins here"


async def test_a_long_stage_shows_how_far_it_is(desk: Desk, lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "RECORD_SECONDS", 0.01)
    log = log_of(desk, lease)

    async def embed() -> None:
        log.enter("embed")
        log.progress(3, 6)
        while (operation := await desk.operation(lease.operation_id)).percent != 50:  # noqa: ASYNC110 - another task writes it
            await asyncio.sleep(0.01)
        assert operation.stage == "embed"

    async with asyncio.timeout(30):
        await log.recorded(embed())
    assert [stage.done for stage in await desk.stages(lease.operation_id)] == [3]


async def test_a_silent_stage_keeps_its_lease(desk: Desk, lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "RECORD_SECONDS", 0.01)

    async def think() -> None:
        for _ in range(2):  # the first time the recorder has a stage to write, the second time nothing
            await desk.pass_time(lease.operation_id, 60)
            while (await desk.operation(lease.operation_id)).due_at < datetime.now(UTC):  # noqa: ASYNC110 - another task writes it
                await asyncio.sleep(0.01)

    log = log_of(desk, lease)
    log.enter("parse")
    async with asyncio.timeout(30):
        await log.recorded(think())
    assert [stage.stage for stage in await desk.stages(lease.operation_id)] == ["parse"]


@pytest.mark.parametrize("reason", [Cancelled, LeaseLost])
async def test_work_that_is_no_longer_wanted_is_interrupted(
    desk: Desk, lease: Lease, monkeypatch: pytest.MonkeyPatch, reason: type[Exception]
) -> None:
    monkeypatch.setattr(stages, "RECORD_SECONDS", 0.01)
    if reason is Cancelled:
        async with desk.database.write(desk.scope) as session:
            await desk.ledger.cancel(session, lease.operation_id)
    else:
        await desk.pass_time(lease.operation_id, 60)
        await desk.ledger.sweep()
    ended: list[str] = []

    async def work_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("interrupted")

    with pytest.raises(reason):
        async with asyncio.timeout(30):
            await log_of(desk, lease).recorded(work_for_ever())
    assert ended == ["interrupted"]


async def test_the_last_stage_ends_with_the_whole(desk: Desk, lease: Lease) -> None:
    log = log_of(desk, lease)
    log.enter("activate")
    async with log.moving(None) as session:
        await desk.ledger.succeed(session, lease, {"chunks": 3})
    (activate,) = await desk.stages(lease.operation_id)
    assert activate.finished_at is not None
    operation = await desk.operation(lease.operation_id)
    assert (operation.stage, operation.percent, operation.counts) == (None, 100, {"chunks": 3})
