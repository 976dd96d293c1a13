"""Documents put straight into the three stores, in any state that ingestion, deletion or a crash may leave behind."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, update

from app.chunking.chunk import ChunkKind
from app.core.ids import chunk_id, new_id
from app.core.scope import Role, TenantScope
from app.models import Chunk, Document, DocumentStatus, Generation, GenerationState, KnowledgeBase, Tenant
from app.ports.indexes import ChunkSource
from app.ports.parts import Parts
from app.ports.text_index import TermDocument
from app.ports.vector_index import VectorPoint
from app.retrieval.schemas import RetrievalResult, RetrieveRequest
from app.retrieval.service import Retriever
from app.terms import index_terms

HASH = sha256(b"").digest()
BOX = {"left": 1.0, "top": 2.0, "right": 3.0, "bottom": 4.0}
"""Of every chunk."""


@dataclass(frozen=True)
class Shelf:
    """One tenant's documents."""

    parts: Parts
    scope: TenantScope

    @classmethod
    async def of_new_tenant(cls, parts: Parts) -> "Shelf":
        scope = TenantScope(new_id(), new_id(), Role.OWNER)
        async with parts.database.write(scope) as session:
            session.add(Tenant(id=scope.tenant_id, name="Shelf"))
        return cls(parts, scope)

    async def retrieve(self, query: str, **request: object) -> RetrievalResult:
        return await Retriever(self.parts).retrieve(
            self.scope, RetrieveRequest.model_validate({"query": query, **request})
        )

    async def knowledge_base(self, **retrieval: object) -> UUID:
        kb_id = new_id()
        row = KnowledgeBase(
            id=kb_id, tenant_id=self.scope.tenant_id, name=str(kb_id), settings={"retrieval": retrieval}
        )
        async with self.parts.database.write(self.scope) as session:
            session.add(row)
        return kb_id

    async def document(
        self,
        kb_id: UUID,
        *texts: str,
        name: str = "notes.md",
        external_id: str | None = None,
        tags: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        created_at: datetime = datetime(2026, 1, 1, tzinfo=UTC),
    ) -> UUID:
        """A document whose first generation holds a chunk for each text and is active."""
        document_id = new_id()
        row = Document(
            id=document_id,
            tenant_id=self.scope.tenant_id,
            knowledge_base_id=kb_id,
            name=name,
            external_id=external_id,
            size_bytes=1,
            sha256="",
            doc_metadata=metadata or {},
            tags=list(tags),
            status=DocumentStatus.READY,
            created_at=created_at,
        )
        async with self.parts.database.write(self.scope) as session:
            session.add(row)
        await self.write_generation(document_id, 1, *texts)
        await self.activate(document_id, 1)
        return document_id

    async def write_generation(self, document_id: UUID, number: int, *texts: str) -> None:
        """Writes a generation to all three stores, and leaves it in the building."""
        async with self.parts.database.write(self.scope) as session:
            document = await session.get_one(Document, document_id)
            session.add(
                Generation(
                    tenant_id=self.scope.tenant_id,
                    document_id=document_id,
                    generation=number,
                    state=GenerationState.BUILDING,
                    sha256="",
                    size_bytes=1,
                    file_name=document.name,
                    blob_key="",
                    settings={},
                )
            )
            await session.flush()
            session.add_all(self._chunk(document, number, ordinal, text) for ordinal, text in enumerate(texts))
        await self.index(document, number, *texts)

    async def index(self, document: Document, number: int, *texts: str) -> None:
        """Writes to both indexes alone: what Postgres does not know of is an orphan."""
        vectors = await self.parts.embedder.embed_passages(texts)
        sources = [
            ChunkSource(
                chunk_id=chunk_id(document.id, number, ordinal),
                knowledge_base_id=document.knowledge_base_id,
                document_id=document.id,
                generation=number,
                created_at=document.created_at,
                tags=tuple(document.tags),
                metadata=document.doc_metadata,
            )
            for ordinal in range(len(texts))
        ]
        points = [VectorPoint(source, vector) for source, vector in zip(sources, vectors, strict=True)]
        await self.parts.vectors.upsert(self.scope, points)
        terms = [tuple(index_terms(text)) for text in texts]
        documents = [TermDocument(source, own, number) for source, own in zip(sources, terms, strict=True)]
        await self.parts.texts.upsert(self.scope, documents)

    async def find(self, document_id: UUID) -> Document:
        async with self.parts.database.read(self.scope) as session:
            return await session.get_one(Document, document_id)

    async def activate(self, document_id: UUID, number: int) -> None:
        """The flip: one transaction."""
        of_document = Generation.document_id == document_id
        async with self.parts.database.write(self.scope) as session:
            await session.execute(
                update(Generation)
                .where(of_document, Generation.generation < number)
                .values(state=GenerationState.RETIRED)
            )
            await session.execute(
                update(Generation)
                .where(of_document, Generation.generation == number)
                .values(state=GenerationState.ACTIVE, activated_at=func.now())
            )
            await session.execute(update(Document).where(Document.id == document_id).values(active_generation=number))

    async def purge(self, document_id: UUID, number: int, count: int) -> None:
        """Removes a generation of `count` chunks: from the indexes first, then from Postgres."""
        ids = [chunk_id(document_id, number, ordinal) for ordinal in range(count)]
        await self.parts.vectors.delete(self.scope, ids)
        await self.parts.texts.delete(self.scope, ids)
        async with self.parts.database.write(self.scope) as session:
            await session.execute(delete(Chunk).where(Chunk.id.in_(ids)))

    async def change(self, kind: type[Any], row_id: UUID, **values: object) -> None:
        async with self.parts.database.write(self.scope) as session:
            await session.execute(update(kind).where(kind.id == row_id).values(**values))

    def _chunk(self, document: Document, number: int, ordinal: int, text: str) -> Chunk:
        return Chunk(
            id=chunk_id(document.id, number, ordinal),
            tenant_id=self.scope.tenant_id,
            knowledge_base_id=document.knowledge_base_id,
            document_id=document.id,
            generation=number,
            ordinal=ordinal,
            kind=ChunkKind.TEXT,
            text=text,
            heading_path=["Part", f"Section {ordinal}"],
            section=ordinal,
            page=ordinal + 1,
            page_end=ordinal + 1,
            bbox=BOX,
            provenance=[{"start": 0, "page": ordinal + 1, "bbox": BOX}],
            start_offset=ordinal * 100,
            end_offset=ordinal * 100 + len(text),
            token_count=len(text),
            text_hash=HASH,
        )
