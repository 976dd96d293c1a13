"""What a transaction asks for is published after it commits, at least once, and never if it does not."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from app.core.database import Database
from app.core.outbox import Outbox
from app.models import OutboxMessage, OutboxState
from tests.core.conftest import Desk, without_broker

TASK = "tests.task"


class Undone(Exception):
    pass


def ask(desk: Desk, outbox: Outbox) -> "asyncio.Future[None]":
    async def write() -> None:
        async with desk.database.write(desk.scope) as session:
            outbox.add(session, desk.scope.tenant_id, TASK, {"id": "1"})

    return asyncio.ensure_future(write())


async def test_published_after_the_commit_only(desk: Desk) -> None:
    async with desk.database.write(desk.scope) as session:
        desk.outbox.add(session, desk.scope.tenant_id, TASK, {"id": "1"})
        await session.flush()
        assert await desk.published() == 0
    assert await desk.published() == 1
    assert await desk.pending() == 0
    assert await desk.outbox.sweep() == 0


async def test_nothing_is_published_when_it_is_rolled_back(desk: Desk) -> None:
    async def ask_and_fail() -> None:
        async with desk.database.write(desk.scope) as session:
            desk.outbox.add(session, desk.scope.tenant_id, TASK, {"id": "1"})
            await session.flush()
            raise Undone

    with pytest.raises(Undone):
        await ask_and_fail()
    assert await desk.outbox.sweep() == 0
    assert (await desk.published(), await desk.messages()) == (0, [])


async def test_without_a_broker_it_is_accepted_and_published_by_a_later_sweep(desk: Desk, tmp_path: Path) -> None:
    lonely = without_broker(desk, tmp_path)
    await ask(desk, lonely)
    assert await lonely.sweep() == 0
    assert (await desk.published(), await desk.pending()) == (0, 1)
    assert await desk.outbox.sweep() == 1
    assert (await desk.published(), await desk.pending()) == (1, 0)


async def test_losing_the_database_after_the_commit_is_no_failure_of_what_was_committed(
    desk: Desk, tmp_path: Path
) -> None:
    elsewhere = Database(f"postgresql+asyncpg://nobody@/nowhere?host={tmp_path}")
    await ask(desk, Outbox(elsewhere, desk.engines.broker))
    await elsewhere.close()
    assert (await desk.published(), await desk.pending()) == (1, 1)  # told twice rather than never
    assert await desk.outbox.sweep() == 1


async def test_a_delayed_message_waits_until_it_is_due(desk: Desk) -> None:
    async with desk.database.write(desk.scope) as session:
        desk.outbox.add(session, desk.scope.tenant_id, TASK, {}, delay=timedelta(hours=1))
    assert await desk.outbox.sweep() == 0
    async with desk.database.system() as session:
        await session.execute(update(OutboxMessage).values(due_at=OutboxMessage.due_at - timedelta(hours=2)))
    assert await desk.outbox.sweep() == 1


async def test_sweepers_at_once_publish_each_message_once(desk: Desk, tmp_path: Path) -> None:
    lonely = without_broker(desk, tmp_path)
    await asyncio.gather(*(ask(desk, lonely) for _ in range(5)))
    for _ in range(6):
        await ask(desk, lonely)
    counts = await asyncio.gather(*(desk.outbox.sweep() for _ in range(4)))
    assert sum(counts) == 11
    assert await desk.published() == 11


async def test_a_row_that_another_transaction_holds_is_skipped_and_found_later(desk: Desk, tmp_path: Path) -> None:
    lonely = without_broker(desk, tmp_path)
    await ask(desk, lonely)
    await ask(desk, lonely)
    first = (await desk.messages())[0]
    async with desk.database.system() as session:
        await session.execute(select(OutboxMessage).where(OutboxMessage.id == first.id).with_for_update())
        assert await desk.outbox.sweep() == 1
    assert await desk.outbox.sweep() == 1
    assert await desk.published() == 2


async def test_a_row_that_commits_after_younger_ones_were_swept_is_found(desk: Desk, tmp_path: Path) -> None:
    """Ids and times are given before the commit: whoever reads on from the last one seen would lose this row."""
    lonely = without_broker(desk, tmp_path)
    async with desk.database.write(desk.scope) as slow:
        lonely.add(slow, desk.scope.tenant_id, TASK, {"id": "slow"})
        await slow.flush()
        await ask(desk, lonely)
        assert await desk.outbox.sweep() == 1
    assert await desk.outbox.sweep() == 1
    assert [message.state for message in await desk.messages()] == [OutboxState.PUBLISHED] * 2


async def test_old_published_rows_are_dropped_and_pending_ones_kept(desk: Desk, tmp_path: Path) -> None:
    await ask(desk, desk.outbox)
    await ask(desk, without_broker(desk, tmp_path))
    async with desk.database.system() as session:
        long_ago = OutboxMessage.created_at - timedelta(days=3)
        await session.execute(update(OutboxMessage).values(due_at=long_ago, created_at=long_ago))
        await session.execute(
            update(OutboxMessage).where(OutboxMessage.state == OutboxState.PUBLISHED).values(published_at=long_ago)
        )
    assert await desk.outbox.sweep() == 1
    assert len(await desk.messages()) == 1
