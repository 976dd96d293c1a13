"""A limit to what is done at once in this process, with the same fairness among tenants as `app.core.turns`."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID


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
