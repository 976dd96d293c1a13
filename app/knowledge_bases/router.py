"""`/v1/knowledge-bases`."""

from uuid import UUID

from fastapi import APIRouter

from app.core.pagination import Page, Paging, by_id, encode_cursor, page_before, page_of
from app.identity.access import Admin, PartsDep, Reading, Viewer, Writing
from app.knowledge_bases import service
from app.knowledge_bases.schemas import (
    DocumentProvenance,
    KnowledgeBaseDetail,
    KnowledgeBaseIn,
    KnowledgeBaseOut,
    KnowledgeBasePatch,
    TreeDocument,
)

router = APIRouter(prefix="/v1/knowledge-bases", tags=["knowledge bases"])


@router.post("", status_code=201)
async def create_knowledge_base(body: KnowledgeBaseIn, scope: Admin, session: Writing) -> KnowledgeBaseOut:
    """Settings that are not given are the defaults, which the answer shows."""
    return KnowledgeBaseOut.model_validate(await service.create(session, scope, body))


@router.get("")
async def list_knowledge_bases(paging: Paging, _scope: Viewer, session: Reading) -> Page[KnowledgeBaseOut]:
    """Oldest first."""
    rows = await service.list_page(session, paging)
    return page_of(map(KnowledgeBaseOut.model_validate, rows), paging.limit, by_id)


@router.get("/{kb_id}")
async def get_knowledge_base(kb_id: UUID, _scope: Viewer, session: Reading) -> KnowledgeBaseDetail:
    """With the number of its documents, of those that are ready, and of the chunks that are searched."""
    kb, counts = await service.get_with_counts(session, kb_id)
    return KnowledgeBaseDetail(
        **KnowledgeBaseOut.model_validate(kb).model_dump(),
        document_count=counts.documents,
        ready_count=counts.ready,
        chunk_count=counts.chunks,
    )


@router.get("/{kb_id}/provenance")
async def get_provenance(kb_id: UUID, paging: Paging, _scope: Viewer, session: Reading) -> Page[DocumentProvenance]:
    """Of every document that can be found: its original, who uploaded it when, how it was read, what people changed."""
    return page_of(await service.provenance(session, kb_id, paging), paging.limit, _by_document)


@router.get("/{kb_id}/tree")
async def get_tree(kb_id: UUID, paging: Paging, _scope: Viewer, session: Reading) -> Page[TreeDocument]:
    """What can be found in a knowledge base: documents, and their headings with the number of chunks under each.

    Of documents with many headings fewer than `limit`.
    """
    items, more = await service.tree(session, kb_id, paging)
    return page_before(items, _by_document, more=more)


@router.patch("/{kb_id}")
async def change_knowledge_base(
    kb_id: UUID, body: KnowledgeBasePatch, _scope: Admin, session: Writing
) -> KnowledgeBaseOut:
    """Only what is given. New settings of parsing and chunking hold for what is uploaded, or
    reprocessed (`/v1/documents/{id}:reprocess`), from now on."""
    return KnowledgeBaseOut.model_validate(await service.change(session, kb_id, body))


@router.delete("/{kb_id}", status_code=204)
async def delete_knowledge_base(kb_id: UUID, scope: Admin, session: Writing, parts: PartsDep) -> None:
    """With all its documents. When this returns nothing finds them; purging them from every store follows."""
    await service.delete(session, scope, parts, kb_id)


def _by_document(item: DocumentProvenance | TreeDocument) -> str:
    return encode_cursor(item.document_id)
