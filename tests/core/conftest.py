"""The ledger and the outbox on a real database and a real broker, with nobody who works."""

import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from redis.asyncio import Redis
from sqlalchemy import delete, func, select, update

from app.adapters.celery.broker import QUEUE, CeleryBroker, create_celery
from app.adapters.embedded.postgres import EmbeddedPostgres
from app.adapters.embedded.valkey import EmbeddedValkey
from app.core.database import Database
from app.core.ids import new_id
from app.core.ledger import Lease, Ledger
from app.core.outbox import Outbox
from app.core.schema import migrate
from app.core.scope import Role, TenantScope
from app.core.settings import Settings
from app.core.stages import StageLog
from app.models import Operation, OperationKind, OperationStage, OutboxMessage, OutboxState, Tenant


@dataclass(frozen=True)
class Engines:
    database: Database
    database_url: str
    broker: CeleryBroker
    redis: Redis


@pytest.fixture(scope="session")
async def engines() -> AsyncIterator[Engines]:
    with tempfile.TemporaryDirectory(prefix="bg-") as folder:
        postgres, valkey = EmbeddedPostgres(Path(folder) / "postgres"), EmbeddedValkey(Path(folder) / "valkey")
        await postgres.start()
        await valkey.start()
        urls = await postgres.database("ledger")
        await migrate(urls.owner, urls.application)
        url = Settings(_env_file=None).sqlalchemy_url(urls.application)
        database, broker = Database(url), CeleryBroker(create_celery(valkey.celery_url))
        redis = Redis.from_url(valkey.url)
        try:
            yield Engines(database, url, broker, redis)
        finally:
            await redis.aclose()
            await broker.close()
            await database.close()
            await valkey.stop()
            await postgres.stop()


@dataclass(frozen=True)
class Desk:
    """A tenant's view of an empty ledger, and of what it says to the broker."""

    engines: Engines
    outbox: Outbox
    ledger: Ledger
    scope: TenantScope

    @property
    def database(self) -> Database:
        return self.engines.database

    async def enqueue(self, kind: OperationKind = OperationKind.INGEST, *, size_bytes: int = 0) -> UUID:
        async with self.database.write(self.scope) as session:
            operation = self.ledger.enqueue(
                session, self.scope, kind, document_id=new_id(), generation=1, size_bytes=size_bytes
            )
        return operation.id

    async def enter(self, lease: Lease, stage: str) -> None:
        """As a worker that begins a stage."""
        async with StageLog(self.database, self.ledger, lease, {stage: (0, 100)}).moving(stage):
            pass

    async def operation(self, operation_id: UUID) -> Operation:
        async with self.database.read(self.scope) as session:
            return await session.get_one(Operation, operation_id)

    async def stages(self, operation_id: UUID) -> list[OperationStage]:
        async with self.database.read(self.scope) as session:
            return list(
                await session.scalars(
                    select(OperationStage)
                    .where(OperationStage.operation_id == operation_id)
                    .order_by(OperationStage.id)
                )
            )

    async def pass_time(self, operation_id: UUID, seconds: float) -> None:
        """As if this long had passed for the operation: leases run out without anybody waiting."""
        async with self.database.system() as session:
            await session.execute(
                update(Operation)
                .where(Operation.id == operation_id)
                .values(due_at=Operation.due_at - timedelta(seconds=seconds))
            )

    async def age(self, operation_id: UUID, by: timedelta) -> None:
        """As if it had been asked for so much earlier."""
        async with self.database.system() as session:
            await session.execute(
                update(Operation).where(Operation.id == operation_id).values(turn_at=Operation.turn_at - by)
            )

    async def messages(self) -> list[OutboxMessage]:
        async with self.database.system() as session:
            return list(await session.scalars(select(OutboxMessage).order_by(OutboxMessage.id)))

    async def pending(self) -> int:
        async with self.database.system() as session:
            query = select(func.count()).where(OutboxMessage.state == OutboxState.PENDING)
            return int(await session.scalar(query.select_from(OutboxMessage)) or 0)

    async def published(self) -> int:
        """Messages that wait in the broker."""
        return int(await self.engines.redis.llen(QUEUE))

    async def lose_messages(self) -> None:
        await self.engines.redis.flushall()


def without_broker(desk: Desk, tmp_path: Path) -> Outbox:
    """An outbox whose broker does not run."""
    return Outbox(desk.database, CeleryBroker(create_celery(f"redis+socket://{tmp_path / 'nobody.sock'}")))


@pytest.fixture
async def desk(engines: Engines) -> Desk:
    async with engines.database.system() as session:
        for table in (OutboxMessage, OperationStage, Operation):
            await session.execute(delete(table))
    await engines.redis.flushall()
    outbox = Outbox(engines.database, engines.broker)
    ledger = Ledger(engines.database, outbox, lease_seconds=30, max_attempts=3)
    scope = TenantScope(new_id(), new_id(), Role.OWNER)
    async with engines.database.write(scope) as session:
        session.add(Tenant(id=scope.tenant_id, name="Desk"))
    return Desk(engines, outbox, ledger, scope)
