"""Whose turn it is, when a worker has a hand free.

A message says that an operation waits, and names it. If workers took what is named, a tenant who uploads a thousand
files would keep everybody else waiting behind them. So a worker takes from the tenant who has the fewest operations
running, whatever its message named: a message was sent for each operation that waits, so each is taken in the end.
Within a tenant they go by `turn_at`, so that small files do not wait behind large ones that were uploaded just before.
An operation that takes long asks now and then whether one that comes before it waits for its worker, and gives way.
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
# `first` is the first of each. What another worker is just taking is locked, and passed over. Tenants are put in order
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
        order by turn_at, id limit 1 for update skip locked
    ) as first
    limit 1
    """
)
# What has waited for less than a second may have a worker already that is just taking it. What has a message that is
# not published yet waits for the sweeper, not for a worker: it would be taken by the message of whoever gives way, who
# would then have none.
_OTHERS_WAIT = text(
    _TENANTS  # noqa: S608 - nothing but constants
    + """,
    unpublished as materialized (
        select arguments ->> 'operation_id' as operation_id from outbox where state = 'pending' and due_at <= now()
    )
    select exists (
        select from waiting
        cross join lateral (
            select turn_at from operations
            where state = 'queued' and tenant_id = waiting.tenant_id and due_at <= now() - interval '1 second'
                and not exists (select from unpublished where operation_id = operations.id::text)
            order by turn_at, id limit 1
        ) as due
        left join running on running.tenant_id = waiting.tenant_id
        where case waiting.tenant_id
            when :tenant_id then due.turn_at < (select turn_at from operations where id = :operation_id)
            else coalesce(running.number, 0) < (select number from running where tenant_id = :tenant_id)
        end
    )
    """
)


class Turn(NamedTuple):
    tenant_id: UUID
    operation_id: UUID


async def next_turn(session: WriteSession) -> Turn | None:
    """The first due operation of the tenant who has least running, locked for the transaction. None: nothing waits.

    Lots decide between equals: whoever's message came first would be whoever has sent the most, and where there is one
    worker, all are equals whenever it is free. The session is one of the system role.
    """
    row = (await session.execute(_NEXT)).one_or_none()
    return None if row is None else Turn(row.tenant_id, row.id)


async def others_wait(database: Database, turn: Turn) -> bool:
    """Whether an operation that comes before the given one, which runs, waits for a worker.

    It is one of a tenant who has less running, or one of the same tenant with an earlier `turn_at`.
    """
    async with database.system() as session:
        return bool(await session.scalar(_OTHERS_WAIT, turn._asdict()))
