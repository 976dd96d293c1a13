"""Whether a genuine token still opens the door: the person is still a member, not disabled, and not logged out.

Postgres is asked, and what it said is remembered for a few seconds in this process. A change made through this process
is seen at once, one made through another within `MAX_AGE_SECONDS`.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from uuid import UUID

from app.core.database import Database, WriteSession
from app.core.errors import NotAuthenticated
from app.core.scope import Role, TenantScope
from app.identity import repository
from app.identity.tokens import Principal

MAX_AGE_SECONDS = 5.0
MAX_ENTRIES = 10_000
Admit = Callable[[], Awaitable[object]]
"""Asks once more whether a caller's login still lives. Raises `NotAuthenticated`; `Unavailable` without Postgres."""


class Admission:
    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._known: OrderedDict[Principal, tuple[float, Role]] = OrderedDict()
        self._changes = 0

    async def scope(self, principal: Principal) -> TenantScope:
        """The scope, with the role of this moment. Raises `NotAuthenticated`; `Unavailable` without Postgres."""
        found = self._known.get(principal)
        if found is not None and self._clock() - found[0] < MAX_AGE_SECONDS:
            return _scope(principal, found[1])
        asked_at, changes = self._clock(), self._changes
        async with self._database.read(_scope(principal, Role.VIEWER)) as session:
            role = await repository.admitted_role(session, principal)
        if role is None:
            self._known.pop(principal, None)
            raise NotAuthenticated("This login has ended. Log in again.", code="login_ended")
        if changes == self._changes:  # else the answer may be older than a change that was made meanwhile
            self._remember(principal, asked_at, role)
        return _scope(principal, role)

    def _remember(self, principal: Principal, asked_at: float, role: Role) -> None:
        self._known[principal] = (asked_at, role)
        self._known.move_to_end(principal)
        while len(self._known) > MAX_ENTRIES:
            self._known.popitem(last=False)

    def forget_after_commit(self, session: WriteSession, user_id: UUID) -> None:
        """For a transaction that changes a person's role, membership or logins."""

        async def forget() -> None:
            self.forget(user_id)

        session.after_commit(forget)

    def forget(self, user_id: UUID) -> None:
        self._changes += 1
        for principal in [known for known in self._known if known.user_id == user_id]:
            del self._known[principal]


def _scope(principal: Principal, role: Role) -> TenantScope:
    return TenantScope(principal.tenant_id, principal.user_id, role)
