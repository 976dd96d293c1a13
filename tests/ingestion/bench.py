"""A tenant on real engines without a worker: operations run when a test says so, and can be stopped at any call."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from app.core.ids import new_id
from app.core.ledger import Lease
from app.core.scope import Role, TenantScope
from app.documents import accepting
from app.documents import service as documents
from app.documents.accepting import Upload, UploadRequest
from app.documents.schemas import DocumentFacts, DocumentPatch
from app.documents.uploads import receive
from app.ingestion.reconciler import TenantReport, repair, verify
from app.ingestion.runner import OperationRunner
from app.knowledge_bases import service as knowledge_bases
from app.knowledge_bases.schemas import KnowledgeBaseIn
from app.models import (
    Chunk,
    DeletionReceipt,
    Document,
    Embedding,
    Generation,
    GenerationState,
    Operation,
    OperationStage,
    OperationState,
    Tenant,
    User,
)
from app.ports.indexes import IndexFilter
from app.ports.parts import Parts
from app.terms import index_terms

Action = Callable[[], Awaitable[None]]
CHUNKING = {"target_tokens": 48, "max_tokens": 64, "max_embedded_tokens": 128, "min_tokens": 0, "overlap_tokens": 0}


def prose(subject: str, sections: int = 3) -> str:
    """A Markdown text that gives one chunk a section, each different from every other text's."""
    return "\n\n".join(
        f"# {subject} part {number}\n\nThe {subject} of part {number} 讲述了第 {number} 部分的内容。"
        for number in range(1, sections + 1)
    )


class Interposed:
    """An engine with an action before or after the first call of one of its methods; all else is the engine's own."""

    def __init__(
        self, engine: object, method: str, *, before: Action | None = None, after: Action | None = None
    ) -> None:
        self._engine, self._method = engine, method
        self._before, self._after = before, after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if name != self._method:
            return found

        async def call(*arguments: object, **named: object) -> object:
            async with self._actions():
                return await found(*arguments, **named)

        async def iterate(*arguments: object, **named: object) -> AsyncIterator[object]:
            async with self._actions():
                items = [item async for item in found(*arguments, **named)]
            for item in items:
                yield item

        return iterate if inspect.isasyncgenfunction(found) else call

    @asynccontextmanager
    async def _actions(self) -> AsyncIterator[None]:
        before, self._before = self._before, None
        after, self._after = self._after, None
        await _done(before)
        yield
        await _done(after)


async def _done(action: Action | None) -> None:
    try:
        if action is not None:
            await action()
    except AssertionError as error:
        pytest.fail(str(error))  # no `Exception`, which the worker would take for a failure of the engine


@dataclass(frozen=True)
class Held:
    """What every store holds of a document, or of a generation of it."""

    chunks: set[UUID]
    vectors: set[UUID]
    terms: set[UUID]

    @property
    def agreed(self) -> bool:
        return self.chunks == self.vectors == self.terms


@dataclass(frozen=True)
class Bench:
    parts: Parts
    scope: TenantScope
    kb_id: UUID

    @classmethod
    async def of_new_tenant(cls, parts: Parts) -> "Bench":
        scope = TenantScope(new_id(), new_id(), Role.OWNER)
        async with parts.database.write(scope) as session:
            session.add(Tenant(id=scope.tenant_id, name="Bench"))
        async with parts.database.system() as session:
            session.add(User(id=scope.principal_id, email=f"{scope.principal_id}@example.com", password_hash=""))
            # What earlier tests left in the queue would have its turn before this tenant's second operation.
            left = update(Operation).where(Operation.state == OperationState.QUEUED)
            await session.execute(left.values(state=OperationState.CANCELLED))
        return cls(parts, scope, await cls._knowledge_base(parts, scope))

    @staticmethod
    async def _knowledge_base(parts: Parts, scope: TenantScope) -> UUID:
        body = KnowledgeBaseIn.model_validate({"name": str(new_id()), "settings": {"chunking": CHUNKING}})
        async with parts.database.write(scope) as session:
            kb = await knowledge_bases.create(session, scope, body)
        return kb.id

    def interposed(
        self, engine: str, method: str, *, before: Action | None = None, after: Action | None = None
    ) -> "Bench":
        """The same tenant, seen by a worker that is held up in a call to one of its engines."""
        wrapped = Interposed(getattr(self.parts, engine), method, before=before, after=after)
        return replace(self, parts=replace(self.parts, **cast("dict[str, Any]", {engine: wrapped})))

    # --- what people do -----------------------------------------------------------------------------------------

    async def upload(
        self, text: str, *, external_id: str | None = None, title: str | None = None, **facts: object
    ) -> Upload:
        about = DocumentFacts.model_validate({"external_id": external_id, **facts})
        settings = self.parts.settings
        async with receive(text.encode(), "text.md", settings.scratch_dir, settings.max_upload_bytes) as file:
            request = UploadRequest(
                self.kb_id, "text", about, file, None, title=title or external_id or "text", file_name="text.md"
            )
            return await accepting.accept(self.scope, self.parts, request)

    async def ingested(
        self, text: str, *, external_id: str | None = None, title: str | None = None, **facts: object
    ) -> UUID:
        """The id of a new document, or of a known one with a new version, that is ready."""
        upload = await self.upload(text, external_id=external_id, title=title, **facts)
        await self.work()
        assert (await self.document(upload.document.id)).status == "ready"
        return upload.document.id

    async def change(self, document_id: UUID, **patch: object) -> None:
        async with self.parts.database.write(self.scope) as session:
            await documents.change(session, self.scope, self.parts, document_id, DocumentPatch.model_validate(patch))

    async def delete(self, document_id: UUID) -> None:
        async with self.parts.database.write(self.scope) as session:
            await documents.delete(session, self.scope, self.parts, document_id)

    # --- what workers do ----------------------------------------------------------------------------------------

    async def run(self, operation_id: UUID) -> None:
        await OperationRunner(self.parts).run(self.scope.tenant_id, operation_id)

    async def work(self) -> None:
        """Runs what is queued, and what that asks for, as if every delay were over."""
        for _ in range(20):
            queued = await self.operations(OperationState.QUEUED)
            if not queued:
                return
            for operation in queued:
                await self.pass_time(operation.id)
                await self.run(operation.id)
        raise AssertionError("operations are queued again and again")

    async def lose_lease(self, operation_id: UUID) -> None:
        """As if the worker had been silent for longer than its lease, and somebody had noticed."""
        await self.pass_time(operation_id)
        await self.parts.ledger.sweep()

    async def pass_time(self, operation_id: UUID) -> None:
        async with self.parts.database.system() as session:
            await session.execute(
                update(Operation)
                .where(Operation.id == operation_id)
                .values(due_at=Operation.due_at - timedelta(hours=1))
            )

    # --- what is the case ---------------------------------------------------------------------------------------

    async def operations(self, state: OperationState) -> list[Operation]:
        async with self.parts.database.read(self.scope) as session:
            return list(await session.scalars(select(Operation).where(Operation.state == state).order_by(Operation.id)))

    async def operation(self, operation_id: UUID) -> Operation:
        async with self.parts.database.read(self.scope) as session:
            return await session.get_one(Operation, operation_id)

    async def stages(self, operation_id: UUID) -> list[OperationStage]:
        of_operation = OperationStage.operation_id == operation_id
        async with self.parts.database.read(self.scope) as session:
            return list(await session.scalars(select(OperationStage).where(of_operation).order_by(OperationStage.id)))

    async def document(self, document_id: UUID) -> Document:
        async with self.parts.database.read(self.scope) as session:
            return await session.get_one(Document, document_id)

    async def documents(self) -> list[Document]:
        """Those that live."""
        async with self.parts.database.read(self.scope) as session:
            return list(await session.scalars(select(Document).where(Document.deleted_at.is_(None))))

    async def generations(self, document_id: UUID) -> dict[int, GenerationState]:
        query = select(Generation.generation, Generation.state).where(Generation.document_id == document_id)
        async with self.parts.database.read(self.scope) as session:
            return {row.generation: row.state for row in await session.execute(query)}

    async def receipt(self, document_id: UUID) -> DeletionReceipt:
        async with self.parts.database.read(self.scope) as session:
            return await documents.receipt(session, document_id)

    async def held(self, document_id: UUID, generation: int | None = None) -> Held:
        query = select(Chunk.id).where(Chunk.document_id == document_id)
        if generation is not None:
            query = query.where(Chunk.generation == generation)
        async with self.parts.database.read(self.scope) as session:
            chunks = set(await session.scalars(query))
        found = []
        for index in (self.parts.vectors, self.parts.texts):
            scan = index.scan(self.scope, document_id=document_id, generation=generation)
            found.append({item.chunk_id async for item in scan})
        return Held(chunks, *found)

    async def blobs(self) -> set[str]:
        return {key async for key in self.parts.blobs.list(self.scope)}

    async def cached_vectors(self) -> int:
        async with self.parts.database.read(self.scope) as session:
            return int(await session.scalar(select(func.count()).select_from(Embedding)) or 0)

    async def found_by(
        self, *, tags_any: tuple[str, ...] = (), metadata: dict[str, tuple[int, ...]] | None = None
    ) -> tuple[set[UUID], set[UUID]]:
        """Chunks that the vector index and the term index find under a filter."""
        vector = await self.parts.embedder.embed_query("part")
        terms = index_terms("part")
        where = IndexFilter(tags_any=tags_any, metadata=dict(metadata or {}))
        dense = await self.parts.vectors.search(self.scope, vector, where, 100)
        lexical = await self.parts.texts.search(self.scope, terms, where, 100)
        return {hit.chunk_id for hit in dense}, {hit.chunk_id for hit in lexical}

    async def verify(self) -> TenantReport:
        return await verify(self.parts, self.scope)

    async def repair(self) -> TenantReport:
        return await repair(self.parts, self.scope)

    async def claim(self, operation_id: UUID) -> Lease:
        lease = await self.parts.ledger.claim(self.scope.tenant_id, operation_id, "test")
        assert lease is not None
        return lease
