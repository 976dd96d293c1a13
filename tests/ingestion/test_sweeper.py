"""The sweeper goes on whatever happens: retries, lost workers and lost messages all wait for it."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from app.core.database import Database
from app.documents import accepting, repository
from app.models import IdempotencyKey
from tests.conftest import until
from tests.ingestion.bench import Bench
from workers.sweeper import sweeping


async def test_a_sweep_that_breaks_is_not_the_last(bench: Bench) -> None:
    swept = asyncio.Event()

    async def breaks() -> None:
        raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")

    async def done() -> None:
        swept.set()

    worker = bench.interposed("ledger", "sweep", before=breaks).interposed("outbox", "sweep", after=done)
    settings = worker.parts.settings.model_copy(update={"sweep_seconds": 0.01})
    async with sweeping(replace(worker.parts, settings=settings)):
        await asyncio.wait_for(swept.wait(), 20)


async def reserve(bench: Bench, key: str) -> bool:
    """Whether the key was free."""
    async with bench.parts.database.write(bench.scope) as session:
        return await repository.reserve_key(session, bench.scope, key, "asked") is None


async def grow_old(database: Database, key: str) -> None:
    async with database.system() as session:
        old = IdempotencyKey.created_at - repository.KEYS_KEPT - timedelta(minutes=1)
        await session.execute(update(IdempotencyKey).where(IdempotencyKey.key == key).values(created_at=old))


async def test_keys_of_uploads_are_forgotten_after_a_day(bench: Bench, neighbour: Bench) -> None:
    for of_tenant in (bench, neighbour):
        assert [await reserve(of_tenant, key) for key in ("old", "new", "old")] == [True, True, False]
    await grow_old(bench.parts.database, "old")

    async def kept(of_tenant: Bench) -> list[str]:
        async with of_tenant.parts.database.read(of_tenant.scope) as session:
            return list(await session.scalars(select(IdempotencyKey.key).order_by(IdempotencyKey.key)))

    async def only_new_ones() -> bool:
        return [await kept(bench), await kept(neighbour)] == [["new"], ["new"]]

    async with sweeping(bench.parts):
        await until(only_new_ones)


async def test_a_key_that_is_forgotten_while_it_is_looked_up_is_free(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await reserve(bench, "once")
    await grow_old(bench.parts.database, "once")
    async with bench.parts.database.write(bench.scope) as session:
        look_up: Any = session.get

        async def look_up_too_late(*asked: object) -> object:
            await accepting.forget_keys(bench.parts.database)
            return await look_up(*asked)

        monkeypatch.setattr(session, "get", look_up_too_late)
        assert await repository.reserve_key(session, bench.scope, "once", "asked again") is None
        assert await session.scalar(select(IdempotencyKey.fingerprint)) == "asked again"
