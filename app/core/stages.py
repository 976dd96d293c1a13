"""The stages of one attempt at an operation: noted in memory, written with what the attempt commits anyway.

A small document passes all its stages in a fraction of a second; a transaction at each turn would cost more than the
work. So a stage's record is written by the transaction that holds the stage's result, and, for whoever watches a long
one, by a recorder once a second. The same recorder renews the lease and learns whether the work is still wanted.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.dialects.postgresql import Insert, insert

from app.core.database import Database, WriteSession
from app.core.errors import BigGraphError, Unavailable
from app.core.ids import new_id
from app.core.ledger import Lease, Ledger
from app.models.operation import OperationStage

RECORD_SECONDS = 1.0
"""How often a worker records what is new and looks whether somebody has cancelled: more often than its lease needs."""


@dataclass(slots=True)
class StageRun:
    """One run of one stage. Times are this process's monotonic clock, in seconds."""

    stage: str
    begun: float
    ended: float | None = None
    done: int = 0
    total: int | None = None
    id: UUID = field(default_factory=new_id)


class StageLog:
    """`spans` gives each stage its share of the whole: the percent at which it begins and ends."""

    def __init__(self, database: Database, ledger: Ledger, lease: Lease, spans: Mapping[str, tuple[int, int]]) -> None:
        self._database = database
        self._ledger = ledger
        self._lease = lease
        self._spans = spans
        self._unwritten: list[StageRun] = []
        self._current: StageRun | None = None
        self._changed = False
        self._moving = asyncio.Lock()

    def enter(self, stage: str) -> None:
        """Ends the stage before and begins this one. What the one before has made must be durable already."""
        self.end()
        self._current = StageRun(stage, time.monotonic())
        self._changed = True

    def end(self) -> None:
        """Ends the current stage, if there is one."""
        if self._current is not None:
            self._current.ended = time.monotonic()
            self._unwritten.append(self._current)
            self._current = None
            self._changed = True

    def progress(self, done: int, total: int | None = None) -> None:
        """How far the current stage is, in whatever it counts."""
        if self._current is not None:
            self._current.done, self._current.total = done, total
            self._changed = True

    @asynccontextmanager
    async def moving(self, following: str | None) -> AsyncIterator[WriteSession]:
        """The transaction that takes the current stage's result and begins the following stage: both, or neither."""
        async with self._moving:
            before = list(self._unwritten), copy(self._current)
            try:
                async with self._database.write(self._lease.scope) as session:
                    yield session
                    if following is None:
                        self.end()
                    else:
                        self.enter(following)
                    await self._write(session)
            except BaseException:
                self._unwritten, self._current = before
                raise
            self._written()

    async def recorded(self, work: Coroutine[Any, Any, None]) -> None:
        """Does the work. Once a second, and where it fails, what is new is recorded; as often the lease is renewed.

        Raises what the work raises; interrupts it, and raises `LeaseLost` or `Cancelled`, where a record meets that.
        """
        try:
            await self._beside_recorder(work)
        except Exception:
            with suppress(BigGraphError):
                await self.flush()  # a retry begins at the stage that failed
            raise

    async def _beside_recorder(self, work: Coroutine[Any, Any, None]) -> None:
        working, recorder = asyncio.create_task(work), asyncio.create_task(self._record())
        try:
            await asyncio.wait((working, recorder), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                recorder.result()  # raises why the lease is no longer ours
        finally:
            for task in (working, recorder):
                if not task.done():
                    task.cancel()
                    with suppress(asyncio.CancelledError, BigGraphError):
                        await task
        working.result()

    async def _record(self) -> None:
        """Never returns; raises `LeaseLost` or `Cancelled`. While Postgres is away the lease may run out."""
        while True:
            await asyncio.sleep(min(RECORD_SECONDS, self._ledger.heartbeat_seconds))
            with suppress(Unavailable):
                await self.flush(renew=True)

    async def flush(self, *, renew: bool = False) -> None:
        """Writes what is new; where nothing is, `renew` renews the lease all the same."""
        async with self._moving:  # else the lease could look lost while the last transaction commits
            if self._changed:
                async with self._database.write(self._lease.scope) as session:
                    await self._write(session)
                self._written()
            elif renew:
                await self._ledger.heartbeat(self._lease)

    async def _write(self, session: WriteSession) -> None:
        runs = [*self._unwritten, *([self._current] if self._current is not None else [])]
        stage = self._current.stage if self._current is not None else None
        await self._ledger.advance(session, self._lease, stage=stage, percent=self._percent())
        if runs:
            await session.execute(_upsert(self._lease, runs))

    def _written(self) -> None:
        self._unwritten.clear()
        self._changed = False

    def _percent(self) -> int:
        if self._current is None:
            return 100
        begin, end = self._spans[self._current.stage]
        done, total = self._current.done, self._current.total
        return begin + (end - begin) * min(done, total) // total if total else begin


def _upsert(lease: Lease, runs: Sequence[StageRun]) -> Insert:
    """Stages as rows. What has passed since is subtracted from the database's clock: those of workers may differ."""
    now = time.monotonic()
    rows = [
        {
            "id": run.id,
            "tenant_id": lease.tenant_id,
            "operation_id": lease.operation_id,
            "attempt": lease.attempt,
            "stage": run.stage,
            "done": run.done,
            "total": run.total,
            "started_at": func.clock_timestamp() - timedelta(seconds=now - run.begun),
            "finished_at": None if run.ended is None else func.clock_timestamp() - timedelta(seconds=now - run.ended),
        }
        for run in runs
    ]
    new = insert(OperationStage).values(rows)
    return new.on_conflict_do_update(
        index_elements=[OperationStage.id],
        set_={"done": new.excluded.done, "total": new.excluded.total, "finished_at": new.excluded.finished_at},
    )
