"""Tenants take turns, however much one of them has queued."""

import asyncio
from uuid import UUID

from app.core.ids import new_id
from app.core.scope import Role, TenantScope
from app.core.turns import next_turn
from app.models import Operation, Tenant
from tests.core.conftest import Desk


async def neighbour(desk: Desk) -> Desk:
    """Another tenant at the same ledger."""
    scope = TenantScope(new_id(), new_id(), Role.OWNER)
    async with desk.database.write(scope) as session:
        session.add(Tenant(id=scope.tenant_id, name="Neighbour"))
    return Desk(desk.engines, desk.outbox, desk.ledger, scope)


async def work(desk: Desk) -> UUID | None:
    """What a worker would begin whose message is of the desk's tenant."""
    turn = await next_turn(desk.database, desk.scope.tenant_id)
    if turn is None:
        return None
    assert await desk.ledger.claim(*turn, "worker") is not None
    return turn.operation_id


async def test_with_one_tenant_the_oldest_comes_first(desk: Desk) -> None:
    queued = [await desk.enqueue() for _ in range(3)]
    assert [await work(desk) for _ in range(4)] == [*queued, None]


async def test_whoever_has_less_running_is_next(desk: Desk) -> None:
    other = await neighbour(desk)
    many = [await desk.enqueue() for _ in range(5)]
    few = [await other.enqueue() for _ in range(2)]
    assert [await work(desk) for _ in range(7)] == [many[0], few[0], many[1], few[1], *many[2:]]


async def test_what_is_not_due_and_what_lost_its_worker_takes_no_turn(desk: Desk) -> None:
    other = await neighbour(desk)
    late, lost = await desk.enqueue(), await desk.enqueue()
    await desk.pass_time(late, -600)
    assert await work(desk) == lost
    await desk.pass_time(lost, 600)
    waiting = await other.enqueue()
    assert await next_turn(desk.database, desk.scope.tenant_id) == (other.scope.tenant_id, waiting)
    await desk.pass_time(late, 600)
    assert await next_turn(desk.database, desk.scope.tenant_id) == (desk.scope.tenant_id, late)


async def test_two_workers_at_once_take_two_operations(desk: Desk) -> None:
    queued = {await desk.enqueue() for _ in range(2)}
    async with desk.database.system() as session:
        first = await next_turn(desk.database, desk.scope.tenant_id)
        assert first is not None
        await session.get(Operation, first.operation_id, with_for_update=True)
        second = await asyncio.wait_for(next_turn(desk.database, desk.scope.tenant_id), 10)
    assert second is not None
    assert {first.operation_id, second.operation_id} == queued
