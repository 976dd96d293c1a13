"""Leases: one holder at a time, taken over when they run out, and a late holder commits nothing."""

import asyncio
from uuid import UUID

import pytest
from sqlalchemy import select

from app.core.errors import Cancelled, Conflict, LeaseLost, NotFound
from app.core.ids import new_id
from app.core.ledger import INTERRUPTED, NUDGE_AFTER, UPKEEP_ATTEMPTS, WORKER_LOST, Lease
from app.core.scope import Role, TenantScope
from app.models import Operation, OperationKind, OperationState
from tests.core.conftest import Desk

EXPIRED = 31.0


async def claimed(desk: Desk, operation_id: UUID, holder: str = "worker") -> Lease:
    lease = await desk.ledger.claim(desk.scope.tenant_id, operation_id, holder)
    assert lease is not None
    return lease


async def lose(desk: Desk, operation_id: UUID) -> None:
    """The worker dies, and somebody notices."""
    await desk.pass_time(operation_id, EXPIRED)
    await desk.ledger.sweep()
    await desk.pass_time(operation_id, 600)  # the wait before another try


async def failed(
    desk: Desk, lease: Lease, *, may_retry: bool, code: str = "engine_unavailable"
) -> OperationState | None:
    async with desk.database.write(desk.scope) as session:
        return await desk.ledger.fail(session, lease, code=code, detail="It failed.", may_retry=may_retry)


async def test_of_many_claims_at_once_one_gets_the_lease(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    claims = await asyncio.gather(
        *(desk.ledger.claim(desk.scope.tenant_id, operation_id, f"worker {number}") for number in range(12))
    )
    assert sum(lease is not None for lease in claims) == 1
    assert (await desk.operation(operation_id)).attempts == 1


async def test_a_claim_under_another_tenant_finds_nothing(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    assert await desk.ledger.claim(new_id(), operation_id, "worker") is None
    async with desk.database.write(TenantScope(new_id(), new_id(), Role.OWNER)) as session:
        with pytest.raises(NotFound):
            await desk.ledger.cancel(session, operation_id)


async def test_an_expired_lease_is_taken_over_with_a_higher_number(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    first = await claimed(desk, operation_id, "first")
    assert await desk.ledger.claim(desk.scope.tenant_id, operation_id, "second") is None
    await desk.pass_time(operation_id, EXPIRED)
    second = await claimed(desk, operation_id, "second")
    assert second.fencing > first.fencing
    assert second.attempt == 2


async def test_a_renewed_lease_is_not_taken_over(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    lease = await claimed(desk, operation_id)
    await desk.pass_time(operation_id, EXPIRED)
    await desk.ledger.heartbeat(lease)
    assert await desk.ledger.claim(desk.scope.tenant_id, operation_id, "second") is None
    assert await desk.ledger.sweep() == 0


@pytest.mark.parametrize("taken_by", ["another worker", "the queue"])
async def test_a_late_worker_commits_nothing(desk: Desk, taken_by: str) -> None:
    operation_id = await desk.enqueue()
    late = await claimed(desk, operation_id, "late")
    await desk.enter(late, "parse")
    await desk.pass_time(operation_id, EXPIRED)
    if taken_by == "another worker":
        await claimed(desk, operation_id, "second")
    else:
        await desk.ledger.sweep()
    before = await desk.operation(operation_id)

    async def write_and_succeed() -> None:
        async with desk.database.write(desk.scope) as session:
            desk.ledger.enqueue(session, desk.scope, OperationKind.PURGE)
            await session.flush()
            await desk.ledger.succeed(session, late, {})

    with pytest.raises(LeaseLost):
        await desk.ledger.heartbeat(late)
    with pytest.raises(LeaseLost):
        await desk.enter(late, "chunk")
    with pytest.raises(LeaseLost):
        await write_and_succeed()
    assert await failed(desk, late, may_retry=True) is None
    await desk.ledger.release(late)

    after = await desk.operation(operation_id)
    assert (after.state, after.attempts, after.fencing) == (before.state, before.attempts, before.fencing)
    assert len(await desk.stages(operation_id)) == 1
    async with desk.database.read(desk.scope) as session:
        assert list(await session.scalars(select(Operation.id))) == [operation_id]


async def test_the_stage_of_a_lost_worker_says_so(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    await desk.enter(await claimed(desk, operation_id), "embed")
    await lose(desk, operation_id)
    second = await claimed(desk, operation_id)
    assert second.stage == "embed"
    (stage,) = await desk.stages(operation_id)
    assert stage.error_code == WORKER_LOST
    assert stage.finished_at is not None


async def test_an_operation_that_loses_every_worker_is_given_up(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    for attempt in (1, 2, 3):
        lease = await claimed(desk, operation_id)
        assert (lease.attempt, lease.exhausted) == (attempt, False)
        await lose(desk, operation_id)
    lease = await claimed(desk, operation_id)
    assert lease.exhausted
    assert await failed(desk, lease, may_retry=False, code=WORKER_LOST) is OperationState.FAILED
    operation = await desk.operation(operation_id)
    assert (operation.error_code, operation.attempts) == (WORKER_LOST, 3)


async def test_the_first_loss_is_made_good_at_once_and_the_second_after_a_while(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    await claimed(desk, operation_id)
    await desk.pass_time(operation_id, EXPIRED)
    await desk.ledger.sweep()
    await claimed(desk, operation_id)
    await desk.pass_time(operation_id, EXPIRED)
    await desk.ledger.sweep()
    assert (await desk.operation(operation_id)).state is OperationState.QUEUED
    assert await desk.ledger.claim(desk.scope.tenant_id, operation_id, "third") is None


async def test_a_failed_attempt_waits_and_the_last_one_fails_for_good(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    for _ in range(2):
        assert await failed(desk, await claimed(desk, operation_id), may_retry=True) is OperationState.QUEUED
        assert await desk.ledger.claim(desk.scope.tenant_id, operation_id, "early") is None
        await desk.pass_time(operation_id, 600)
    assert await failed(desk, await claimed(desk, operation_id), may_retry=True) is OperationState.FAILED


async def test_what_may_not_be_retried_fails_at_the_first_attempt(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    assert await failed(desk, await claimed(desk, operation_id), may_retry=False) is OperationState.FAILED


async def test_upkeep_is_hardly_ever_given_up(desk: Desk) -> None:
    operation_id = await desk.enqueue(OperationKind.PURGE)
    assert (await claimed(desk, operation_id)).max_attempts == UPKEEP_ATTEMPTS


async def test_cancelling_what_is_queued_ends_it_at_once(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    async with desk.database.write(desk.scope) as session:
        await desk.ledger.cancel(session, operation_id)
    assert (await desk.operation(operation_id)).state is OperationState.CANCELLED
    assert await desk.ledger.claim(desk.scope.tenant_id, operation_id, "worker") is None
    with pytest.raises(Conflict):
        async with desk.database.write(desk.scope) as session:
            await desk.ledger.cancel(session, operation_id)


async def test_cancelling_what_runs_is_heard_at_the_next_step(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    lease = await claimed(desk, operation_id)
    async with desk.database.write(desk.scope) as session:
        await desk.ledger.cancel(session, operation_id)
    with pytest.raises(Cancelled):
        await desk.ledger.heartbeat(lease)
    with pytest.raises(Cancelled):
        async with desk.database.write(desk.scope) as session:
            await desk.ledger.succeed(session, lease, {})
    # Whatever else went wrong meanwhile: nobody wants it to be tried again.
    assert await failed(desk, lease, may_retry=True) is OperationState.CANCELLED


async def test_a_retry_goes_on_at_the_stage_that_failed(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    lease = await claimed(desk, operation_id)
    await desk.enter(lease, "parse")
    await desk.enter(lease, "embed")
    await failed(desk, lease, may_retry=False)
    async with desk.database.write(desk.scope) as session:
        await desk.ledger.retry(session, operation_id)
    again = await claimed(desk, operation_id)
    assert (again.stage, again.attempt) == ("embed", 1)
    with pytest.raises(Conflict):
        async with desk.database.write(desk.scope) as session:
            await desk.ledger.retry(session, operation_id)


async def test_a_released_operation_is_free_at_once_and_has_lost_no_attempt(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    lease = await claimed(desk, operation_id)
    await desk.enter(lease, "embed")
    await desk.lose_messages()
    await desk.ledger.release(lease)
    assert await desk.published() == 1
    with pytest.raises(LeaseLost):
        await desk.ledger.heartbeat(lease)
    again = await claimed(desk, operation_id)
    assert (again.stage, again.attempt) == ("embed", 1)
    assert [stage.error_code for stage in await desk.stages(operation_id)] == [INTERRUPTED]


async def test_what_the_broker_lost_is_published_again(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    await desk.lose_messages()
    assert await desk.ledger.sweep() == 0  # it may still be on its way
    await desk.pass_time(operation_id, NUDGE_AFTER.total_seconds() + 1)
    assert await desk.ledger.sweep() == 1
    assert await desk.published() == 1
    assert await desk.ledger.sweep() == 0


async def test_many_that_wait_do_not_hide_one_that_lost_its_worker(desk: Desk) -> None:
    lost = await desk.enqueue()
    await claimed(desk, lost)
    for operation_id in [await desk.enqueue() for _ in range(4)]:
        await desk.pass_time(operation_id, 3600)
    await desk.pass_time(lost, EXPIRED)
    await desk.ledger.sweep(limit=2)
    assert (await desk.operation(lost)).state is OperationState.QUEUED


async def test_sweepers_at_once_wake_once(desk: Desk) -> None:
    operation_ids = [await desk.enqueue() for _ in range(5)]
    await desk.lose_messages()
    for operation_id in operation_ids:
        await desk.pass_time(operation_id, 60)
    assert sum(await asyncio.gather(*(desk.ledger.sweep() for _ in range(4)))) == 5
    assert await desk.published() == 5


async def test_the_only_worker_recovers_at_its_start_without_waiting_for_leases(desk: Desk) -> None:
    running, queued, waiting = [await desk.enqueue() for _ in range(3)]
    await claimed(desk, running)
    await failed(desk, await claimed(desk, waiting), may_retry=True)
    await desk.lose_messages()
    await desk.ledger.recover()
    assert await desk.ledger.sweep() == 2
    assert {(await desk.operation(one)).state for one in (running, queued, waiting)} == {OperationState.QUEUED}
    assert await desk.ledger.claim(desk.scope.tenant_id, waiting, "worker") is None  # its delay holds
    assert await desk.ledger.claim(desk.scope.tenant_id, running, "worker") is not None


async def test_what_waits_in_a_long_queue_is_not_published_again(desk: Desk) -> None:
    operation_id = await desk.enqueue()
    await desk.pass_time(operation_id, NUDGE_AFTER.total_seconds() + 1)
    assert await desk.ledger.sweep() == 0
    assert await desk.published() == 1
