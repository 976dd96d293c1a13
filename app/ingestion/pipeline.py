"""Ingestion of one generation of a document: parse, chunk, embed, index, verify, activate.

Each stage leaves its result where the next attempt finds it (parsed form in the blob store, chunks and vectors in
Postgres), so a retry goes on at the stage that failed. Nothing is searched before the last transaction flips
`active_generation`, and then all of it is.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from uuid import UUID

from app.chunking.registry import chunk
from app.chunking.settings import ChunkingSettings
from app.core.database import WriteSession
from app.core.errors import Cancelled, EngineRejected, EngineUnavailable, NotFound, Postponed
from app.core.ledger import Lease
from app.core.stages import StageLog
from app.core.turns import Turn, others_wait
from app.ingestion import (
    carrying,
    chunks_repository,
    describing,
    passwords,
    projection,
    repository,
    vectors_repository,
)
from app.ingestion.checkpoints import reached
from app.ingestion.embedding_in_threads import embedding_in_threads
from app.ingestion.projection import Batch
from app.ingestion.repository import Subject
from app.ingestion.searched import SearchedChunks
from app.models import DocumentStatus, OperationKind
from app.parsing.document import ParsedDocument
from app.parsing.limits import ParseLimits
from app.parsing.reasons import parse_failure
from app.parsing.sandbox import parse_file
from app.parsing.settings import ParsingSettings
from app.ports.parts import Parts
from app.ports.text_index import TextIndex
from app.ports.vector_index import VectorIndex, Vectors

SPANS = {
    "parse": (0, 15),
    "chunk": (15, 20),
    "embed": (20, 80),
    "index": (80, 92),
    "verify": (92, 97),
    "activate": (97, 100),
}
"""The stages, each with the percent of the whole at which it begins and ends: rough shares of a text PDF's time."""
STAGES = tuple(SPANS)
CHUNK_BATCH = 1000
"""Chunks that are made and written at once."""
TURN_SECONDS = 10.0
"""After so long a document gives way, between two batches, to what comes before it and finds no worker: embedding one
may take an hour. Finding out what is left to embed does not count, or a very large one would hardly move on."""


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
        self._embedded = 0
        """Texts that the operation has embedded, by all of its attempts."""
        self._chunk_count = 0
        self._log = StageLog(parts.database, parts.ledger, lease, SPANS)
        self._parsed: ParsedDocument | None = None
        """What this attempt has parsed itself and need not fetch again."""
        self._chunks: SearchedChunks
        """Of the generation, from the beginning of the run on."""
        self._indexed_facts: tuple[list[str], dict[str, object]] | None = None

    async def run(self) -> None:
        """Raises `BigGraphError`; what was finished stays for the next attempt."""
        await self._log.recorded(self._run())

    async def _run(self) -> None:
        stages: dict[str, Callable[[Subject], Awaitable[None]]] = {
            "parse": self._parse,
            "chunk": self._chunk,
            "embed": self._embed,
            "index": self._index,
            "verify": self._verify,
        }
        first = _first_stage(self._lease.stage)
        async with self._log.moving(first) as session:
            subject = await self._locked(session)
            subject.set_status(DocumentStatus.PROCESSING)
            self._chunks = SearchedChunks(self._parts, self._scope, subject)
            operation = await self._parts.ledger.hold(session, self._lease)
            self._embedded = operation.counts.get("embedded", 0)
        reached("claimed")
        for stage in STAGES[STAGES.index(first) : -1]:
            await stages[stage](subject)
        await self._activate()

    # --- stages: each finds what the one before has left in memory, Postgres or the blob store ------------------

    async def _parse(self, subject: Subject) -> None:
        settings = self._parts.settings
        limits = ParseLimits(wall_seconds=settings.parse_timeout_seconds, memory_bytes=settings.parse_memory_bytes)
        with tempfile.TemporaryDirectory(prefix="parse-", dir=settings.scratch_dir) as scratch:
            original, cells = (Path(scratch) / name for name in ("original", "cells"))
            await asyncio.to_thread(cells.mkdir)
            await self._parts.blobs.fetch(self._scope, subject.generation.blob_key, original)
            reached("fetched")
            async with self._parts.parsers.slot(self._lease.tenant_id):
                parsed = await parse_file(
                    original,
                    file_name=subject.generation.file_name,
                    limits=limits,
                    password=passwords.of_generation(self._parts, subject.generation),
                    settings=ParsingSettings.model_validate(subject.generation.settings.get("parsing", {})),
                    progress=self._log.progress,
                    cells=cells,
                )
            if not parsed.has_text:
                raise parse_failure("no_text")
            for page in await asyncio.to_thread(lambda: sorted(cells.iterdir())):
                await self._parts.blobs.put_file(self._scope, f"{self._cells_key}/{page.name}", page)
            await self._store_parsed(parsed)
        self._parsed = parsed
        reached("parsed")
        self._log.enter("chunk")

    async def _chunk(self, subject: Subject) -> None:
        """Writes chunks as they are made, some at a time, so that those of a large document are never all in memory.

        The transaction that writes the last of them ends the stage.
        """
        parsed, self._parsed = self._parsed or await self._load_parsed(), None
        generation = subject.generation
        settings = ChunkingSettings.model_validate(generation.settings["chunking"])
        title = _title(subject, parsed)
        tokens = self._parts.embedder.tokens
        if settings.tables.summary and settings.tables.described and self._parts.chat_models.names:
            parsed = await self._with_descriptions(subject, parsed, title)
        rows = chunks_repository.ChunkRows(subject, title)
        with embedding_in_threads(self._parts.embedder) as embed:
            drafts = chunk(parsed, settings, tokens, title, embed=embed)
            batch = await asyncio.to_thread(rows.take, drafts, CHUNK_BATCH)
            while following := await asyncio.to_thread(rows.take, drafts, CHUNK_BATCH):
                async with self._parts.database.write(self._scope) as session:
                    await self._parts.ledger.hold(session, self._lease)
                    await chunks_repository.write_chunks(session, subject, batch)
                self._log.progress(following[0]["ordinal"])
                batch = following
        if not batch:
            raise parse_failure("no_text")
        count = batch[-1]["ordinal"] + 1
        self._log.progress(count, count)
        async with self._leaving("embed") as session:
            session.add(generation)
            passwords.forget(generation)
            generation.media_type, generation.parser = parsed.media_type, parsed.parser
            generation.reading = parsed.reading.model_dump(mode="json")
            generation.settings = {**generation.settings, "title": title, "pages": parsed.page_count}
            await chunks_repository.write_chunks(session, subject, batch)
            carried = await carrying.carry_texts(session, subject, tokens)
            if count == len(batch) and not carried:
                await self._chunks.keep(session, batch)
        reached("chunked")

    async def _with_descriptions(self, subject: Subject, parsed: ParsedDocument, title: str) -> ParsedDocument:
        """What the model says of tables is kept in the parsed form before anything is made of it.

        Raises `Postponed` as `_embed` does: a slow model takes minutes for many tables.
        """
        models, tokens = self._parts.chat_models, self._parts.embedder.tokens
        known: dict[str, str] = {}
        if subject.document.active_generation is not None and any(one.table is not None for one in parsed.elements):
            with suppress(NotFound):
                before = await self._load_parsed(subject.document.active_generation)
                known = await asyncio.to_thread(describing.said_of_tables, before, title, tokens)
        begun = time.monotonic()

        async def keep(described: ParsedDocument) -> None:
            await self._store_described(described)
            await self._log.flush()  # the next attempt begins with this stage
            await self._give_way(begun)

        described, warnings = await describing.describe_tables(models, tokens, parsed, title, known, keep)
        if described is not parsed:
            await self._store_described(described)
        return described.model_copy(update={"warnings": [*parsed.warnings, *warnings]})

    async def _store_described(self, described: ParsedDocument) -> None:
        """Under the lease: whoever has taken over meanwhile has asked as well, and made chunks of its answers."""
        async with self._parts.database.write(self._scope) as session:
            await self._parts.ledger.hold(session, self._lease)
            await self._store_parsed(described)

    async def _embed(self, _: Subject) -> None:
        """Embeds what is not in the cache yet, a batch a transaction; the last one ends the stage.

        Raises `Postponed` where it has had its turn and something waits that comes before it.
        """
        total, done = await self._chunks.count_texts()
        self._log.progress(done, total)
        begun = time.monotonic()
        last: dict[bytes, Vectors] = {}
        async with aclosing(self._made_vectors()) as made:
            async for vectors, is_last in made:
                if is_last:
                    last = vectors
                    break
                async with self._parts.database.write(self._scope) as session:
                    await self._add_vectors(session, vectors)
                self._embedded += len(vectors)
                done += len(vectors)
                self._log.progress(done, total)
                reached("embedding")
                await self._give_way(begun)
        self._log.progress(total, total)
        async with self._leaving("index") as session:
            await self._add_vectors(session, last)
        self._embedded += len(last)
        reached("embedded")

    async def _add_vectors(self, session: WriteSession, made: Mapping[bytes, Vectors]) -> None:
        """Caches them under the lease; the same transaction counts them, so that no attempt's are lost or doubled."""
        operation = await self._parts.ledger.hold(session, self._lease)
        await vectors_repository.add_vectors(session, self._lease.tenant_id, self._parts.embedder.space.name, made)
        operation.counts = {"embedded": self._embedded + len(made)}

    async def _made_vectors(self) -> AsyncGenerator[tuple[dict[bytes, Vectors], bool], None]:
        """Vectors of a batch of texts that have none yet, by hash, and whether it is the last.

        While the caller writes one batch the next one is embedded, and no other.
        """
        batches = self._chunks.unembedded()
        embedding = self._embedding(await anext(batches, None))
        try:
            while embedding is not None:
                following = await anext(batches, None)
                vectors = await embedding
                embedding = self._embedding(following)
                yield vectors, embedding is None
        finally:
            if embedding is not None:
                embedding.cancel()
                await asyncio.gather(embedding, return_exceptions=True)

    def _embedding(self, batch: Mapping[bytes, str] | None) -> asyncio.Task[dict[bytes, Vectors]] | None:
        return None if batch is None else asyncio.create_task(self._embedded_batch(batch))

    async def _embedded_batch(self, batch: Mapping[bytes, str]) -> dict[bytes, Vectors]:
        vectors = await projection.embed(self._parts, batch)
        self._chunks.keep_vectors(vectors)
        return vectors

    async def _give_way(self, begun: float) -> None:
        """Raises `Postponed` where the attempt has had its turn and something waits that comes before it."""
        turn = Turn(self._lease.tenant_id, self._lease.operation_id)
        if time.monotonic() - begun >= TURN_SECONDS and await others_wait(self._parts.database, turn):
            raise Postponed("Something smaller or of another tenant has waited for a worker; this goes on afterwards.")

    async def _index(self, subject: Subject) -> None:
        """Writes every chunk to both indexes; when both have answered, both see all of them."""
        self._indexed_facts = repository.facts(subject)
        done = 0
        async for batch in self._chunks.batches():
            await projection.side_by_side(self._write_vectors(batch), self._write_terms(batch))
            done += len(batch.chunks)
            self._log.progress(done)
        self._log.enter("verify")

    async def _write_vectors(self, batch: Batch) -> None:
        await projection.write_vectors(self._parts, self._scope, batch)
        reached("vectors_written")

    async def _write_terms(self, batch: Batch) -> None:
        await projection.write_terms(self._parts, self._scope, batch, self._lease.fencing)
        reached("terms_written")

    async def _verify(self, _: Subject) -> None:
        """Both indexes must hold exactly the chunks that Postgres holds."""
        expected = await self._chunks.ids()
        self._chunk_count = len(expected)
        indexes: tuple[tuple[str, VectorIndex | TextIndex], ...] = (
            ("vector index", self._parts.vectors),
            ("term index", self._parts.texts),
        )
        for name, index in indexes:
            found = await self._ids_in(index)
            if found != expected:
                await index.delete(self._scope, sorted(found - expected))
                raise EngineUnavailable(
                    f"The {name} holds {len(found & expected)} of the {len(expected)} chunks of this document and "
                    f"{len(found - expected)} that are not of it. It is indexed again.",
                    code="verification_failed",
                )
        self._log.progress(len(expected), len(expected))
        reached("verified")

    async def _activate(self) -> None:
        count = self._chunk_count
        async with self._log.moving(None) as session:
            subject = await self._locked(session)
            await self._parts.ledger.hold(session, self._lease)
            self._log.enter("activate")
            self._log.progress(count, count)
            if (subject.document.active_generation or 0) > self._generation:
                raise Cancelled("A newer version of the document is active already.")
            changes = await carrying.carry_changes(session, subject)
            await repository.activate(session, subject, count, subject.generation.settings.get("pages"))
            kb_id = subject.document.knowledge_base_id
            if self._generation > 1:
                self._enqueue(session, OperationKind.PURGE, kb_id)
            # What was changed while this went on: texts of the version before, tags or metadata.
            if changes.pending or self._indexed_facts != repository.facts(subject):
                self._enqueue(session, OperationKind.REINDEX, kb_id)
            embedded = min(self._embedded, count)  # a vector that a purge took may have been made twice
            counts = {"chunks": count, "embedded": embedded, "reused": count - embedded, **changes.counts}
            await self._parts.ledger.succeed(session, self._lease, counts)
        reached("activated")

    # --- what the stages share ----------------------------------------------------------------------------------

    def _enqueue(self, session: WriteSession, kind: OperationKind, kb_id: UUID) -> None:
        self._parts.ledger.enqueue(session, self._scope, kind, knowledge_base_id=kb_id, document_id=self._document_id)

    async def _locked(self, session: WriteSession) -> Subject:
        """The document as it is now, locked before the operation is."""
        subject = await repository.subject(session, self._document_id, self._generation, lock=True)
        if subject is None:
            raise Cancelled("The document was deleted.")
        return subject

    @asynccontextmanager
    async def _leaving(self, following: str) -> AsyncIterator[WriteSession]:
        """The transaction that takes a stage's result under the lease and begins the following stage."""
        async with self._log.moving(following) as session:
            await self._parts.ledger.hold(session, self._lease)
            yield session

    @property
    def _cells_key(self) -> str:
        return projection.cells_key(self._document_id, self._generation)

    async def _load_parsed(self, generation: int | None = None) -> ParsedDocument:
        """Of the generation that is made, or of another one. Raises `NotFound`."""
        key = projection.parsed_key(self._document_id, self._generation if generation is None else generation)
        with self._scratch_file() as path:
            await self._parts.blobs.fetch(self._scope, key, path)
            return await asyncio.to_thread(_read, path)

    async def _store_parsed(self, parsed: ParsedDocument) -> None:
        with self._scratch_file() as path:
            await asyncio.to_thread(parsed.write, path)
            await self._parts.blobs.put_file(
                self._scope, projection.parsed_key(self._document_id, self._generation), path
            )

    @contextmanager
    def _scratch_file(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="parsed-", dir=self._parts.settings.scratch_dir) as scratch:
            yield Path(scratch) / "parsed.json"

    async def _ids_in(self, index: VectorIndex | TextIndex) -> set[UUID]:
        held = index.scan(self._scope, document_id=self._document_id, generation=self._generation)
        return {item.chunk_id async for item in held}


def _read(path: Path) -> ParsedDocument:
    with path.open("rb") as file:
        return ParsedDocument.read(file)


def _first_stage(stopped_in: str | None) -> str:
    """Where the next attempt begins. What the indexes hold is not trusted: after them it begins at them again."""
    if stopped_in in ("verify", "activate"):
        return "index"
    return stopped_in if stopped_in in STAGES else STAGES[0]


def _title(subject: Subject, parsed: ParsedDocument) -> str:
    """As whoever sent it calls it, which may be nothing at all; else as the file itself, else its name."""
    given = subject.generation.settings.get("title")
    return str(given) if given is not None else parsed.title or Path(subject.generation.file_name).stem
