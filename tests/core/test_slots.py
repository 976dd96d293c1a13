"""Slots: so many at once, shared fairly among tenants, and none of them ever lost."""

import asyncio

from app.core.ids import new_id
from app.core.slots import TenantSlots

ONE, OTHER = new_id(), new_id()


class Crowd:
    """Holders of slots, each until it is told to leave."""

    def __init__(self, slots: TenantSlots) -> None:
        self._slots = slots
        self._leaving: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.inside: list[str] = []

    async def come(self, name: str) -> None:
        """Its first letter tells its tenant."""
        self._leaving[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._hold(name))
        await settle()

    async def _hold(self, name: str) -> None:
        async with self._slots.slot(ONE if name[0] == "a" else OTHER):
            self.inside.append(name)
            try:
                await self._leaving[name].wait()
            finally:
                self.inside.remove(name)

    async def leave(self, name: str) -> None:
        self._leaving[name].set()
        await settle()

    def cancel(self, name: str) -> None:
        self._tasks[name].cancel()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_no_more_at_once_than_there_are_slots() -> None:
    crowd = Crowd(TenantSlots(2))
    for name in ("a1", "a2", "a3", "a4"):
        await crowd.come(name)
    assert crowd.inside == ["a1", "a2"]
    await crowd.leave("a2")
    assert crowd.inside == ["a1", "a3"]
    for name in ("a1", "a3", "a4"):
        await crowd.leave(name)
    for name in ("b1", "b2", "b3"):
        await crowd.come(name)
    assert crowd.inside == ["b1", "b2"]


async def test_a_free_slot_goes_to_the_tenant_who_has_fewest() -> None:
    crowd = Crowd(TenantSlots(2))
    for name in ("a1", "a2", "a3", "a4", "b1", "b2"):
        await crowd.come(name)
    await crowd.leave("a1")
    assert crowd.inside == ["a2", "b1"]
    await crowd.leave("a2")
    assert crowd.inside == ["b1", "a3"]


async def test_of_one_slot_each_tenant_has_its_turn() -> None:
    """However many another one asked for before."""
    crowd = Crowd(TenantSlots(1))
    for name in ("a1", "a2", "a3", "b1", "b2"):
        await crowd.come(name)
    order = []
    while crowd.inside:
        (name,) = crowd.inside
        order.append(name)
        await crowd.leave(name)
    assert order == ["a1", "b1", "a2", "b2", "a3"]


async def test_who_gives_up_waiting_takes_no_slot() -> None:
    crowd = Crowd(TenantSlots(1))
    for name in ("a1", "a2", "a3"):
        await crowd.come(name)
    crowd.cancel("a2")
    await settle()
    await crowd.leave("a1")
    assert crowd.inside == ["a3"]


async def test_who_gives_up_at_the_moment_of_being_given_a_slot_passes_it_on() -> None:
    crowd = Crowd(TenantSlots(1))
    for name in ("a1", "a2", "a3"):
        await crowd.come(name)
    crowd._leaving["a1"].set()
    while crowd.inside:  # noqa: ASYNC110 - no later than that
        await asyncio.sleep(0)
    crowd.cancel("a2")  # its slot is given, but it has not gone on yet
    await settle()
    assert crowd.inside == ["a3"]
