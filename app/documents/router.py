"""`/v1/knowledge-bases/{kb_id}/documents` and `/v1/documents`."""

import re
from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from app.core.errors import InvalidInput, NotFound
from app.core.pagination import Page, Paging, by_id, page_of
from app.core.scope import TenantScope
from app.core.text import Storable
from app.documents import accepting, service
from app.documents.accepting import Upload, UploadRequest
from app.documents.forms import FORM, form_schema, read_file_form
from app.documents.repository import ListFilter
from app.documents.schemas import (
    ChunkOut,
    DeletionReceiptOut,
    DocumentError,
    DocumentOut,
    DocumentPatch,
    FileFields,
    FileForm,
    ReprocessIn,
    TextDocumentIn,
    UploadOut,
)
from app.documents.uploads import receive
from app.identity.access import Editor, PartsDep, Reading, Viewer, Writing
from app.ingestion.schemas import OperationOut
from app.knowledge_bases import service as knowledge_bases
from app.models import Document, DocumentStatus, Generation
from app.parsing import document as parsed
from app.ports.parts import Parts

router = APIRouter(tags=["documents"])

UPLOADS = re.compile(r"/v1/knowledge-bases/[^/]+/documents/?|/v1/documents/[^/]+/content/?")
"""Paths whose bodies may be long."""

UPLOAD_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": form_schema(FileForm) | {"application/json": {"schema": TextDocumentIn.model_json_schema()}},
    }
}
VERSION_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": form_schema(FileFields)}}
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="Of your choice. The same request with the same key is done once, however often it is sent within "
        "24 hours.",
    ),
]


@router.post(
    "/v1/knowledge-bases/{kb_id}/documents",
    status_code=202,
    response_model=UploadOut,
    openapi_extra=UPLOAD_BODY,
)
async def upload_document(
    kb_id: UUID, request: Request, scope: Editor, parts: PartsDep, idempotency_key: IdempotencyKey = None
) -> UploadOut:
    """Takes a file (multipart) or a text (JSON). Ingestion goes on afterwards: follow `operation`."""
    async with parts.database.read(scope) as session:
        await knowledge_bases.get(session, kb_id)  # before the body: it may be long
    content_type = request.headers.get("content-type", "")
    if content_type.startswith(FORM):
        return await _upload_file(kb_id, request, scope, parts, idempotency_key)
    if content_type.startswith("application/json"):
        return await _upload_text(kb_id, await request.body(), scope, parts, idempotency_key)
    raise InvalidInput(
        "Send multipart/form-data with a field `file`, or application/json with `text` and `title`.",
        code="unsupported_content_type",
    )


async def _upload_file(kb_id: UUID, request: Request, scope: TenantScope, parts: Parts, key: str | None) -> UploadOut:
    limits = parts.settings
    async with (
        read_file_form(request, FileForm) as (file, facts),
        receive(file, facts.name, limits.scratch_dir, limits.max_upload_bytes) as received,
    ):
        upload = UploadRequest(kb_id, facts.name, facts, received, key, password=facts.password or None)
        return await _accept(scope, parts, upload)


async def _upload_text(kb_id: UUID, body: bytes, scope: TenantScope, parts: Parts, key: str | None) -> UploadOut:
    try:
        document = TextDocumentIn.model_validate_json(body)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error
    name = document.display_name
    file_name = name + (".md" if document.format == "markdown" else ".txt")
    content = document.text.encode("utf-8", "replace")
    limits = parts.settings
    async with receive(content, file_name, limits.scratch_dir, limits.max_upload_bytes) as received:
        return await _accept(
            scope,
            parts,
            UploadRequest(kb_id, name, document, received, key, title=document.title, file_name=file_name),
        )


async def _accept(scope: TenantScope, parts: Parts, request: UploadRequest) -> UploadOut:
    return _upload_out(await accepting.accept(scope, parts, request))


def _upload_out(upload: Upload) -> UploadOut:
    return UploadOut(
        document=_document_out(upload.document),
        operation=OperationOut.of(upload.operation) if upload.operation else None,
        outcome=upload.outcome,
    )


@router.get("/v1/knowledge-bases/{kb_id}/documents")
async def list_documents(
    kb_id: UUID,
    paging: Paging,
    _scope: Viewer,
    session: Reading,
    status: Annotated[DocumentStatus | None, Query(description="Of the newest upload")] = None,
    name: Annotated[str | None, Storable(max_length=255), Query(description="Part of the name")] = None,
    tag: Annotated[str | None, Storable(max_length=100), Query(description="One of its tags, whole")] = None,
    external_id: Annotated[str | None, Storable(max_length=255), Query(description="Your own id, whole")] = None,
) -> Page[DocumentOut]:
    """Oldest first. All that is asked for must hold: `status`, part of the `name`, a `tag`, the `external_id`."""
    rows = await service.list_page(session, kb_id, paging, ListFilter(status, name, tag, external_id))
    return page_of(map(_document_out, rows), paging.limit, by_id)


@router.get("/v1/documents/{document_id}")
async def get_document(document_id: UUID, _scope: Viewer, session: Reading) -> DocumentOut:
    """How it stands with a document: status, error, how it was read, warnings."""
    return _document_out(await service.get(session, document_id))


@router.patch("/v1/documents/{document_id}")
async def change_document(
    document_id: UUID, body: DocumentPatch, scope: Editor, session: Writing, parts: PartsDep
) -> DocumentOut:
    """Name, tags and metadata, each only where it is given. Filters hold the new ones within seconds."""
    return _document_out(await service.change(session, scope, parts, document_id, body))


@router.delete("/v1/documents/{document_id}", status_code=204)
async def delete_document(document_id: UUID, scope: Editor, session: Writing, parts: PartsDep) -> None:
    """When this returns nothing finds the document any more. `/deletion` tells when it is gone from every store."""
    await service.delete(session, scope, parts, document_id)


@router.get("/v1/documents/{document_id}/deletion")
async def get_deletion_receipt(document_id: UUID, _scope: Viewer, session: Reading) -> DeletionReceiptOut:
    """How far the deletion of a document has come, and what was removed. It outlives the document."""
    return DeletionReceiptOut.model_validate(await service.receipt(session, document_id))


@router.put(
    "/v1/documents/{document_id}/content", status_code=202, response_model=UploadOut, openapi_extra=VERSION_BODY
)
async def replace_document_content(
    document_id: UUID, request: Request, scope: Editor, parts: PartsDep, idempotency_key: IdempotencyKey = None
) -> UploadOut:
    """Takes a new version of a document, which keeps its id, tags and metadata. Until it is ready the version before
    is found; of its chunks those are embedded whose text is new. Of the operation's `counts`, `chunks` is the sum of
    `embedded` and `reused`, whose text had a vector already. What people have edited or disabled of the version before
    stays so where the text is in the new one as well; `lost_edits` names the chunks where it is not.
    """
    async with parts.database.read(scope) as session:
        kb_id = (await service.get(session, document_id)).knowledge_base_id  # before the body: it may be long
    limits = parts.settings
    async with (
        read_file_form(request, FileFields) as (file, said),
        receive(file, said.name, limits.scratch_dir, limits.max_upload_bytes) as received,
    ):
        upload = UploadRequest(
            kb_id, said.name, None, received, idempotency_key, password=said.password or None, document_id=document_id
        )
        return await _accept(scope, parts, upload)


@router.post("/v1/documents/{document_id}:reprocess", status_code=202)
async def reprocess_document(
    document_id: UUID, scope: Editor, parts: PartsDep, body: ReprocessIn | None = None
) -> UploadOut:
    """Reads and chunks the newest original once more, as the knowledge base's settings are now: they hold for what is
    uploaded after them. Until it is ready the version before is found. What people changed of chunks stays where the
    new chunks have the same text.
    """
    password = body.password if body else None
    return _upload_out(await accepting.reprocess(scope, parts, document_id, password or None))


@router.get("/v1/documents/{document_id}/content", response_class=StreamingResponse)
async def get_document_content(document_id: UUID, scope: Viewer, parts: PartsDep) -> StreamingResponse:
    """The original file of the newest upload, as it was sent."""
    generation = await _original(scope, parts, document_id)
    while True:
        try:
            content = await _begun(parts.blobs.get(scope, generation.blob_key))
            break
        except NotFound:  # purged, perhaps, because a newer version has taken its place meanwhile
            newer = await _original(scope, parts, document_id)
            if newer.generation == generation.generation:
                raise
            generation = newer
    return StreamingResponse(
        content,
        media_type=generation.media_type or "application/octet-stream",
        headers={
            "content-disposition": f"attachment; filename*=UTF-8''{quote(generation.file_name, safe='')}",
            "content-length": str(generation.size_bytes),
            "x-content-type-options": "nosniff",
            # A stranger's file, from the origin of the API: should a browser ever show it, then as nobody's page.
            "content-security-policy": "sandbox; default-src 'none'",
            "etag": f'"{generation.sha256}"',
        },
    )


async def _original(scope: TenantScope, parts: Parts, document_id: UUID) -> Generation:
    async with parts.database.read(scope) as session:
        return await service.original(session, document_id)


async def _begun(content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same content, with its first piece at hand: what can't be read is said before an answer has begun."""
    first = await anext(content, b"")

    async def pieces() -> AsyncIterator[bytes]:
        yield first
        async for piece in content:
            yield piece

    return pieces()


@router.get("/v1/documents/{document_id}/chunks")
async def list_chunks(
    document_id: UUID,
    _scope: Viewer,
    session: Reading,
    after: Annotated[int, Query(ge=-1, lt=2**31, description="Ordinal after which to begin", alias="cursor")] = -1,
    limit: Annotated[int, Query(ge=1, le=200, description="How many chunks are given at most")] = 50,
    parents: Annotated[
        bool, Query(description="Also those that are not searched, but read in place of others")
    ] = False,
) -> Page[ChunkOut]:
    """Chunks of the active version, in order; parents, where there are any and they are asked for, at the end."""
    rows = await service.chunks(session, document_id, after, limit, parents=parents)
    return page_of(map(ChunkOut.model_validate, rows), limit, lambda chunk: str(chunk.ordinal))


def _document_out(row: Document) -> DocumentOut:
    reading = parsed.Reading.model_validate(row.reading)
    return DocumentOut(
        id=row.id,
        knowledge_base_id=row.knowledge_base_id,
        name=row.name,
        external_id=row.external_id,
        media_type=row.media_type,
        size_bytes=row.size_bytes,
        sha256=row.sha256,
        metadata=row.doc_metadata,
        tags=row.tags,
        status=row.status,
        error=DocumentError(code=row.error_code, detail=row.error_detail or "") if row.error_code else None,
        active_generation=row.active_generation,
        page_count=row.page_count,
        parser=reading.parser,
        warnings=reading.warnings,
        page_modes=reading.page_modes,
        confidence=reading.confidence,
        chunk_count=row.chunk_count,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
