"""A limit to what is done at once in this process, with the same fairness among tenants as `app.core.turns`."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID


class TenantSlots:
    """Lives on one event loop. A free slot goes to the tenant who has fewest, of equals to whoever came first."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._held: Counter[UUID] = Counter()
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
            self._held[tenant_id] += 1
            return
        waiting = tenant_id, asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            await waiting[1]
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            else:  # it was given a slot at the same moment
                self._give_back(tenant_id)
            raise

    def _give_back(self, tenant_id: UUID) -> None:
        self._held[tenant_id] -= 1
        if not self._waiting:
            self._free += 1
            return
        chosen = min(self._waiting, key=lambda waiting: self._held[waiting[0]])
        self._waiting.remove(chosen)
        self._held[chosen[0]] += 1
        chosen[1].set_result(None)
