"""The job ledger: operations in Postgres, held by leases with fencing numbers.

The broker only wakes workers. Whether an operation runs, who runs it and whether its results count is decided here:

- `claim` gives a lease to one worker: to a queued operation that is due, or to a running one whose lease expired.
  `claim_turn` does so for the operation whose turn it is (`app.core.turns`).
- `Lease.fencing` grows with every claim. Everything a worker commits goes through `hold`, which locks the row and
  refuses a number that is no longer the highest, so a worker that was thought dead can't write after its successor.
- A worker renews its lease by `heartbeat`, and learns there that a person has cancelled.
- A worker that has to stop gives its lease back by `release`; one that died loses it, which `sweep` finds.

Whoever locks a document and an operation on it locks the document first, so that nobody waits in a circle.
"""

import random
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import structlog
from sqlalchemy import ColumnElement, func, select, update

from app.core.database import Database, WriteSession
from app.core.errors import Cancelled, Conflict, LeaseLost, NotFound
from app.core.ids import new_id
from app.core.outbox import Outbox
from app.core.scope import PrincipalKind, Role, TenantScope
from app.core.turns import next_turn
from app.models.operation import FENCING, Operation, OperationKind, OperationStage, OperationState

log = structlog.get_logger()

RUN_TASK = "operations.run"
RETRY_DELAYS = (timedelta(seconds=2), timedelta(seconds=15), timedelta(seconds=60), timedelta(minutes=5))
UPKEEP_ATTEMPTS = 50
"""Of purges and reindexings: nobody waits for them, and giving them up would leave the stores different."""
BYTES_A_SECOND = 10_000
"""About what one worker ingests of a text."""
LONGEST_HANDICAP = timedelta(minutes=30)
NUDGE_AFTER = timedelta(seconds=30)
"""A queued operation that nobody took for so long is published again once the queue is empty: its message is lost."""
_HELD = "held operation"
"""Where a session keeps the operation whose row its transaction has locked."""
WORKER_LOST = "worker_lost"
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to carry out one operation until it expires or is lost to a higher fencing number."""

    tenant_id: UUID
    operation_id: UUID
    kind: OperationKind
    knowledge_base_id: UUID | None
    document_id: UUID | None
    generation: int | None
    stage: str | None
    """Where the attempt before stopped; None at the first."""
    attempt: int
    max_attempts: int
    fencing: int

    @property
    def exhausted(self) -> bool:
        """True where every allowed attempt has ended with a lost worker: there is nothing to do but to say so."""
        return self.attempt > self.max_attempts

    @property
    def scope(self) -> TenantScope:
        """The operation's own scope: its tenant comes from its row."""
        return TenantScope(self.tenant_id, self.operation_id, Role.OWNER, PrincipalKind.JOB)


class Ledger:
    def __init__(self, database: Database, outbox: Outbox, *, lease_seconds: float, max_attempts: int) -> None:
        self._database = database
        self._outbox = outbox
        self._lease = timedelta(seconds=lease_seconds)
        self._max_attempts = max_attempts

    @property
    def heartbeat_seconds(self) -> float:
        """How often a lease must be renewed: three times before it would expire."""
        return self._lease.total_seconds() / 3

    # --- by whoever asks for work -------------------------------------------------------------------------------

    def enqueue(
        self,
        session: WriteSession,
        scope: TenantScope,
        kind: OperationKind,
        *,
        knowledge_base_id: UUID | None = None,
        document_id: UUID | None = None,
        generation: int | None = None,
        size_bytes: int = 0,
    ) -> Operation:
        """Adds an operation, and the message that wakes a worker for it, to the caller's transaction.

        `size_bytes` of the file that is ingested: it lets what the tenant asks for soon afterwards go first.
        """
        operation = Operation(
            id=new_id(),
            tenant_id=scope.tenant_id,
            kind=kind,
            state=OperationState.QUEUED,
            knowledge_base_id=knowledge_base_id,
            document_id=document_id,
            generation=generation,
            counts={},
            percent=0,
            attempts=0,
            fencing=0,
            max_attempts=self._max_attempts if kind is OperationKind.INGEST else UPKEEP_ATTEMPTS,
            turn_at=func.now() + _handicap(size_bytes),
        )
        session.add(operation)
        self._wake(session, operation)
        return operation

    def _wake(self, session: WriteSession, operation: Operation, delay: timedelta | None = None) -> None:
        arguments = run_arguments(operation.tenant_id, operation.id)
        self._outbox.add(session, operation.tenant_id, RUN_TASK, arguments, delay=delay)

    async def cancel(self, session: WriteSession, operation_id: UUID) -> Operation:
        """Cancels at once what is queued; asks what is running to stop at its next step."""
        operation = await self._locked(session, operation_id)
        if operation.state is OperationState.QUEUED:
            operation.state = OperationState.CANCELLED
            operation.cancel_requested_at = operation.finished_at = func.now()
            operation.error_code, operation.error_detail = "cancelled", "Cancelled before it started."
        elif operation.state is OperationState.RUNNING:
            operation.cancel_requested_at = func.now()
        else:
            raise Conflict(
                f"The operation is already {operation.state.value}: there is nothing to cancel.",
                code="operation_finished",
            )
        return operation

    async def retry(self, session: WriteSession, operation_id: UUID) -> Operation:
        """Queues a failed or cancelled operation again; it goes on at the stage where it stopped.

        How long what is left will take nobody knows: it has its turn as if it were short.
        """
        operation = await self._locked(session, operation_id)
        if operation.state not in (OperationState.FAILED, OperationState.CANCELLED):
            raise Conflict(
                f"The operation is {operation.state.value}: only a failed or cancelled one can be retried.",
                code="operation_not_retryable",
            )
        operation.state = OperationState.QUEUED
        operation.attempts = 0
        operation.due_at = operation.turn_at = func.now()
        operation.cancel_requested_at = operation.finished_at = None
        operation.error_code = operation.error_detail = None
        self._wake(session, operation)
        return operation

    @staticmethod
    async def _locked(session: WriteSession, operation_id: UUID) -> Operation:
        operation = await session.get(Operation, operation_id, with_for_update=True, populate_existing=True)
        if operation is None:
            raise NotFound("There is no such operation.", code="operation_not_found")
        return operation

    # --- by whoever works ---------------------------------------------------------------------------------------

    async def claim_turn(self, holder: str) -> Lease | None:
        """A lease for the operation whose turn it is, or None where nothing waits."""
        async with self._database.system() as session:
            turn = await next_turn(session)
            return None if turn is None else await self._claim(session, *turn, holder)

    async def claim(self, tenant_id: UUID, operation_id: UUID, holder: str) -> Lease | None:
        """A lease for the operation, or None where somebody holds it, it is finished, or it is not due yet."""
        async with self._database.system() as session:
            return await self._claim(session, tenant_id, operation_id, holder)

    async def _claim(self, session: WriteSession, tenant_id: UUID, operation_id: UUID, holder: str) -> Lease | None:
        operation = await session.scalar(
            select(Operation)
            .where(Operation.id == operation_id, Operation.tenant_id == tenant_id, _due())
            .with_for_update(skip_locked=True)
        )
        if operation is None:
            return None
        if operation.state is OperationState.RUNNING:
            await _record_loss(session, operation)
        operation.fencing = await session.scalar(select(FENCING.next_value())) or 0
        operation.state = OperationState.RUNNING
        operation.attempts += 1
        operation.lease_holder = holder
        operation.due_at = func.now() + self._lease
        operation.started_at = func.coalesce(Operation.started_at, func.now())
        return Lease(
            tenant_id=tenant_id,
            operation_id=operation.id,
            kind=operation.kind,
            knowledge_base_id=operation.knowledge_base_id,
            document_id=operation.document_id,
            generation=operation.generation,
            stage=operation.stage,
            attempt=operation.attempts,
            max_attempts=operation.max_attempts,
            fencing=operation.fencing,
        )

    async def heartbeat(self, lease: Lease) -> None:
        """Renews the lease. Raises `LeaseLost` or `Cancelled`."""
        async with self._database.write(lease.scope) as session:
            operation = await self.hold(session, lease)
            operation.due_at = func.now() + self._lease

    async def hold(self, session: WriteSession, lease: Lease) -> Operation:
        """Locks the operation's row for the caller's transaction. Raises `LeaseLost` or `Cancelled`.

        What a worker writes is written in a transaction that began by this call, or not at all.
        """
        held: Operation | None = session.info.get(_HELD)
        if held is not None and held.id == lease.operation_id:
            return held  # locked by this transaction already
        operation = await self._held(session, lease)
        if operation is None:
            raise LeaseLost(f"Operation {lease.operation_id} is held by another worker now, or has ended.")
        if operation.cancel_requested_at is not None:
            raise Cancelled("The operation was cancelled.")
        session.info[_HELD] = operation
        return operation

    @staticmethod
    async def _held(session: WriteSession, lease: Lease) -> Operation | None:
        """The locked row while the lease is the newest, cancelled or not."""
        held: Operation | None = await session.scalar(
            select(Operation)
            .where(
                Operation.id == lease.operation_id,
                Operation.state == OperationState.RUNNING,
                Operation.fencing == lease.fencing,
            )
            .with_for_update()
            .execution_options(populate_existing=True)
        )
        return held

    async def advance(self, session: WriteSession, lease: Lease, *, stage: str | None, percent: int) -> None:
        """Writes where the attempt is, and renews the lease."""
        operation = await self.hold(session, lease)
        operation.stage, operation.percent = stage, percent
        operation.due_at = func.now() + self._lease

    async def succeed(self, session: WriteSession, lease: Lease, counts: dict[str, int]) -> None:
        """Ends the operation well, in the caller's transaction: the one that makes its result visible."""
        operation = await self.hold(session, lease)
        operation.state, operation.percent, operation.stage = OperationState.SUCCEEDED, 100, None
        operation.counts = counts
        operation.finished_at = func.now()
        operation.error_code = operation.error_detail = None

    async def fail(
        self, session: WriteSession, lease: Lease, *, code: str, detail: str, may_retry: bool
    ) -> OperationState | None:
        """Ends the attempt: queued again with a delay while attempts are left, else failed (or cancelled).

        None where the lease was lost meanwhile: then nothing is changed.
        """
        operation = await self._held(session, lease)
        if operation is None:
            return None
        await _end_open_stages(session, operation, code)
        operation.error_code, operation.error_detail = code, detail
        operation.attempts = min(operation.attempts, operation.max_attempts)
        if code == Cancelled.code or (may_retry and operation.cancel_requested_at is not None):
            operation.state, operation.finished_at = OperationState.CANCELLED, func.now()
        elif may_retry and lease.attempt < lease.max_attempts:
            self._queue(session, operation, _retry_delay(lease.attempt), keeps_turn=False)
        else:
            operation.state, operation.finished_at = OperationState.FAILED, func.now()
        return operation.state

    async def release(self, lease: Lease, *, delay: timedelta | None = None) -> None:
        """Gives an unfinished operation back, to be gone on with by whoever is free. The attempt does not count.

        With a `delay`, not before that. Does nothing where the lease was lost meanwhile.
        """
        async with self._database.write(lease.scope) as session:
            operation = await self._held(session, lease)
            if operation is not None:
                await _end_open_stages(session, operation, INTERRUPTED)
                operation.attempts -= 1
                self._queue(session, operation, delay, keeps_turn=True)

    def _queue(self, session: WriteSession, operation: Operation, delay: timedelta | None, *, keeps_turn: bool) -> None:
        """One that failed or lost its worker may do so again: it does not keep its turn, and lets others go first."""
        operation.state, operation.lease_holder = OperationState.QUEUED, None
        if not keeps_turn:
            operation.turn_at = func.now()
        operation.due_at = func.now() + (delay or timedelta())
        self._wake(session, operation, delay)

    # --- by the sweeper -----------------------------------------------------------------------------------------

    async def sweep(self, limit: int = 50) -> int:
        """Queues again what a lost worker held, and wakes workers for what nobody took. The number of both.

        The first loss is made good at once. An operation that loses a second worker waits a while, at random, so that
        one that kills its workers does not take the same others with it each time.
        """
        drained = await self._outbox.is_drained()
        async with self._database.system() as session:
            expired = (Operation.state == OperationState.RUNNING) & (Operation.due_at < func.now())
            lost = await _locked_oldest(session, expired, limit)
            for operation in lost:
                await _record_loss(session, operation)
                again = 1 < operation.attempts < operation.max_attempts
                delay = _scattered(_retry_delay(operation.attempts)) if again else None
                self._queue(session, operation, delay, keeps_turn=False)
            forgotten = (Operation.state == OperationState.QUEUED) & (Operation.due_at < func.now() - NUDGE_AFTER)
            # While messages wait, theirs may be among them: a long queue would only grow by repeats.
            waiting = await _locked_oldest(session, forgotten, limit) if drained else []
            for operation in waiting:
                self._queue(session, operation, None, keeps_turn=True)
            return len(lost) + len(waiting)

    async def recover(self) -> None:
        """For the one worker over a database, when it starts: whatever runs lost its worker, and messages may be lost.

        The next sweep need not wait for leases to run out.
        """
        async with self._database.system() as session:
            running = Operation.state == OperationState.RUNNING
            await session.execute(update(Operation).where(running).values(due_at=func.now() - NUDGE_AFTER))
            waiting = (Operation.state == OperationState.QUEUED) & (Operation.due_at <= func.now())
            await session.execute(update(Operation).where(waiting).values(due_at=func.now() - 2 * NUDGE_AFTER))


def run_arguments(tenant_id: UUID, operation_id: UUID) -> dict[str, str]:
    """Of `RUN_TASK`: what the message that wakes a worker for an operation says."""
    return {"tenant_id": str(tenant_id), "operation_id": str(operation_id)}


def _due() -> ColumnElement[bool]:
    return Operation.state.in_((OperationState.QUEUED, OperationState.RUNNING)) & (Operation.due_at <= func.now())


async def _locked_oldest(session: WriteSession, where: ColumnElement[bool], limit: int) -> list[Operation]:
    """Those that nobody else has locked."""
    return list(
        await session.scalars(
            select(Operation).where(where).order_by(Operation.due_at).limit(limit).with_for_update(skip_locked=True)
        )
    )


async def _record_loss(session: WriteSession, operation: Operation) -> None:
    log.warning("lease_expired", operation_id=str(operation.id), holder=operation.lease_holder)
    await _end_open_stages(session, operation, WORKER_LOST)


async def _end_open_stages(session: WriteSession, operation: Operation, code: str) -> None:
    await session.execute(
        update(OperationStage)
        .where(OperationStage.operation_id == operation.id, OperationStage.finished_at.is_(None))
        .values(error_code=code, finished_at=func.now())
    )


def _handicap(size_bytes: int) -> timedelta:
    return min(timedelta(seconds=size_bytes / BYTES_A_SECOND), LONGEST_HANDICAP)


def _retry_delay(attempt: int) -> timedelta:
    return RETRY_DELAYS[min(attempt, len(RETRY_DELAYS)) - 1]


def _scattered(delay: timedelta) -> timedelta:
    return delay * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
