"""Ingestion of one generation of a document: parse, chunk, embed, index, verify, activate.

Each stage leaves its result where the next attempt finds it (parsed form in the blob store, chunks and vectors in
Postgres), so a retry goes on at the stage that failed. Nothing is searched before the last transaction flips
`active_generation`, and then all of it is.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from uuid import UUID

from app.chunking.chunk import text_hash
from app.chunking.registry import chunk
from app.chunking.settings import ChunkingSettings
from app.core.database import WriteSession
from app.core.errors import BigGraphError, Cancelled, EngineRejected, EngineUnavailable
from app.core.ledger import Lease
from app.ingestion import passwords, projection, repository
from app.ingestion.checkpoints import reached
from app.ingestion.embedding_in_threads import embedding_in_threads
from app.ingestion.repository import Subject
from app.models import DocumentStatus, OperationKind
from app.parsing.document import ParsedDocument
from app.parsing.limits import ParseLimits
from app.parsing.reasons import parse_failure
from app.parsing.sandbox import parse_file
from app.parsing.settings import ParsingSettings
from app.ports.parts import Parts
from app.ports.text_index import TextIndex
from app.ports.vector_index import VectorIndex, Vectors

STAGES = ("parse", "chunk", "embed", "index", "verify", "activate")
BEGINS_AT = {"parse": 0, "chunk": 15, "embed": 20, "index": 80, "verify": 92, "activate": 97, "done": 100}
"""Percent of the whole at which a stage begins: rough shares of the time that a text PDF takes."""
EMBED_BATCH = 32


class Ingestion:
    """One attempt at one generation, under one lease."""

    def __init__(self, parts: Parts, lease: Lease) -> None:
        if lease.document_id is None or lease.generation is None:
            raise EngineRejected("An ingestion needs a document and a generation.")
        self._parts = parts
        self._lease = lease
        self._scope = lease.scope
        self._document_id: UUID = lease.document_id
        self._generation: int = lease.generation
        self._counts: dict[str, int] = {}
        self._record_id = UUID(int=0)
        self._parsed: ParsedDocument | None = None
        """What this attempt has parsed itself and need not fetch again."""
        self._indexed_facts: tuple[list[str], dict[str, object]] | None = None

    async def run(self) -> None:
        """Raises `BigGraphError`; what was finished stays for the next attempt."""
        stages: dict[str, Callable[[Subject], Awaitable[Subject]]] = {
            "parse": self._parse,
            "chunk": self._chunk,
            "embed": self._embed,
            "index": self._index,
            "verify": self._verify,
        }
        first = _first_stage(self._lease.stage)
        async with self._parts.database.write(self._scope) as session:
            await repository.lock_document(session, self._document_id)
            await self._enter(session, first)
            subject = await self._load(session)
            await repository.set_status(session, self._document_id, DocumentStatus.PROCESSING)
        reached("claimed")
        for stage in STAGES[STAGES.index(first) : -1]:
            subject = await stages[stage](subject)
        await self._activate()

    # --- stages: each takes the document as it is, and gives it as it is afterwards -----------------------------

    async def _parse(self, subject: Subject) -> Subject:
        settings = self._parts.settings
        limits = ParseLimits(wall_seconds=settings.parse_timeout_seconds, memory_bytes=settings.parse_memory_bytes)
        with tempfile.TemporaryDirectory(prefix="parse-", dir=settings.scratch_dir) as scratch:
            original, result = Path(scratch) / "original", Path(scratch) / "parsed.json"
            await self._parts.blobs.fetch(self._scope, subject.generation.blob_key, original)
            reached("fetched")
            async with self._reporting("parse") as progress:
                parsed = await parse_file(
                    original,
                    file_name=subject.generation.file_name,
                    limits=limits,
                    password=passwords.of_generation(self._parts, subject.generation),
                    settings=ParsingSettings.model_validate(subject.generation.settings.get("parsing", {})),
                    progress=progress,
                )
            if not parsed.text.strip():
                raise parse_failure("no_text")
            await asyncio.to_thread(result.write_text, parsed.model_dump_json(), "utf-8")
            await self._parts.blobs.put_file(self._scope, self._parsed_key, result)
        async with self._leaving("parse", done=parsed.page_count or 0) as (session, current):
            current.generation.media_type, current.generation.parser = parsed.media_type, parsed.parser
            await repository.forget_passwords(session, self._document_id, self._generation)
        reached("parsed")
        return current

    async def _chunk(self, subject: Subject) -> Subject:
        parsed, self._parsed = self._parsed or await self._load_parsed(), None
        settings = ChunkingSettings.model_validate(subject.generation.settings["chunking"])
        title = _title(subject, parsed)
        tokens = self._parts.embedder.tokens
        with embedding_in_threads(self._parts.embedder) as embed:
            drafts = await asyncio.to_thread(chunk, parsed, settings, tokens, title, embed=embed)
        if not drafts:
            raise parse_failure("no_text")
        hashes = [text_hash(draft.embedded_text(title)) for draft in drafts]
        async with self._leaving("chunk", done=len(drafts)) as (session, current):
            found = {"title": title, "pages": parsed.page_count}
            current.generation.settings = {**current.generation.settings, **found}
            await repository.replace_chunks(session, current, drafts, hashes)
        reached("chunked")
        return current

    async def _embed(self, subject: Subject) -> Subject:
        """Embeds what is not in the cache yet, a batch a transaction; the last one ends the stage."""
        space = self._parts.embedder.space.name
        total, missing = await self._missing_vectors(subject, space)
        done = total - len(missing)
        self._counts |= {"embedded": len(missing), "reused": done}
        items = sorted(missing.items(), key=lambda item: len(item[1]))  # of similar length: less padding
        batches = [items[first : first + EMBED_BATCH] for first in range(0, len(items), EMBED_BATCH)]
        for batch in batches[:-1]:
            vectors = await self._vectors_of(batch)
            done += len(batch)
            async with self._parts.database.write(self._scope) as session:
                await self._note_progress(session, "embed", done, total)
                await repository.add_vectors(session, self._lease.tenant_id, space, vectors)
            reached("embedding")
        vectors = await self._vectors_of(batches[-1]) if batches else {}
        async with self._leaving("embed", done=total) as (session, current):
            await repository.add_vectors(session, self._lease.tenant_id, space, vectors)
        reached("embedded")
        return current

    async def _vectors_of(self, batch: Sequence[tuple[bytes, str]]) -> dict[bytes, Vectors]:
        vectors = await self._parts.embedder.embed_passages([text for _, text in batch])
        return {text_hash: vector for (text_hash, _), vector in zip(batch, vectors, strict=True)}

    async def _index(self, subject: Subject) -> Subject:
        """Writes every chunk to both indexes; when both have answered, both see all of them."""
        self._indexed_facts = repository.facts(subject)
        done = 0
        async for batch in projection.batches(self._parts, self._scope, subject):
            if done:
                async with self._parts.database.write(self._scope) as session:
                    await self._note_progress(session, "index", done, None)
            await projection.write_vectors(self._parts, self._scope, subject, batch)
            reached("vectors_written")
            await projection.write_terms(self._parts, self._scope, subject, batch, self._lease.fencing)
            reached("terms_written")
            done += len(batch.chunks)
        async with self._leaving("index", done=done) as (_, current):
            pass
        return current

    async def _verify(self, subject: Subject) -> Subject:
        """Both indexes must hold exactly the chunks that Postgres holds. The stage ends with the activation."""
        expected, vectors, terms = await self._ids_in_stores()
        self._counts["chunks"] = len(expected)
        for name, index, found in (
            ("vector index", self._parts.vectors, vectors),
            ("term index", self._parts.texts, terms),
        ):
            if found != expected:
                await index.delete(self._scope, sorted(found - expected))
                raise EngineUnavailable(
                    f"The {name} holds {len(found & expected)} of the {len(expected)} chunks of this document and "
                    f"{len(found - expected)} that are not of it. It is indexed again.",
                    code="verification_failed",
                )
        reached("verified")
        return subject

    async def _activate(self) -> None:
        async with self._parts.database.write(self._scope) as session:
            await repository.lock_document(session, self._document_id)
            await self._parts.ledger.hold(session, self._lease)
            await self._pass_on(session, "verify", done=self._counts["chunks"])
            await self._parts.ledger.succeed(session, self._lease, self._counts)
            subject = await self._load(session)
            if (subject.document.active_generation or 0) > self._generation:
                raise Cancelled("A newer version of the document is active already.")
            count = self._counts["chunks"]
            await repository.activate(session, subject, count, subject.generation.settings.get("pages"))
            await self._parts.ledger.end_stage(session, self._record_id, done=count)
            kb_id = subject.document.knowledge_base_id
            if self._generation > 1:
                self._enqueue(session, OperationKind.PURGE, kb_id)
            if self._indexed_facts != repository.facts(subject):  # tags or metadata were changed while this went on
                self._enqueue(session, OperationKind.REINDEX, kb_id)
        reached("activated")

    # --- what the stages share ----------------------------------------------------------------------------------

    def _enqueue(self, session: WriteSession, kind: OperationKind, kb_id: UUID) -> None:
        self._parts.ledger.enqueue(session, self._scope, kind, knowledge_base_id=kb_id, document_id=self._document_id)

    async def _load(self, session: WriteSession) -> Subject:
        subject = await repository.subject(session, self._document_id, self._generation)
        if subject is None:
            raise Cancelled("The document was deleted.")
        return subject

    async def _enter(self, session: WriteSession, stage: str) -> None:
        self._record_id = await self._parts.ledger.enter_stage(session, self._lease, stage, percent=BEGINS_AT[stage])

    @asynccontextmanager
    async def _leaving(self, stage: str, *, done: int) -> AsyncIterator[tuple[WriteSession, Subject]]:
        """The transaction that takes a stage's result, ends the stage and begins the next one."""
        async with self._parts.database.write(self._scope) as session:
            await self._parts.ledger.hold(session, self._lease)
            yield session, await self._load(session)
            await self._pass_on(session, stage, done=done)

    async def _pass_on(self, session: WriteSession, stage: str, *, done: int) -> None:
        """Ends a stage and begins the next."""
        await self._parts.ledger.end_stage(session, self._record_id, done=done)
        await self._enter(session, STAGES[STAGES.index(stage) + 1])

    @property
    def _parsed_key(self) -> str:
        return projection.parsed_key(self._document_id, self._generation)

    async def _load_parsed(self) -> ParsedDocument:
        with tempfile.TemporaryDirectory(prefix="chunk-", dir=self._parts.settings.scratch_dir) as scratch:
            path = Path(scratch) / "parsed.json"
            await self._parts.blobs.fetch(self._scope, self._parsed_key, path)
            return await asyncio.to_thread(lambda: ParsedDocument.model_validate_json(path.read_bytes()))

    async def _missing_vectors(self, subject: Subject, space: str) -> tuple[int, dict[bytes, str]]:
        """How many different texts there are, and those without a vector yet, by hash."""
        known: set[bytes] = set()
        missing: dict[bytes, str] = {}
        async for batch in projection.batches(self._parts, self._scope, subject):
            known |= batch.vectors.keys()
            missing |= {
                chunk.text_hash: projection.text_of(subject, chunk)
                for chunk in batch.chunks
                if chunk.text_hash not in batch.vectors
            }
        return len(known) + len(missing), missing

    async def _ids_in_stores(self) -> tuple[set[UUID], set[UUID], set[UUID]]:
        async with self._parts.database.read(self._scope) as session:
            expected = await repository.chunk_ids(session, self._document_id, self._generation)
        return expected, await self._ids_in(self._parts.vectors), await self._ids_in(self._parts.texts)

    async def _ids_in(self, index: VectorIndex | TextIndex) -> set[UUID]:
        held = index.scan(self._scope, document_id=self._document_id, generation=self._generation)
        return {item.chunk_id async for item in held}

    @asynccontextmanager
    async def _reporting(self, stage: str) -> AsyncIterator[Callable[[int, int], None]]:
        """Gives a function that says how far a stage is; the newest is recorded once a second."""
        latest = recorded = (0, 0)

        def said(done: int, total: int) -> None:
            nonlocal latest
            latest = (done, total)

        async def record() -> None:
            nonlocal recorded
            while True:
                await asyncio.sleep(1.0)
                if latest != recorded:
                    recorded = latest
                    async with self._parts.database.write(self._scope) as session:
                        await self._note_progress(session, stage, *latest)

        recorder = asyncio.create_task(record())
        try:
            yield said
        finally:
            recorder.cancel()
            with suppress(asyncio.CancelledError, BigGraphError):  # the next step finds a lost lease itself
                await recorder

    async def _note_progress(self, session: WriteSession, stage: str, done: int, total: int | None) -> None:
        begin, end = BEGINS_AT[stage], _ends_at(stage)
        percent = begin + (end - begin) * done // total if total else begin
        await self._parts.ledger.note_progress(
            session, self._lease, self._record_id, percent=percent, done=done, total=total
        )


def _first_stage(stopped_in: str | None) -> str:
    """Where the next attempt begins. What the indexes hold is not trusted: after them it begins at them again."""
    if stopped_in in ("verify", "activate"):
        return "index"
    return stopped_in if stopped_in in STAGES else STAGES[0]


def _ends_at(stage: str) -> int:
    return next(BEGINS_AT[after] for before, after in pairwise(BEGINS_AT) if before == stage)


def _title(subject: Subject, parsed: ParsedDocument) -> str:
    """As whoever sent it calls it, which may be nothing at all; else as the file itself, else its name."""
    given = subject.generation.settings.get("title")
    return str(given) if given is not None else parsed.title or Path(subject.generation.file_name).stem
