"""Whose turn it is, when a worker has a hand free.

A message says that an operation waits, and names it. If workers took what is named, a tenant who uploads a thousand
files would keep everybody else waiting behind them. So a worker takes from the tenant who has the fewest operations
running, whatever its message named: a message was sent for each operation that waits, so each is taken in the end.
An operation that takes long asks now and then whether somebody waits for its worker, and gives way.
"""

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import text

from app.core.database import Database, WriteSession

# A long queue is not read: this goes from tenant to tenant through the index.
_TENANTS = """
    with recursive waiting(tenant_id) as (
        (select tenant_id from operations where state = 'queued' order by tenant_id limit 1)
        union all
        select (
            select tenant_id from operations
            where state = 'queued' and tenant_id > waiting.tenant_id order by tenant_id limit 1
        )
        from waiting where tenant_id is not null
    ),
    running as (
        select tenant_id, count(*) as number from operations
        where state = 'running' and due_at > now() group by tenant_id
    )
"""
# `first` is the oldest of each. What another worker is just taking is locked, and passed over. Tenants are put in order
# before anything of theirs is locked, and the first row ends it: a worker that locked a row of each would let another
# one find nothing and give up its message, and what that was sent for would wait for the sweeper.
_NEXT = text(
    _TENANTS  # noqa: S608 - nothing but constants
    + """
    select first.tenant_id, first.id
    from (
        select waiting.tenant_id
        from waiting
        left join running on running.tenant_id = waiting.tenant_id
        where waiting.tenant_id is not null
        order by coalesce(running.number, 0), random()
    ) as tenant
    cross join lateral (
        select tenant_id, id from operations
        where state = 'queued' and tenant_id = tenant.tenant_id and due_at <= now()
        order by due_at limit 1 for update skip locked
    ) as first
    limit 1
    """
)
# What has waited for less than a second may have a worker already that is just taking it.
_OTHERS_WAIT = text(
    _TENANTS  # noqa: S608 - nothing but constants
    + """
    select exists (
        select from waiting
        cross join lateral (
            select from operations
            where state = 'queued' and tenant_id = waiting.tenant_id and due_at <= now() - interval '1 second' limit 1
        ) as due
        left join running on running.tenant_id = waiting.tenant_id
        where coalesce(running.number, 0) < (select number from running where tenant_id = :tenant_id)
    )
    """
)


class Turn(NamedTuple):
    tenant_id: UUID
    operation_id: UUID


async def next_turn(session: WriteSession) -> Turn | None:
    """The oldest due operation of the tenant who has least running, locked for the transaction. None: nothing waits.

    Lots decide between equals: whoever's message came first would be whoever has sent the most, and where there is one
    worker, all are equals whenever it is free. The session is one of the system role.
    """
    row = (await session.execute(_NEXT)).one_or_none()
    return None if row is None else Turn(row.tenant_id, row.id)


async def others_wait(database: Database, tenant_id: UUID) -> bool:
    """Whether a tenant who has less running than the given one waits, as no worker is free."""
    async with database.system() as session:
        return bool(await session.scalar(_OTHERS_WAIT, {"tenant_id": tenant_id}))
