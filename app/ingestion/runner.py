"""Carries out operations: claims a lease, runs what the operation asks for, records how it ended."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import structlog

from app.core.errors import (
    BigGraphError,
    Cancelled,
    EngineRejected,
    LeaseLost,
    ParseFailed,
    Postponed,
    Unavailable,
)
from app.core.ledger import WORKER_LOST, Lease
from app.ingestion import repository
from app.ingestion.pipeline import Ingestion
from app.ingestion.projection import tidy_after_late_reindexing, tidy_after_late_write
from app.ingestion.purge import purge
from app.ingestion.reindex import reindex
from app.models import OperationKind, OperationState
from app.ports.parts import Parts

log = structlog.get_logger()

Handler = Callable[[Parts, Lease], Coroutine[Any, Any, None]]
POSTPONED_FOR = timedelta(seconds=1)


async def _ingest(parts: Parts, lease: Lease) -> None:
    await Ingestion(parts, lease).run()


HANDLERS: dict[OperationKind, Handler] = {
    OperationKind.INGEST: _ingest,
    OperationKind.PURGE: purge,
    OperationKind.REINDEX: reindex,
}


class OperationRunner:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"

    async def run(self, tenant_id: UUID, operation_id: UUID) -> None:
        """Runs the operation that has its turn, whichever the message named. Raises `Unavailable` without Postgres."""
        lease = await self._take_turn(tenant_id, operation_id)
        if lease is None:
            return
        with structlog.contextvars.bound_contextvars(
            operation_id=str(lease.operation_id), kind=lease.kind.value, attempt=lease.attempt
        ):
            if lease.exhausted:
                lost = "The worker was lost each time this was tried. It may need more memory than there is."
                await self._failed(lease, BigGraphError(lost, code=WORKER_LOST), may_retry=False)
                return
            await self._carry_out(lease)

    async def _take_turn(self, tenant_id: UUID, operation_id: UUID) -> Lease | None:
        """None where nothing is left to do.

        What is named comes last, as it may have lost its worker: taken before what is older, it would let an operation
        whose own message was lost wait until there are no others.
        """
        ledger = self._parts.ledger
        return await ledger.claim_turn(self._holder) or await ledger.claim(tenant_id, operation_id, self._holder)

    async def _carry_out(self, lease: Lease) -> None:
        try:
            await HANDLERS[lease.kind](self._parts, lease)
        except asyncio.CancelledError:  # this process stops: another one goes on at once
            with contextlib.suppress(BigGraphError):
                await self._parts.ledger.release(lease)
            log.info("operation_handed_over")
            raise
        except Postponed as error:
            log.info("operation_postponed", detail=error.detail)
            await self._parts.ledger.release(lease, delay=POSTPONED_FOR)
        except LeaseLost as error:
            log.warning("operation_taken_over", detail=error.detail)
            await self._tidy(lease)
        except (ParseFailed, Cancelled, EngineRejected) as error:
            await self._failed(lease, error, may_retry=False)
        except BigGraphError as error:
            await self._failed(lease, error, may_retry=isinstance(error, Unavailable))
        except (OSError, MemoryError) as error:
            log.error("operation_out_of_resources", exc_info=error)
            scarce = "The machine ran out of disk space, memory or files. It is tried again; then free some and retry."
            await self._failed(lease, BigGraphError(scarce, code="out_of_resources"), may_retry=True)
        except Exception as error:
            log.error("operation_crashed", exc_info=error)
            await self._failed(lease, BigGraphError("Something broke on our side; the log names it."), may_retry=True)
        else:
            log.info("operation_succeeded")

    async def _failed(self, lease: Lease, error: BigGraphError, *, may_retry: bool) -> None:
        code, told = error.error_code, error.public_detail
        async with self._parts.database.write(lease.scope) as session:
            if lease.document_id is not None:
                await repository.lock_document(session, lease.document_id)
            state = await self._parts.ledger.fail(session, lease, code=code, detail=told, may_retry=may_retry)
            ended = state in (OperationState.FAILED, OperationState.CANCELLED)
            if ended and lease.kind is OperationKind.INGEST and lease.document_id is not None:
                await repository.set_failed(session, lease.document_id, lease.generation, code, told)
        log.warning("operation_attempt_failed", code=code, state=state, detail=error.detail)
        if state is None:
            await self._tidy(lease)

    async def _tidy(self, lease: Lease) -> None:
        """After work whose lease was lost: an index can't tell a late write, so what was written last is made good."""
        if lease.kind is OperationKind.INGEST and lease.document_id is not None and lease.generation is not None:
            await tidy_after_late_write(self._parts, lease.scope, lease.document_id, lease.generation)
        elif lease.kind is OperationKind.REINDEX and lease.document_id is not None:
            await tidy_after_late_reindexing(self._parts, lease.scope, lease.document_id)
