"""Limits to what is done at once in this process: of all, with the same fairness among tenants as `app.core.turns`, or
of each person."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from uuid import UUID

from app.core.errors import TooManyRequests


class TenantSlots:
    """Lives on one event loop.

    A free slot goes to the tenant who has fewest, of equals to the one who was given none for longest, and within a
    tenant to whoever came first: however many one asks for, another waits for one of them only.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._held: Counter[UUID] = Counter()
        self._given: dict[UUID, int] = {}
        """Number of the last slot of each tenant who holds one or waits for more."""
        self._numbers = itertools.count(1)
        self._waiting: list[tuple[UUID, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, tenant_id: UUID) -> AsyncIterator[None]:
        """Waits for a slot and holds it while the block runs."""
        await self._take(tenant_id)
        try:
            yield
        finally:
            self._give_back(tenant_id)

    async def _take(self, tenant_id: UUID) -> None:
        if self._free:
            self._free -= 1
            self._give(tenant_id)
            return
        waiting = tenant_id, asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            await waiting[1]
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                self._forget_absent(tenant_id)
            else:  # it was given a slot at the same moment
                self._give_back(tenant_id)
            raise

    def _give(self, tenant_id: UUID) -> None:
        self._held[tenant_id] += 1
        self._given[tenant_id] = next(self._numbers)

    def _give_back(self, tenant_id: UUID) -> None:
        self._held[tenant_id] -= 1
        if self._waiting:
            chosen = min(self._waiting, key=lambda waiting: (self._held[waiting[0]], self._given.get(waiting[0], 0)))
            self._waiting.remove(chosen)
            self._give(chosen[0])
            chosen[1].set_result(None)
        else:
            self._free += 1
        self._forget_absent(tenant_id)

    def _forget_absent(self, tenant_id: UUID) -> None:
        if not self._held[tenant_id] and all(tenant_id != waiting[0] for waiting in self._waiting):
            del self._held[tenant_id]
            self._given.pop(tenant_id, None)


class Places:
    """So many of one thing for each person at once; nobody waits for one. Lives on one event loop.

    `things` is what they are in the plural, a word that may stand in a code.
    """

    def __init__(self, each: int, things: str) -> None:
        self._each = each
        self._things = things
        self._taken: Counter[UUID] = Counter()

    @contextmanager
    def place(self, person_id: UUID) -> Iterator[None]:
        """Taken while the block runs. Raises `TooManyRequests` where the person has all of theirs."""
        if self._taken[person_id] >= self._each:
            raise TooManyRequests(
                f"You have {self._each} {self._things} open already. Close one, then try again.",
                code=f"too_many_{self._things}",
            )
        self._taken[person_id] += 1
        try:
            yield
        finally:
            self._taken[person_id] -= 1
            if not self._taken[person_id]:
                del self._taken[person_id]
