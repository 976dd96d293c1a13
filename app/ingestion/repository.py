"""SQL of documents and their generations, as ingestion takes them from state to state.

Row-level security confines it to the session's tenant.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import exists, func, select, update

from app.core.database import ReadSession, WriteSession
from app.ingestion import passwords
from app.models import (
    FENCING,
    Document,
    DocumentStatus,
    Generation,
    GenerationState,
    KnowledgeBase,
)
from app.ports.indexes import ChunkSource

DocumentGeneration = tuple[UUID, int]


@dataclass(frozen=True, slots=True)
class Subject:
    """A live document and a generation of it, such as the one that is being made."""

    document: Document
    generation: Generation

    @property
    def key(self) -> DocumentGeneration:
        return self.document.id, self.generation.generation

    def set_status(self, status: DocumentStatus) -> None:
        """Of the document; what went wrong before is forgotten."""
        self.document.status = status
        self.document.error_code = self.document.error_detail = None

    def source(self, chunk: UUID) -> ChunkSource:
        return chunk_source(self.document, self.generation.generation, chunk)


def chunk_source(document: Document, generation: int, chunk: UUID) -> ChunkSource:
    return ChunkSource(
        chunk_id=chunk,
        knowledge_base_id=document.knowledge_base_id,
        document_id=document.id,
        generation=generation,
        created_at=document.created_at,
        tags=tuple(document.tags),
        metadata=document.doc_metadata,
    )


def facts(subject: Subject) -> tuple[list[str], dict[str, Any]]:
    """What may change of a chunk's source after it was indexed."""
    return subject.document.tags, subject.document.doc_metadata


def is_indexed(subject: Subject) -> bool:
    """True where the indexes may hold the generation, false where it is purged from them."""
    return subject.generation.state in (GenerationState.BUILDING, GenerationState.ACTIVE)


async def subject(session: ReadSession, document_id: UUID, generation: int, *, lock: bool = False) -> Subject | None:
    """None where the document, or its knowledge base, was deleted."""
    query = _LIVE.where(Document.id == document_id, Generation.generation == generation)
    row = (await session.execute(query.with_for_update(of=Document) if lock else query)).one_or_none()
    return Subject(*row) if row else None


async def subjects(session: ReadSession, keys: Collection[DocumentGeneration]) -> dict[DocumentGeneration, Subject]:
    """Those whose document, and its knowledge base, live."""
    # Chosen by pairs in SQL, each document would be joined with all the pairs.
    query = _LIVE.where(Document.id.in_({document_id for document_id, _ in keys}))
    found = [Subject(*row) for row in await session.execute(query)]
    return {subject.key: subject for subject in found if subject.key in keys}


_LIVE = (
    select(Document, Generation)
    .join(Generation, Generation.document_id == Document.id)
    .where(
        Document.deleted_at.is_(None),
        exists().where(KnowledgeBase.id == Document.knowledge_base_id, KnowledgeBase.deleted_at.is_(None)),
    )
)
"""Live documents, each with every generation that it has had."""


async def live_document(session: ReadSession, document_id: UUID) -> Document | None:
    found: Document | None = await session.scalar(
        select(Document).where(Document.id == document_id, Document.deleted_at.is_(None))
    )
    return found


async def lock_document(session: WriteSession, document_id: UUID) -> None:
    """Whoever changes a document and an operation on it locks the document first, so that nobody waits in a circle."""
    await session.execute(select(Document.id).where(Document.id == document_id).with_for_update())


async def set_failed(session: WriteSession, document_id: UUID, number: int | None, code: str, detail: str) -> None:
    """Marks the document failed if the failed generation is still its newest. Passwords up to it are forgotten."""
    await session.execute(
        update(Document)
        .where(Document.id == document_id, Document.latest_generation == number)
        .values(status=DocumentStatus.FAILED, error_code=code, error_detail=detail)
    )
    await forget_passwords(session, document_id, number or 0)


async def forget_passwords(session: WriteSession, document_id: UUID, number: int) -> None:
    """Of that generation and of those before it, which nobody reads any more."""
    with_password = select(Generation).where(
        Generation.document_id == document_id,
        Generation.generation <= number,
        Generation.settings.has_key(passwords.SETTING),
    )
    for generation in await session.scalars(with_password):
        passwords.forget(generation)


async def activate(session: WriteSession, subject: Subject, chunk_count: int, page_count: int | None) -> None:
    """The flip: this generation is what is searched from the moment that the transaction commits."""
    document, generation = subject.document, subject.generation
    await session.execute(
        update(Generation)
        .where(
            Generation.document_id == document.id,
            Generation.generation < generation.generation,
            Generation.state.in_((GenerationState.ACTIVE, GenerationState.BUILDING)),
        )
        # A password of one that was never read is given up with it.
        .values(state=GenerationState.RETIRED, settings=passwords.settings_without())
        .execution_options(synchronize_session=False)
    )
    generation.state, generation.activated_at = GenerationState.ACTIVE, func.now()
    generation.chunk_count = chunk_count
    document.active_generation = generation.generation
    document.chunk_count, document.page_count = chunk_count, page_count
    document.media_type, document.reading = generation.media_type, generation.reading
    if document.latest_generation == generation.generation:
        document.status, document.error_code, document.error_detail = DocumentStatus.READY, None, None


async def next_fencing(session: WriteSession) -> int:
    return int(await session.scalar(select(FENCING.next_value())) or 0)
