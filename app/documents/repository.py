"""SQL of documents. Row-level security confines every statement to the session's tenant."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, delete, exists, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.core.database import ReadSession, WriteSession
from app.core.pagination import PageRequest
from app.core.scope import TenantScope
from app.ingestion import passwords
from app.models import (
    Chunk,
    DeletionReceipt,
    Document,
    DocumentStatus,
    Generation,
    GenerationState,
    IdempotencyKey,
    KnowledgeBase,
    Operation,
    OperationKind,
    OperationState,
)

KEYS_KEPT = timedelta(hours=24)
"""For how long, at least, an Idempotency-Key gets the answer that was given under it."""


def _live() -> ColumnElement[bool]:
    """A document lives while neither it nor its knowledge base has been deleted."""
    kb_lives = exists().where(
        KnowledgeBase.id == Document.knowledge_base_id,
        KnowledgeBase.deleted_at.is_(None),
    )
    return and_(Document.deleted_at.is_(None), kb_lives)


async def find(session: ReadSession, document_id: UUID) -> Document | None:
    found: Document | None = await session.scalar(select(Document).where(Document.id == document_id, _live()))
    return found


async def find_for_update(session: WriteSession, document_id: UUID) -> Document | None:
    found: Document | None = await session.scalar(
        select(Document).where(Document.id == document_id, _live()).with_for_update(of=Document)
    )
    return found


async def find_same(
    session: WriteSession, kb_id: UUID, *, external_id: str | None, name: str | None, sha256: str
) -> Document | None:
    """The live document that an upload means: by its external id, or where it has none by its name, where one is given,
    or by its content. Locked."""
    query = select(Document).where(Document.knowledge_base_id == kb_id, Document.deleted_at.is_(None))
    if external_id is not None:
        query = query.where(Document.external_id == external_id)
    else:
        query = query.where(Document.external_id.is_(None))
    if external_id is None and name is not None:
        newest = query.where(Document.name == name).order_by(Document.id.desc())
        found: Document | None = await session.scalar(newest.limit(1).with_for_update())
        if found is not None:
            return found
    if external_id is None:
        query = query.where(Document.sha256 == sha256)
    return await session.scalar(query.order_by(Document.id).limit(1).with_for_update())


async def lock_upload(session: WriteSession, kb_id: UUID, identity: str) -> None:
    """Lets one upload of the same document at a time through, until the transaction ends."""
    await session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"{kb_id}:{identity}", 0))))


@dataclass(frozen=True, slots=True)
class ListFilter:
    status: DocumentStatus | None = None
    name_contains: str | None = None
    tag: str | None = None
    external_id: str | None = None


async def page(session: ReadSession, kb_id: UUID, request: PageRequest, where: ListFilter) -> list[Document]:
    """One row more than asked for, where there is one."""
    query = select(Document).where(Document.knowledge_base_id == kb_id, Document.deleted_at.is_(None))
    if where.status is not None:
        query = query.where(Document.status == where.status)
    if where.name_contains:
        query = query.where(Document.name.icontains(where.name_contains, autoescape=True))
    if where.tag:
        query = query.where(Document.tags.contains([where.tag]))
    if where.external_id:
        query = query.where(Document.external_id == where.external_id)
    if request.after is not None:
        query = query.where(Document.id > request.after)
    return list(await session.scalars(query.order_by(Document.id).limit(request.limit + 1)))


async def chunk_page(
    session: ReadSession, document: Document, after_ordinal: int, limit: int, *, parents: bool
) -> list[Chunk]:
    """Chunks of the active generation in order; one row more than asked for, where there is one."""
    query: Select[Chunk] = (
        select(Chunk)
        .where(
            Chunk.document_id == document.id,
            Chunk.generation == document.active_generation,
            Chunk.ordinal > after_ordinal,
        )
        .order_by(Chunk.ordinal)
        .limit(limit + 1)
    )
    return list(await session.scalars(query if parents else query.where(Chunk.level == 0)))


async def lock_usage(session: WriteSession, tenant_id: UUID) -> None:
    """Lets one upload of the tenant at a time count what is stored and add to it, until the transaction ends.

    Taken after all other locks of an upload, so that nobody waits in a circle.
    """
    await session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"usage:{tenant_id}", 0))))


async def usage(session: ReadSession) -> tuple[int, int]:
    """Documents of the tenant, and their bytes: of each the larger of its newest upload and the version that is found.

    Both are kept where the newest has failed. Were they added up, nobody at the limit could replace anything.
    """
    size = func.greatest(Document.size_bytes, Generation.size_bytes)  # which leaves out a null
    row = (
        await session.execute(
            select(func.count(), func.coalesce(func.sum(size), 0))
            .select_from(Document)
            .outerjoin(Generation, _IS_ACTIVE)
            .where(Document.deleted_at.is_(None))
        )
    ).one()
    return int(row[0]), int(row[1])


async def active_bytes(session: ReadSession, document: Document) -> int:
    """Of the original of the version that is found; 0 where none is."""
    query = select(Generation.size_bytes).join(Document, _IS_ACTIVE).where(Document.id == document.id)
    return await session.scalar(query) or 0


async def retire_unfinished(session: WriteSession, document_id: UUID) -> bool:
    """Gives up the versions that were never finished, for a newer one; whether there were any.

    No ingestion can finish one any more: theirs are cancelled, or have failed and can't be retried.
    """
    retired = await session.scalars(
        update(Generation)
        .where(Generation.document_id == document_id, Generation.state == GenerationState.BUILDING)
        .values(state=GenerationState.RETIRED, settings=passwords.settings_without())
        .execution_options(synchronize_session=False)
        .returning(Generation.generation)
    )
    return bool(retired.all())


_IS_ACTIVE = and_(Generation.document_id == Document.id, Generation.generation == Document.active_generation)


async def newest_generation(session: ReadSession, document: Document) -> Generation | None:
    found: Generation | None = await session.get(
        Generation, (document.tenant_id, document.id, document.latest_generation)
    )
    return found


async def newest_ingestion(session: ReadSession, document: Document) -> Operation | None:
    found: Operation | None = await session.scalar(
        select(Operation)
        .where(Operation.document_id == document.id, Operation.kind == OperationKind.INGEST)
        .order_by(Operation.id.desc())
        .limit(1)
    )
    return found


async def unfinished_ingestions(session: WriteSession, document_id: UUID) -> list[UUID]:
    return list(
        await session.scalars(
            select(Operation.id).where(
                Operation.document_id == document_id,
                Operation.kind == OperationKind.INGEST,
                Operation.state.in_((OperationState.QUEUED, OperationState.RUNNING)),
            )
        )
    )


async def add_receipt(session: WriteSession, scope: TenantScope, document: Document) -> None:
    await session.execute(
        insert(DeletionReceipt)
        .values(
            tenant_id=scope.tenant_id,
            document_id=document.id,
            knowledge_base_id=document.knowledge_base_id,
            document_name=document.name,
            requested_by=scope.principal_id,
            counts={},
        )
        .on_conflict_do_nothing()
    )


async def find_receipt(session: ReadSession, document_id: UUID) -> DeletionReceipt | None:
    found: DeletionReceipt | None = await session.scalar(
        select(DeletionReceipt).where(DeletionReceipt.document_id == document_id)
    )
    return found


async def reserve_key(session: WriteSession, scope: TenantScope, key: str, fingerprint: str) -> IdempotencyKey | None:
    """None where the key was free and is ours now, else what was answered under it.

    Two requests at once: the second waits at the unique index until the first has committed or gone.
    """
    ours = insert(IdempotencyKey).values(
        tenant_id=scope.tenant_id, principal_id=scope.principal_id, key=key, fingerprint=fingerprint, response={}
    )
    known: IdempotencyKey | None = None
    while known is None:  # as the sweeper may remove the key in between
        inserted = await session.execute(ours.on_conflict_do_nothing().returning(IdempotencyKey.key))
        if inserted.scalar_one_or_none() is not None:
            return None
        known = await session.get(IdempotencyKey, (scope.tenant_id, scope.principal_id, key))
    return known


async def answer_key(session: WriteSession, scope: TenantScope, key: str, response: dict[str, Any]) -> None:
    await session.execute(
        update(IdempotencyKey)
        .where(IdempotencyKey.principal_id == scope.principal_id, IdempotencyKey.key == key)
        .values(response=response)
    )


async def forget_keys(session: WriteSession) -> int:
    """Removes keys, as the system role those of all tenants, whose time is over. The number removed."""
    removed = await session.scalars(
        delete(IdempotencyKey)
        .where(IdempotencyKey.created_at < func.now() - KEYS_KEPT)
        .execution_options(synchronize_session=False)
        .returning(IdempotencyKey.tenant_id)
    )
    return len(removed.all())
