"""Documents: look, list, change, delete. Uploads are taken by `accepting`; their content is `app.ingestion`'s."""

from uuid import UUID

from sqlalchemy import func

from app.core.database import ReadSession, WriteSession
from app.core.errors import NotFound
from app.core.pagination import PageRequest
from app.core.scope import TenantScope
from app.documents import repository
from app.documents.repository import ListFilter
from app.documents.schemas import DocumentPatch
from app.knowledge_bases import service as knowledge_bases
from app.models import Chunk, DeletionReceipt, Document, Generation, OperationKind
from app.ports.parts import Parts


async def get(session: ReadSession, document_id: UUID) -> Document:
    """A live document. Raises `NotFound`."""
    document = await repository.find(session, document_id)
    if document is None:
        raise not_found(document_id)
    return document


async def lock(session: WriteSession, document_id: UUID) -> Document:
    """A live document that nobody else changes until the transaction ends. Raises `NotFound`."""
    document = await repository.find_for_update(session, document_id)
    if document is None:
        raise not_found(document_id)
    return document


async def list_page(session: ReadSession, kb_id: UUID, request: PageRequest, where: ListFilter) -> list[Document]:
    await knowledge_bases.get(session, kb_id)
    return await repository.page(session, kb_id, request, where)


async def chunks(
    session: ReadSession, document_id: UUID, after_ordinal: int, limit: int, *, parents: bool = False
) -> list[Chunk]:
    """Chunks of the active version in order; one more than `limit` where there is one. Raises `NotFound`."""
    document = await get(session, document_id)
    return await repository.chunk_page(session, document, after_ordinal, limit, parents=parents)


async def original(session: ReadSession, document_id: UUID) -> Generation:
    """The newest upload of a document: where its original file is and what it is called."""
    generation = await repository.newest_generation(session, await get(session, document_id))
    if generation is None:
        raise not_found(document_id)
    return generation


async def change(
    session: WriteSession, scope: TenantScope, parts: Parts, document_id: UUID, body: DocumentPatch
) -> Document:
    document = await lock(session, document_id)
    apply_patch(session, scope, parts, document, body)
    await session.flush()
    await session.refresh(document)
    return document


def apply_patch(
    session: WriteSession, scope: TenantScope, parts: Parts, document: Document, body: DocumentPatch
) -> None:
    """Changes a locked document, and asks for what the indexes hold of it to be changed as well."""
    if body.name is not None:
        document.name = body.name
    metadata, tags = document.doc_metadata, document.tags
    if body.metadata is not None:
        document.doc_metadata = dict(body.metadata)
    if body.tags is not None:
        document.tags = list(body.tags)
    if (metadata, tags) != (document.doc_metadata, document.tags):
        parts.ledger.enqueue(
            session,
            scope,
            OperationKind.REINDEX,
            knowledge_base_id=document.knowledge_base_id,
            document_id=document.id,
        )


async def delete(session: WriteSession, scope: TenantScope, parts: Parts, document_id: UUID) -> None:
    """Tombstone first: when this has committed nothing finds the document; the purge follows."""
    document = await lock(session, document_id)
    document.deleted_at = func.now()
    for operation_id in await repository.unfinished_ingestions(session, document.id):
        await parts.ledger.cancel(session, operation_id)
    await repository.add_receipt(session, scope, document)
    enqueue_purge(session, scope, parts, document)


def enqueue_purge(session: WriteSession, scope: TenantScope, parts: Parts, document: Document) -> None:
    """Of a deleted document everything, of another one its retired versions."""
    parts.ledger.enqueue(
        session,
        scope,
        OperationKind.PURGE,
        knowledge_base_id=document.knowledge_base_id,
        document_id=document.id,
    )


async def receipt(session: ReadSession, document_id: UUID) -> DeletionReceipt:
    """How far the deletion of a document has come in the stores. Raises `NotFound` where none was asked for."""
    found = await repository.find_receipt(session, document_id)
    if found is None:
        raise NotFound(f"No document {document_id} was deleted.", code="receipt_not_found")
    return found


def not_found(document_id: UUID) -> NotFound:
    return NotFound(f"There is no document {document_id}.", code="document_not_found")
