"""Single chunks: look at one, change its text or whether it is found, see who changed what.

A changed text is written down as `pending_text`, with its history and the reindexing that carries it out in one
transaction; `app.ingestion.edits` says what follows. A new version of a document makes its chunks from the file again;
`app.ingestion.carrying` brings along what people have changed of those that it has in common with the version before.
"""

from uuid import UUID

from sqlalchemy import func

from app.chunking.chunk import embedded_text
from app.chunking.splitting import fits
from app.chunks import repository
from app.chunks.schemas import ChunkPatch
from app.core.database import ReadSession, WriteSession
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.pagination import PageRequest
from app.core.scope import TenantScope
from app.documents import service as documents
from app.ingestion import edits
from app.models import Chunk, ChunkEdit, Operation, OperationKind
from app.ports.parts import Parts


async def get(session: ReadSession, chunk_id: UUID) -> Chunk:
    """A chunk of the active version of a live document. Raises `NotFound`."""
    chunk = await repository.find(session, chunk_id)
    if chunk is None:
        raise not_found(chunk_id)
    return chunk


async def change(
    session: WriteSession, scope: TenantScope, parts: Parts, chunk_id: UUID, body: ChunkPatch
) -> tuple[Chunk, Operation | None]:
    """Raises `NotFound`, `Conflict` for the text of a parent, `InvalidInput` for a text that the model can't read."""
    # The document first, as everybody does, and so that edits take turns; then the chunk as it is by now.
    await documents.lock(session, (await get(session, chunk_id)).document_id)
    chunk = await get(session, chunk_id)
    current = chunk.wanted_text
    text = None if body.text is None or body.text == current else body.text
    enabled = None if body.enabled is None or body.enabled == chunk.enabled else body.enabled
    if text is None and enabled is None:
        return chunk, None
    session.add(
        ChunkEdit(
            tenant_id=chunk.tenant_id,
            document_id=chunk.document_id,
            generation=chunk.generation,
            chunk_id=chunk.id,
            text_before=None if text is None else current,
            text_after=text,
            enabled=enabled,
            edited_by=scope.principal_id,
        )
    )
    operation = None
    if text is not None:
        await _require_readable(session, parts, chunk, text)
        chunk.pending_text = None if text == chunk.text else text
        chunk.edited_at, chunk.edited_by = func.now(), scope.principal_id
        operation = parts.ledger.enqueue(
            session,
            scope,
            OperationKind.REINDEX,
            knowledge_base_id=chunk.knowledge_base_id,
            document_id=chunk.document_id,
        )
    if enabled is not None:
        chunk.enabled = enabled
    await edits.note_changed(session, chunk)
    await session.refresh(chunk)
    if operation is not None:
        await session.refresh(operation)
    return chunk, operation


async def _require_readable(session: ReadSession, parts: Parts, chunk: Chunk, text: str) -> None:
    if chunk.level > 0:
        raise Conflict(
            "This chunk is put together from others. Change the text of those that it holds, or disable it.",
            code="chunk_is_parent",
        )
    title = (await repository.generation_of(session, chunk)).title
    tokens = parts.embedder.tokens
    if fits(embedded_text(title, chunk.heading_path, text), tokens.max_tokens, tokens) is None:
        raise InvalidInput(
            f"With its title and headings the text has more than the {tokens.max_tokens} tokens that the embedding "
            "model reads. Shorten it.",
            code="chunk_too_long",
        )


async def history(session: ReadSession, chunk_id: UUID, request: PageRequest) -> list[ChunkEdit]:
    """Of a chunk of the active version, or of an earlier one whose changes found no place in the next. `NotFound`."""
    found = await repository.history_page(session, chunk_id, request)
    if not found:
        await get(session, chunk_id)
    return found


def not_found(chunk_id: UUID) -> NotFound:
    return NotFound(f"There is no chunk {chunk_id}.", code="chunk_not_found")
