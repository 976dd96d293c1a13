"""SQL of operations as people see them. Row-level security confines it to the session's tenant."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import exists, func, or_, select

from app.core.database import ReadSession
from app.core.pagination import PageRequest
from app.models import (
    ChunkEdit,
    DeletionReceipt,
    Document,
    Generation,
    KnowledgeBase,
    Operation,
    OperationStage,
    OperationState,
)


@dataclass(frozen=True, slots=True)
class OperationFilter:
    state: OperationState | None = None
    document_id: UUID | None = None
    knowledge_base_id: UUID | None = None


async def find_operation(session: ReadSession, operation_id: UUID) -> Operation | None:
    found: Operation | None = await session.get(Operation, operation_id)
    return found


async def operation_page(session: ReadSession, request: PageRequest, where: OperationFilter) -> list[Operation]:
    """Newest first; one row more than asked for, where there is one."""
    query = select(Operation).order_by(Operation.id.desc())
    if where.state is not None:
        query = query.where(Operation.state == where.state)
    if where.document_id is not None:
        query = query.where(Operation.document_id == where.document_id)
    if where.knowledge_base_id is not None:
        query = query.where(Operation.knowledge_base_id == where.knowledge_base_id)
    if request.after is not None:
        query = query.where(Operation.id < request.after)
    return list(await session.scalars(query.limit(request.limit + 1)))


async def stages(session: ReadSession, operation_id: UUID) -> list[OperationStage]:
    return list(
        await session.scalars(
            select(OperationStage).where(OperationStage.operation_id == operation_id).order_by(OperationStage.id)
        )
    )


async def lost_edits(session: ReadSession, operation: Operation) -> list[UUID]:
    """Chunks of the version that this ingestion has replaced whose changes found no place in the new one, by age."""
    replaced = select(func.max(Generation.generation)).where(
        Generation.document_id == operation.document_id,
        Generation.generation < operation.generation,
        Generation.activated_at.is_not(None),
    )
    query = select(ChunkEdit.chunk_id).where(
        ChunkEdit.document_id == operation.document_id, ChunkEdit.generation == replaced.scalar_subquery()
    )
    return list(await session.scalars(query.group_by(ChunkEdit.chunk_id).order_by(func.min(ChunkEdit.edited_at))))


async def knows_document(session: ReadSession, document_id: UUID) -> bool:
    """Whether the tenant has it, or has a receipt for its deletion."""
    there = exists().where(Document.id == document_id)
    deleted = exists().where(DeletionReceipt.document_id == document_id)
    return bool(await session.scalar(select(or_(there, deleted))))


async def knows_knowledge_base(session: ReadSession, kb_id: UUID) -> bool:
    """Whether the tenant has it, or has deleted it."""
    return bool(await session.scalar(select(exists().where(KnowledgeBase.id == kb_id))))
