"""Transactional outbox: work that a transaction asks for is a row of that transaction, published after it commits.

What was not published, because the process died or the broker was down, is published by the sweeper. Delivery is at
least once; whoever receives must not mind a repeat (the ledger's leases see to that).
"""

from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID

import structlog
from sqlalchemy import delete, func, select, update

from app.core.database import Database, WriteSession
from app.core.errors import EngineUnavailable, Unavailable
from app.core.ids import new_id
from app.models.outbox import OutboxMessage, OutboxState

log = structlog.get_logger()

KEEP_PUBLISHED = timedelta(hours=24)


class Broker(Protocol):
    """Hands a task to the workers. Raises `EngineUnavailable` at once when it can't."""

    async def publish(self, task: str, arguments: dict[str, Any]) -> None: ...

    async def waiting(self) -> int:
        """Messages that no worker has taken yet."""


class Outbox:
    def __init__(self, database: Database, broker: Broker) -> None:
        self._database = database
        self._broker = broker

    def add(
        self,
        session: WriteSession,
        tenant_id: UUID,
        task: str,
        arguments: dict[str, Any],
        *,
        delay: timedelta | None = None,
    ) -> None:
        """Adds a message to the transaction; without a delay it is published as soon as that has committed."""
        message = OutboxMessage(id=new_id(), tenant_id=tenant_id, task=task, arguments=arguments)
        if delay is not None:
            message.due_at = func.now() + delay
        session.add(message)
        if delay is None:
            session.after_commit(lambda: self._publish_now(message.id, task, arguments))

    async def is_drained(self) -> bool:
        """Whether workers have taken all that was published. False where the broker does not say."""
        try:
            return await self._broker.waiting() == 0
        except EngineUnavailable:
            return False

    async def _publish_now(self, message_id: UUID, task: str, arguments: dict[str, Any]) -> None:
        """Never fails: the transaction has committed, and what is not done here the sweeper does."""
        try:
            await self._broker.publish(task, arguments)
            async with self._database.system() as session:
                await session.execute(
                    update(OutboxMessage)
                    .where(OutboxMessage.id == message_id)
                    .values(state=OutboxState.PUBLISHED, published_at=func.now())
                )
        except Unavailable as error:
            log.warning("outbox_publish_deferred", task=task, reason=error.detail)

    async def sweep(self, limit: int = 200) -> int:
        """Publishes what is due and still pending, drops what was published long ago. The number published.

        Rows are claimed by state under `SKIP LOCKED`, never by a growing id: ids commit out of order, and a row that
        is skipped because its transaction is slow must still be found by the next sweep.
        """
        published = 0
        async with self._database.system() as session:
            messages = await session.scalars(
                select(OutboxMessage)
                .where(OutboxMessage.state == OutboxState.PENDING, OutboxMessage.due_at <= func.now())
                .order_by(OutboxMessage.due_at)
                .limit(limit)
                .with_for_update(skip_locked=True)
            )
            for message in messages:
                try:
                    await self._broker.publish(message.task, message.arguments)
                except EngineUnavailable as error:
                    log.warning("outbox_sweep_deferred", task=message.task, reason=error.detail)
                    break
                message.state = OutboxState.PUBLISHED
                message.published_at = func.now()
                published += 1
            await session.execute(
                delete(OutboxMessage).where(
                    OutboxMessage.state == OutboxState.PUBLISHED,
                    OutboxMessage.published_at < func.now() - KEEP_PUBLISHED,
                )
            )
        return published
