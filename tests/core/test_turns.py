"""Tenants take turns, however much one of them has queued."""

import asyncio
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from app.core.ids import new_id
from app.core.ledger import LONGEST_HANDICAP, Ledger
from app.core.scope import Role, TenantScope
from app.core.turns import Turn, next_turn, others_wait
from app.models import OperationKind, Tenant
from tests.core.conftest import Desk, without_broker


async def neighbour(desk: Desk) -> Desk:
    """Another tenant at the same ledger."""
    scope = TenantScope(new_id(), new_id(), Role.OWNER)
    async with desk.database.write(scope) as session:
        session.add(Tenant(id=scope.tenant_id, name="Neighbour"))
    return Desk(desk.engines, desk.outbox, desk.ledger, scope)


async def work(desk: Desk) -> UUID | None:
    """What a worker would begin."""
    lease = await desk.ledger.claim_turn("worker")
    return None if lease is None else lease.operation_id


async def look(desk: Desk) -> Turn | None:
    """Whose turn it is, which stays so."""
    async with desk.database.system() as session:
        return await next_turn(session)


async def test_with_one_tenant_the_oldest_comes_first(desk: Desk) -> None:
    queued = [await desk.enqueue() for _ in range(3)]
    assert [await work(desk) for _ in range(4)] == [*queued, None]


async def test_whoever_has_less_running_is_next(desk: Desk) -> None:
    other = await neighbour(desk)
    many = [await desk.enqueue() for _ in range(5)]
    few = [await other.enqueue() for _ in range(2)]
    begun = [await work(desk) for _ in range(7)]
    assert [set(begun[:2]), set(begun[2:4]), begun[4:]] == [{many[0], few[0]}, {many[1], few[1]}, many[2:]]


async def test_one_worker_does_not_go_through_one_tenants_queue_first(desk: Desk) -> None:
    other = await neighbour(desk)
    for _ in range(40):
        await desk.enqueue()
    waiting, done = await other.enqueue(), set[UUID | None]()
    while waiting not in done and len(done) < 39:
        operation_id = await work(desk)
        assert operation_id is not None
        await desk.pass_time(operation_id, 600)  # as one that has ended: nothing runs when the worker is free again
        done.add(operation_id)
    assert waiting in done


async def test_what_is_not_due_and_what_lost_its_worker_takes_no_turn(desk: Desk) -> None:
    other = await neighbour(desk)
    late, lost = await desk.enqueue(), await desk.enqueue()
    await desk.pass_time(late, -600)
    assert await work(desk) == lost
    await desk.pass_time(lost, 600)
    waiting = await other.enqueue()
    assert await look(desk) == (other.scope.tenant_id, waiting)
    assert await work(desk) == waiting
    await desk.pass_time(late, 600)
    assert await look(desk) == (desk.scope.tenant_id, late)


async def test_two_workers_at_once_take_two_operations(desk: Desk) -> None:
    queued = {await desk.enqueue() for _ in range(2)}
    async with desk.database.system() as session:
        first = await next_turn(session)
        second = await asyncio.wait_for(work(desk), 10)
    assert first is not None
    assert {first.operation_id, second} == queued


async def test_a_worker_that_looks_whose_turn_it_is_hides_no_other_tenants_operation(desk: Desk) -> None:
    """Each of two workers has a message, so each must find something to do, or an operation is left without one."""
    other = await neighbour(desk)
    queued = {await desk.enqueue(), await other.enqueue()}
    async with desk.database.system() as session:
        looked = await next_turn(session)
        begun = await asyncio.wait_for(work(desk), 10)
    assert looked is not None
    assert {looked.operation_id, begun} == queued


async def test_a_tenant_gives_way_to_those_who_have_less_running(desk: Desk) -> None:
    other = await neighbour(desk)
    running = Turn(desk.scope.tenant_id, await desk.enqueue())
    await desk.enqueue()
    await work(desk)
    assert not await others_wait(desk.database, running)  # what waits is its own
    waiting = await other.enqueue()
    assert not await others_wait(desk.database, running)  # a worker may be taking it
    await other.pass_time(waiting, 2)
    assert await others_wait(desk.database, running)
    assert not await others_wait(desk.database, Turn(other.scope.tenant_id, waiting))
    assert await work(desk) == waiting
    await other.pass_time(await other.enqueue(), 2)
    assert not await others_wait(desk.database, running)  # each has one running


LARGE = 100_000_000


async def test_small_files_go_before_large_ones_of_the_same_tenant(desk: Desk) -> None:
    large, small, tiny = [await desk.enqueue(size_bytes=size) for size in (LARGE, 200_000, 0)]
    upkeep = await desk.enqueue(OperationKind.PURGE)
    assert [await work(desk) for _ in range(4)] == [tiny, upkeep, small, large]


async def test_a_large_file_does_not_wait_for_small_ones_for_ever(desk: Desk) -> None:
    before, large = await desk.enqueue(), await desk.enqueue(size_bytes=LARGE)
    await desk.age(large, LONGEST_HANDICAP)
    after = await desk.enqueue()
    assert [await work(desk) for _ in range(3)] == [before, large, after]


async def test_a_large_file_gives_way_to_small_ones_of_its_tenant_until_it_has_waited(desk: Desk) -> None:
    running = Turn(desk.scope.tenant_id, await desk.enqueue(size_bytes=LARGE))
    await work(desk)
    await desk.pass_time(await desk.enqueue(size_bytes=2 * LARGE), 2)
    assert not await others_wait(desk.database, running)  # it is as large, and came later
    small = await desk.enqueue()
    assert not await others_wait(desk.database, running)  # a worker may be taking it
    await desk.pass_time(small, 2)
    assert await others_wait(desk.database, running)
    await desk.age(running.operation_id, LONGEST_HANDICAP)
    assert not await others_wait(desk.database, running)


async def test_what_is_given_back_keeps_its_turn_and_what_loses_its_worker_does_not(desk: Desk) -> None:
    first, second = await desk.enqueue(), await desk.enqueue()
    lease = await desk.ledger.claim(desk.scope.tenant_id, first, "worker")
    assert lease is not None
    await desk.ledger.release(lease)
    assert await work(desk) == first
    await desk.pass_time(first, 600)
    await desk.ledger.sweep()
    assert [await work(desk) for _ in range(2)] == [second, first]


async def test_nobody_gives_way_to_what_waits_for_the_sweeper(desk: Desk, tmp_path: Path) -> None:
    """Its message is still to be published: whoever gave way would take it by the message of its own operation."""
    broken = replace(
        desk, ledger=Ledger(desk.database, without_broker(desk, tmp_path), lease_seconds=30, max_attempts=3)
    )
    other = await neighbour(broken)
    running = Turn(desk.scope.tenant_id, await desk.enqueue())
    await work(desk)
    await other.pass_time(await other.enqueue(), 2)
    assert not await others_wait(desk.database, running)
    assert await desk.outbox.sweep() == 1
    assert await others_wait(desk.database, running)
