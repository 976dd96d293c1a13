"""Texts of chunks that people change while engines fail, workers die and other people are at it too."""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from app.chunking.chunk import embedded_text
from app.chunks import service as chunks
from app.chunks.schemas import ChunkPatch
from app.core.errors import BigGraphError, EngineRejected, EngineUnavailable
from app.ingestion import edits, service
from app.models import Chunk, ChunkEdit, Operation, OperationKind, OperationState
from app.terms import index_terms
from tests.ingestion.bench import Bench, prose

Ending = Callable[[Bench, UUID], Awaitable[None]]
NEW, NEWER = "Zeppelins land on the roof.", "Submarines surface in the bay."


async def first_chunk(bench: Bench, document_id: UUID) -> Chunk:
    """Of the newest generation."""
    query = select(Chunk).where(Chunk.document_id == document_id).order_by(Chunk.generation.desc(), Chunk.ordinal)
    async with bench.parts.database.read(bench.scope) as session:
        return (await session.scalars(query.limit(1))).one()


async def all_chunks(bench: Bench, document_id: UUID) -> list[Chunk]:
    async with bench.parts.database.read(bench.scope) as session:
        query = select(Chunk).where(Chunk.document_id == document_id).order_by(Chunk.ordinal)
        return list(await session.scalars(query))


async def edit(bench: Bench, chunk: Chunk, text: str) -> Operation:
    async with bench.parts.database.write(bench.scope) as session:
        _, operation = await chunks.change(session, bench.scope, bench.parts, chunk.id, ChunkPatch(text=text))
    assert operation is not None
    return operation


async def text_of(bench: Bench, chunk: Chunk) -> str:
    async with bench.parts.database.read(bench.scope) as session:
        return (await session.get_one(Chunk, chunk.id)).text


async def holds(bench: Bench, chunk: Chunk, text: str) -> bool:
    """Whether both indexes hold the chunk with this very text."""
    whole = embedded_text("text", chunk.heading_path, text)
    (vector,) = await bench.parts.embedder.embed_passages([whole])
    score = (await bench.parts.vectors.score(bench.scope, vector, [chunk.id]))[chunk.id]
    terms = frozenset(index_terms(whole))
    known = terms | set(index_terms(f"{NEW} {NEWER} {chunk.text}"))
    held = (await bench.parts.texts.matched_terms(bench.scope, sorted(known), [chunk.id]))[chunk.id]
    return score > 0.9999 and held == terms


async def test_both_indexes_hold_what_is_read(bench: Bench) -> None:
    chunk = await first_chunk(bench, await bench.ingested(prose("fox")))
    before = await bench.cached_vectors()
    await edit(bench, chunk, NEW)
    assert await text_of(bench, chunk) == chunk.text
    await bench.work()
    assert await text_of(bench, chunk) == NEW
    assert await holds(bench, chunk, NEW)
    assert await bench.cached_vectors() == before, "the vector of the old text is gone, that of the new one is kept"
    assert (await bench.verify()).clean


async def failed_edit(bench: Bench, engine: str, error: BigGraphError) -> tuple[Chunk, Operation]:
    """A chunk whose edit has been tried once, with an index that gave an error: it is as it was, everywhere."""
    chunk = await first_chunk(bench, await bench.ingested(prose("fox")))

    async def refuse() -> None:
        raise error

    operation = await edit(bench, chunk, NEW)
    await bench.interposed(engine, "upsert", before=refuse).run(operation.id)
    assert await text_of(bench, chunk) == chunk.text
    assert await holds(bench, chunk, chunk.text), "both are put back, or were never written"
    return chunk, await bench.operation(operation.id)


@pytest.mark.parametrize("engine", ["vectors", "texts"])
async def test_an_index_that_fails_leaves_old_and_old(bench: Bench, engine: str) -> None:
    chunk, operation = await failed_edit(bench, engine, EngineUnavailable("It is down."))
    assert operation.state is OperationState.QUEUED
    await bench.work()
    assert await text_of(bench, chunk) == NEW
    assert await holds(bench, chunk, NEW)


@pytest.mark.parametrize("engine", ["vectors", "texts"])
async def test_an_index_that_refuses_leaves_old_and_old_until_somebody_retries(bench: Bench, engine: str) -> None:
    """A refusal is not tried again by itself, so what the other index was given would stay."""
    chunk, operation = await failed_edit(bench, engine, EngineRejected("It does not fit."))
    assert operation.state is OperationState.FAILED
    async with bench.parts.database.write(bench.scope) as session:
        await service.retry(session, bench.parts, operation.id)
    await bench.work()
    assert await text_of(bench, chunk) == NEW
    assert await holds(bench, chunk, NEW)


class Refusing:
    """An engine that refuses all calls of a method but the first ones."""

    def __init__(self, engine: object, method: str, *, after: int) -> None:
        self._engine, self._method, self._left = engine, method, after

    def __getattr__(self, name: str) -> Any:
        if name == self._method:
            self._left -= 1
            if self._left < 0:
                raise EngineRejected("It does not fit.")
        return getattr(self._engine, name)


@pytest.mark.parametrize(
    ("engine", "method"), [("vectors", "upsert"), ("texts", "upsert"), ("embedder", "embed_passages")]
)
async def test_of_many_edits_each_batch_takes_effect_or_does_not(
    bench: Bench, engine: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five edits in batches of two, of which the second is refused."""
    monkeypatch.setattr(edits, "BATCH", 2)
    document_id = await bench.ingested(prose("fox", 5))
    before = await all_chunks(bench, document_id)
    texts = [f"{NEW} Number {number}." for number in range(5)]
    operations = [await edit(bench, chunk, text) for chunk, text in zip(before, texts, strict=True)]
    refusing: dict[str, Any] = {engine: Refusing(getattr(bench.parts, engine), method, after=1)}
    worker = dataclasses.replace(bench, parts=dataclasses.replace(bench.parts, **refusing))
    await worker.run(operations[0].id)
    assert (await bench.operation(operations[0].id)).state is OperationState.FAILED
    read = await all_chunks(bench, document_id)
    assert [chunk.text for chunk in read] == texts[:2] + [chunk.text for chunk in before[2:]]
    assert [chunk.pending_text for chunk in read] == [None, None, *texts[2:]], "it tells what has not taken effect"
    for chunk in read:
        assert await holds(bench, chunk, chunk.text)
    await bench.work()  # the other operations carry out what is left
    assert [chunk.text for chunk in await all_chunks(bench, document_id)] == texts
    for chunk, text in zip(before, texts, strict=True):
        assert await holds(bench, chunk, text)
    assert (await bench.verify()).clean


@pytest.mark.parametrize("engine", ["vectors", "texts"])
async def test_a_second_edit_while_the_first_is_written(bench: Bench, engine: str) -> None:
    chunk = await first_chunk(bench, await bench.ingested(prose("fox")))

    async def edit_again() -> None:
        await edit(bench, chunk, NEWER)

    operation = await edit(bench, chunk, NEW)
    await bench.interposed(engine, "upsert", before=edit_again).run(operation.id)
    assert await text_of(bench, chunk) == NEWER, "the first operation has seen it and carried it out"
    await bench.work()
    assert await text_of(bench, chunk) == NEWER
    assert await holds(bench, chunk, NEWER)


async def test_an_edit_taken_back_while_it_is_written(bench: Bench) -> None:
    chunk = await first_chunk(bench, await bench.ingested(prose("fox")))

    async def take_back() -> None:
        await edit(bench, chunk, chunk.text)

    operation = await edit(bench, chunk, NEW)
    await bench.interposed("vectors", "upsert", after=take_back).run(operation.id)
    assert await text_of(bench, chunk) == chunk.text
    assert await holds(bench, chunk, chunk.text)


async def test_a_worker_that_was_thought_dead_writes_late(bench: Bench) -> None:
    """It holds the vector of the first edit back until another worker has carried out the second one."""
    chunk = await first_chunk(bench, await bench.ingested(prose("fox")))
    operation = await edit(bench, chunk, NEW)

    async def taken_over() -> None:
        await bench.lose_lease(operation.id)
        await edit(bench, chunk, NEWER)
        await bench.work()
        assert await text_of(bench, chunk) == NEWER

    await bench.interposed("vectors", "upsert", before=taken_over).run(operation.id)
    await bench.work()
    assert await text_of(bench, chunk) == NEWER
    assert await holds(bench, chunk, NEWER)
    assert (await bench.verify()).clean


async def test_a_new_version_while_an_edit_is_written(bench: Bench) -> None:
    document_id = await bench.ingested(prose("fox"), external_id="one")
    chunk = await first_chunk(bench, document_id)
    operation = await edit(bench, chunk, NEW)

    async def replace() -> None:
        upload = await bench.upload(prose("hen"), external_id="one")
        assert upload.operation is not None
        await bench.run(upload.operation.id)
        for purge in await bench.operations(OperationState.QUEUED):
            if purge.kind is OperationKind.PURGE:
                await bench.run(purge.id)

    await bench.interposed("texts", "upsert", before=replace).run(operation.id)
    await bench.work()
    assert (await first_chunk(bench, document_id)).text.startswith("The hen")
    held = await bench.held(document_id)
    assert held.agreed, "nothing of the old version is left in an index"
    assert (await bench.verify()).clean


async def test_the_vector_of_an_edit_that_came_to_nothing_is_not_kept(bench: Bench) -> None:
    """A new version took the place of what was edited, and was edited as well before the first edit was carried out."""
    document_id = await bench.ingested(prose("fox", 3), external_id="one")
    operation = await edit(bench, await first_chunk(bench, document_id), NEW)

    async def replace_and_edit() -> None:
        upload = await bench.upload(prose("hen", 3), external_id="one")
        assert upload.operation is not None
        await bench.run(upload.operation.id)
        await edit(bench, await first_chunk(bench, document_id), NEWER)

    await bench.interposed("vectors", "upsert", after=replace_and_edit).run(operation.id)
    await bench.work()
    assert await text_of(bench, await first_chunk(bench, document_id)) == NEWER
    assert await bench.cached_vectors() == 3


async def test_a_document_deleted_while_an_edit_is_written(bench: Bench) -> None:
    document_id = await bench.ingested(prose("fox"))
    operation = await edit(bench, await first_chunk(bench, document_id), NEW)

    async def delete() -> None:
        await bench.delete(document_id)
        for purge in await bench.operations(OperationState.QUEUED):
            await bench.run(purge.id)

    await bench.interposed("texts", "upsert", before=delete).run(operation.id)
    await bench.work()
    held = await bench.held(document_id)
    assert (held.vectors, held.terms) == (set(), set())
    assert (await bench.verify()).clean


async def delete(bench: Bench, document_id: UUID) -> None:
    await bench.delete(document_id)


async def replace(bench: Bench, _: UUID) -> None:
    await bench.upload(prose("hen"), external_id="one")


@pytest.mark.parametrize("ends", [delete, replace])
@pytest.mark.parametrize("engine", ["vectors", "texts"])
async def test_a_late_worker_brings_no_edit_back_to_what_was_purged(bench: Bench, engine: str, ends: Ending) -> None:
    """It was silent for longer than its lease; the version was purged before it went on with its write."""
    document_id = await bench.ingested(prose("fox"), external_id="one")
    operation = await edit(bench, await first_chunk(bench, document_id), NEW)

    async def purge() -> None:
        await ends(bench, document_id)
        await bench.lose_lease(operation.id)
        await bench.work()

    await bench.interposed(engine, "upsert", before=purge).run(operation.id)
    await bench.work()
    assert (await bench.held(document_id)).agreed
    assert (await bench.verify()).clean


@pytest.mark.parametrize("ends", [delete, replace])
async def test_an_edit_that_fails_leaves_nothing_in_what_is_purged_meanwhile(bench: Bench, ends: Ending) -> None:
    document_id = await bench.ingested(prose("fox"), external_id="one")
    operation = await edit(bench, await first_chunk(bench, document_id), NEW)

    async def purge() -> None:
        await ends(bench, document_id)
        for _ in range(2):  # what is queued, and the purge that a new version asks for
            for queued in await bench.operations(OperationState.QUEUED):
                await bench.pass_time(queued.id)
                await bench.run(queued.id)

    async def refuse() -> None:
        raise EngineUnavailable("It is down.")

    worker = bench.interposed("texts", "upsert", before=purge).interposed("vectors", "upsert", before=refuse)
    await worker.run(operation.id)
    await bench.work()
    assert (await bench.held(document_id)).agreed
    assert (await bench.verify()).clean


async def test_repair_writes_an_edited_chunk_as_it_is_read(bench: Bench) -> None:
    chunk = await first_chunk(bench, await bench.ingested(prose("fox")))
    await edit(bench, chunk, NEW)
    await bench.work()
    await bench.parts.vectors.delete(bench.scope, [chunk.id])
    await bench.parts.texts.delete(bench.scope, [chunk.id])
    await bench.repair()
    assert await holds(bench, chunk, NEW)
    assert (await bench.verify()).clean


async def test_deleting_takes_the_history_with_it(bench: Bench) -> None:
    document_id = await bench.ingested(prose("fox"))
    await edit(bench, await first_chunk(bench, document_id), NEW)
    await bench.work()
    await bench.delete(document_id)
    await bench.work()
    async with bench.parts.database.read(bench.scope) as session:
        assert (await session.scalars(select(ChunkEdit))).all() == []
