"""Takes uploads: new documents, new versions of known ones, and known originals that are read once more."""

import asyncio
import hashlib
import hmac
import json
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import UUID

from pydantic import SecretStr

from app.core.database import Database, WriteSession
from app.core.errors import BigGraphError, Conflict, TooManyRequests
from app.core.ids import new_id
from app.core.scope import TenantScope
from app.documents import repository, service
from app.documents.schemas import DocumentFacts, DocumentPatch
from app.documents.uploads import Received
from app.ingestion import passwords
from app.knowledge_bases import service as knowledge_bases
from app.models import Document, DocumentStatus, Generation, GenerationState, KnowledgeBase, Operation, OperationKind
from app.parsing.detect import detect
from app.ports.parts import Parts

Outcome = Literal["created", "replaced", "unchanged"]


@dataclass(frozen=True, slots=True)
class Upload:
    document: Document
    operation: Operation | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class UploadRequest:
    """A file that has arrived, what it is called, and where it shall go."""

    knowledge_base_id: UUID
    name: str
    facts: DocumentFacts | None
    """None: a new version of `document_id`, which keeps its own."""
    file: Received
    idempotency_key: str | None
    title: str | None = None
    """What the document is called in itself, where whoever sends it says so."""
    file_name: str = ""
    """What the original is called, where that is not its name."""
    password: SecretStr | None = None
    """Opens the file, where that is protected."""
    document_id: UUID | None = None
    """The document that this is a new version of, where whoever sends it says so; else it is told by the facts."""
    again: int | None = None
    """The generation whose original this is, where that shall be made anew whether or not anything has changed."""

    @property
    def external_id(self) -> str | None:
        return self.facts.external_id if self.facts else None

    def fingerprint(self, secret: bytes) -> str:
        """Of all that is asked. The password goes in under the platform's secret: nobody can try passwords on it."""
        asked: list[object] = [str(self.knowledge_base_id), self.name, self.title, self.file.sha256, self.file_name]
        asked += [str(self.document_id), self.facts.model_dump(mode="json") if self.facts else None]
        if self.password is not None:
            asked.append(hmac.new(secret, self.password.get_secret_value().encode(), hashlib.sha256).hexdigest())
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


async def accept(scope: TenantScope, parts: Parts, request: UploadRequest) -> Upload:
    """Stores the original, then records document, generation and ingestion in one transaction.

    The original comes first, so that whatever is recorded has one; it is removed again when nothing is recorded. Where
    the commit itself was broken off nobody knows: then it stays, and the reconciler removes what no document names.
    Its own transaction, because the transfer before it must not hold one open.
    """
    blob_key = f"originals/{new_id()}"
    await parts.blobs.put_file(scope, blob_key, request.file.path)
    recorded = False
    try:
        async with parts.database.write(scope) as session:
            upload = await _Recording(session, scope, parts, request, blob_key).record()
            recorded = upload.outcome != "unchanged"
        return upload
    finally:
        if not recorded:
            with suppress(BigGraphError):  # the reconciler removes what can't be removed now
                await parts.blobs.delete(scope, blob_key)


@dataclass(frozen=True, slots=True)
class _Recording:
    """The transaction of one upload."""

    session: WriteSession
    scope: TenantScope
    parts: Parts
    request: UploadRequest
    blob_key: str

    async def record(self) -> Upload:
        key = self.request.idempotency_key
        if key is not None:
            repeated = await self._repeated(key)
            if repeated is not None:
                return repeated
        upload = await self._take()
        await self.session.flush()
        if key is not None:
            operation_id = str(upload.operation.id) if upload.operation else None
            answer = {"document_id": str(upload.document.id), "operation_id": operation_id}
            await repository.answer_key(self.session, self.scope, key, answer)
        await self.session.refresh(upload.document)
        if upload.operation is not None:
            await self.session.refresh(upload.operation)
        return upload

    async def _repeated(self, key: str) -> Upload | None:
        fingerprint = self.request.fingerprint(self.parts.secret_key)
        answered = await repository.reserve_key(self.session, self.scope, key, fingerprint)
        if answered is None:
            return None
        if answered.fingerprint != fingerprint:
            raise Conflict(
                "This Idempotency-Key was used for another request. Use a new key for each request.",
                code="idempotency_key_reused",
            )
        document = await service.get(self.session, UUID(answered.response["document_id"]))
        operation_id = answered.response["operation_id"]
        operation = await self.session.get(Operation, UUID(operation_id)) if operation_id else None
        return Upload(document, operation, "unchanged")

    async def _take(self) -> Upload:
        kb = await knowledge_bases.get(self.session, self.request.knowledge_base_id, lock=True)
        known = await self._known(kb)
        if known is not None and self.request.again not in (None, known.latest_generation):
            raise Conflict(
                "A new version of the document has arrived meanwhile. Look at it, then ask again.",
                code="document_changed",
            )
        if known is not None and await self._is_unchanged(known):
            return await self._keep(known)
        await self._check_quota(known)
        return self._create(kb) if known is None else await self._replace(kb, known)

    async def _known(self, kb: KnowledgeBase) -> Document | None:
        """The document that the upload means, locked; None where it is a new one."""
        if self.request.document_id is not None:
            return await service.lock(self.session, self.request.document_id)
        facts, external_id, sha256 = self.request.facts, self.request.external_id, self.request.file.sha256
        name = self.request.name if facts and facts.replace_same_name else None
        identities = {external_id} if external_id is not None else {name, sha256}
        for identity in sorted(filter(None, identities)):  # or two would wait in a circle: a name may be another's hash
            await repository.lock_upload(self.session, kb.id, identity)
        return await repository.find_same(self.session, kb.id, external_id=external_id, name=name, sha256=sha256)

    async def _is_unchanged(self, known: Document) -> bool:
        """Whether ingesting the request would make of the document what is there, or on its way, already."""
        if self.request.again is not None:
            return False
        if known.sha256 != self.request.file.sha256 or known.status is DocumentStatus.FAILED:
            return False
        if known.status is not DocumentStatus.READY and not await self._is_on_its_way(known):
            return False
        if self.request.title is None:  # a file says in itself what it is called
            return True
        newest = await repository.newest_generation(self.session, known)
        asked = (self.request.title, self.request.file.media_type)  # both are part of what is searched
        return newest is not None and (newest.title, newest.media_type) == asked

    async def _is_on_its_way(self, known: Document) -> bool:
        """Whether the ingestion that goes on may come to its end, and has no other password still to try."""
        operation = await repository.newest_ingestion(self.session, known)
        generation = await repository.newest_generation(self.session, known)
        if operation is None or generation is None or operation.cancel_requested_at is not None:
            return False
        if self.request.password is None or generation.parser is not None:  # it has been read
            return True
        return passwords.of_generation(self.parts, generation) == self.request.password.get_secret_value()

    async def _check_quota(self, replaced: Document | None) -> None:
        settings = self.parts.settings
        await repository.lock_usage(self.session, self.scope.tenant_id)
        documents, stored = await repository.usage(self.session)
        if replaced is None and documents >= settings.tenant_max_documents:
            raise TooManyRequests(
                f"Your tenant has {documents} documents and may have no more. Delete some first.",
                code="document_quota",
            )
        active = await repository.active_bytes(self.session, replaced) if replaced else 0
        counted = max(replaced.size_bytes, active) if replaced else 0
        more = max(self.request.file.size_bytes, active) - counted
        if more > 0 and stored + more > settings.tenant_max_bytes:
            raise TooManyRequests(
                f"Your tenant stores {stored} of {settings.tenant_max_bytes} bytes; “{self.request.name}” does not "
                "fit. Delete some documents first.",
                code="storage_quota",
            )

    def _create(self, kb: KnowledgeBase) -> Upload:
        document = Document(
            id=new_id(),
            tenant_id=self.scope.tenant_id,
            knowledge_base_id=kb.id,
            external_id=self.request.external_id,
            latest_generation=0,
            chunk_count=0,
            created_by=self.scope.principal_id,
        )
        self.session.add(document)
        return Upload(document, self._new_generation(kb, document), "created")

    async def _keep(self, document: Document) -> Upload:
        """The same content again: nothing to ingest; name, tags and metadata are taken over where they differ."""
        patch = DocumentPatch(name=self.request.name)
        if self.request.facts:
            patch.metadata, patch.tags = self.request.facts.metadata, self.request.facts.tags
        service.apply_patch(self.session, self.scope, self.parts, document, patch)
        return Upload(document, await repository.newest_ingestion(self.session, document), "unchanged")

    async def _replace(self, kb: KnowledgeBase, document: Document) -> Upload:
        """A new version beside the old one, which goes on being found until the new one is complete."""
        for operation_id in await repository.unfinished_ingestions(self.session, document.id):
            await self.parts.ledger.cancel(self.session, operation_id)
        if await repository.retire_unfinished(self.session, document.id):
            service.enqueue_purge(self.session, self.scope, self.parts, document)
        return Upload(document, self._new_generation(kb, document), "replaced")

    def _new_generation(self, kb: KnowledgeBase, document: Document) -> Operation:
        request, file = self.request, self.request.file
        if request.again is None:  # else somebody may have renamed it while its original was fetched
            document.name = request.name
        if request.facts:
            document.doc_metadata, document.tags = dict(request.facts.metadata), list(request.facts.tags)
        document.sha256, document.size_bytes = file.sha256, file.size_bytes
        document.status, document.error_code, document.error_detail = DocumentStatus.QUEUED, None, None
        document.latest_generation += 1
        self.session.add(
            Generation(
                tenant_id=self.scope.tenant_id,
                document_id=document.id,
                generation=document.latest_generation,
                state=GenerationState.BUILDING,
                sha256=file.sha256,
                size_bytes=file.size_bytes,
                media_type=file.media_type,
                file_name=request.file_name or request.name,
                blob_key=self.blob_key,
                settings=self._settings(kb, document),
            )
        )
        return self.parts.ledger.enqueue(
            self.session,
            self.scope,
            OperationKind.INGEST,
            knowledge_base_id=kb.id,
            document_id=document.id,
            generation=document.latest_generation,
            size_bytes=file.size_bytes,
        )

    def _settings(self, kb: KnowledgeBase, document: Document) -> dict[str, object]:
        """What the generation is made with. A password is kept only as long as the file has not been read."""
        settings: dict[str, object] = {
            "parsing": kb.settings.get("parsing", {}),  # older knowledge bases have none
            "chunking": kb.settings["chunking"],
            "space": self.parts.embedder.space.name,
            "title": self.request.title,
        }
        if self.request.password is not None:
            settings[passwords.SETTING] = passwords.seal(self.parts, document.id, self.request.password)
        return settings


async def reprocess(scope: TenantScope, parts: Parts, document_id: UUID, password: SecretStr | None) -> Upload:
    """Ingests the newest original once more, by what the knowledge base's settings are now.

    Raises `NotFound`, and `Conflict` (`document_changed`) where a new version arrives meanwhile.
    """
    async with parts.database.read(scope) as session:
        document = await service.get(session, document_id)
        newest = await service.original(session, document_id)
    with tempfile.TemporaryDirectory(prefix="again-", dir=parts.settings.scratch_dir) as scratch:
        path = Path(scratch) / "content"
        await parts.blobs.fetch(scope, newest.blob_key, path)
        detected = await asyncio.to_thread(detect, path, newest.file_name)
        request = UploadRequest(
            document.knowledge_base_id,
            document.name,
            None,
            Received(path, newest.size_bytes, newest.sha256, detected.media_type),
            None,
            title=newest.settings.get("title"),
            file_name=newest.file_name,
            password=password,
            document_id=document_id,
            again=newest.generation,
        )
        return await accept(scope, parts, request)


async def forget_keys(database: Database) -> int:
    """Removes the Idempotency-Keys, of all tenants, whose time is over. The number removed."""
    async with database.system() as session:
        return await repository.forget_keys(session)
