"""Operations as people see them: look, follow, cancel, retry."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

from app.core.database import ReadSession, WriteSession
from app.core.errors import Conflict, KnowledgeBaseNotFound, NotFound
from app.core.pagination import PageRequest
from app.core.scope import TenantScope
from app.identity.admission import Admit
from app.ingestion import operations_repository, repository
from app.ingestion.operations_repository import OperationFilter
from app.ingestion.schemas import OperationDetail
from app.models import DocumentStatus, Operation, OperationKind, OperationState
from app.ports.parts import Parts

FOLLOW_SECONDS = 0.5
ENDED = (OperationState.SUCCEEDED, OperationState.FAILED, OperationState.CANCELLED)


async def get(session: ReadSession, operation_id: UUID) -> OperationDetail:
    operation = await operations_repository.find_operation(session, operation_id)
    if operation is None:
        raise _not_found(operation_id)
    lost = await operations_repository.lost_edits(session, operation) if operation.counts.get("edits_lost") else []
    return OperationDetail.of_parts(operation, await operations_repository.stages(session, operation_id), lost)


async def list_page(session: ReadSession, request: PageRequest, where: OperationFilter) -> list[Operation]:
    """Raises `NotFound` for a document or knowledge base that the tenant has not and had not."""
    found = await operations_repository.operation_page(session, request, where)
    if not found:
        await _require_known(session, where)
    return found


async def _require_known(session: ReadSession, where: OperationFilter) -> None:
    if where.document_id is not None and not await operations_repository.knows_document(session, where.document_id):
        raise NotFound(f"There is no document {where.document_id}.", code="document_not_found")
    kb_id = where.knowledge_base_id
    if kb_id is not None and not await operations_repository.knows_knowledge_base(session, kb_id):
        raise KnowledgeBaseNotFound(kb_id)


async def follow(parts: Parts, scope: TenantScope, operation_id: UUID, admit: Admit) -> AsyncIterator[OperationDetail]:
    """The operation now, then each time that it has changed, until it has ended. Raises `NotFound` at the start.

    `admit` is asked again and again, and raises where the caller may not see it any more.
    """
    last: OperationDetail | None = None
    while last is None or last.state not in ENDED:
        await admit()
        async with parts.database.read(scope) as session:
            current = await get(session, operation_id)
        if current != last:
            yield current
            last = current
        if current.state not in ENDED:
            await asyncio.sleep(FOLLOW_SECONDS)


async def cancel(session: WriteSession, parts: Parts, operation_id: UUID) -> Operation:
    operation = await _lock_document_of(session, operation_id)
    if operation.kind is not OperationKind.INGEST:
        raise Conflict(
            f"A {operation.kind.value} can't be cancelled: it keeps the stores consistent.",
            code="operation_not_cancellable",
        )
    operation = await parts.ledger.cancel(session, operation_id)
    await session.flush()
    await session.refresh(operation)
    if operation.state is OperationState.CANCELLED and operation.document_id is not None:
        await repository.set_failed(
            session, operation.document_id, operation.generation, "cancelled", "The ingestion was cancelled."
        )
    return operation


async def retry(session: WriteSession, parts: Parts, operation_id: UUID) -> Operation:
    await _lock_document_of(session, operation_id)
    operation = await parts.ledger.retry(session, operation_id)
    if operation.kind is OperationKind.INGEST and operation.document_id is not None:
        subject = await repository.subject(session, operation.document_id, operation.generation or 0, lock=True)
        if subject is None or subject.document.latest_generation != operation.generation:
            raise Conflict(
                "The document was deleted or replaced since. Upload it again instead.", code="operation_superseded"
            )
        subject.set_status(DocumentStatus.QUEUED)
    await session.flush()
    await session.refresh(operation)
    return operation


async def _lock_document_of(session: WriteSession, operation_id: UUID) -> Operation:
    """Document before operation: the order in which everybody locks the two. The operation is not locked yet."""
    operation = await operations_repository.find_operation(session, operation_id)
    if operation is None:
        raise _not_found(operation_id)
    if operation.document_id is not None:
        await repository.lock_document(session, operation.document_id)
    return operation


def _not_found(operation_id: UUID) -> NotFound:
    return NotFound(f"There is no operation {operation_id}.", code="operation_not_found")
