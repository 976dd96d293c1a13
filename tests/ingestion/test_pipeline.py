"""One generation from upload to activation, with everything that may happen to it on the way."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import event

from app.core import ledger, stages
from app.core.database import WriteSession
from app.core.errors import EngineUnavailable, LeaseLost, Postponed
from app.core.ids import chunk_id
from app.core.ledger import INTERRUPTED
from app.core.slots import TenantSlots
from app.documents.accepting import Upload
from app.ingestion import (
    checkpoints,
    chunks_repository,
    passwords,
    pipeline,
    projection,
    searched,
    service,
    vectors_repository,
)
from app.ingestion.pipeline import STAGES, Ingestion
from app.ingestion.repository import Subject
from app.ingestion.searched import SearchedChunks
from app.models import Chunk, DocumentStatus, Generation, GenerationState, OperationState
from app.parsing.document import ParsedDocument
from app.parsing.sandbox import parse_file
from app.ports.indexes import ChunkSource
from app.ports.parts import Parts
from app.ports.text_index import TermDocument
from app.ports.vector_index import Vectors
from tests.ingestion.bench import Bench, prose


async def fails() -> None:
    raise EngineUnavailable("It does not answer.")


def operation_of(upload: object) -> UUID:
    operation = getattr(upload, "operation", None)
    assert operation is not None
    found: UUID = operation.id
    return found


async def test_stages_are_recorded_with_their_counts(bench: Bench) -> None:
    upload = await bench.upload(prose("lighthouse", 5))
    await bench.run(operation_of(upload))
    operation = await bench.operation(operation_of(upload))
    assert (operation.state, operation.percent, operation.stage) == (OperationState.SUCCEEDED, 100, None)
    assert operation.counts == {"chunks": 5, "embedded": 5, "reused": 0}
    stages = await bench.stages(operation.id)
    assert [stage.stage for stage in stages] == list(STAGES)
    assert all(stage.finished_at is not None and stage.error_code is None for stage in stages)
    assert {stage.stage: stage.done for stage in stages if stage.stage != "parse"} == dict.fromkeys(STAGES[1:], 5)
    document = await bench.document(upload.document.id)
    assert (document.status, document.active_generation, document.chunk_count) == (DocumentStatus.READY, 1, 5)
    assert (await bench.held(document.id)).agreed
    assert (await bench.verify()).clean


async def test_no_more_files_are_parsed_at_once_than_there_are_parsers(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = replace(bench, parts=replace(bench.parts, parsers=TenantSlots(1)))
    uploads = [await bench.upload(prose(bird, 1)) for bird in ("wren", "robin", "dunnock")]
    now, most = 0, 0

    async def counted(path: Path, **named: Any) -> ParsedDocument:
        nonlocal now, most
        now += 1
        most = max(most, now)
        try:
            await asyncio.sleep(0.1)  # time for another one
            return await parse_file(path, **named)
        finally:
            now -= 1

    monkeypatch.setattr(pipeline, "parse_file", counted)
    await asyncio.gather(*(worker.run(operation_of(upload)) for upload in uploads))
    assert most == 1
    assert {document.status for document in await bench.documents()} == {DocumentStatus.READY}


async def test_chunks_of_a_large_document_are_written_as_they_are_made(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "CHUNK_BATCH", 2)
    write, written = chunks_repository.write_chunks, 0

    async def fails_at_the_third(
        session: WriteSession, subject: Subject, rows: Sequence[chunks_repository.ChunkRow]
    ) -> None:
        nonlocal written
        written += 1
        if written == 3:
            await fails()
        await write(session, subject, rows)

    upload = await bench.upload(prose("mole", 7))
    with monkeypatch.context() as patch:
        patch.setattr(chunks_repository, "write_chunks", fails_at_the_third)
        await bench.run(operation_of(upload))
    assert (await bench.operation(operation_of(upload))).stage == "chunk"
    assert len((await bench.held(upload.document.id, 1)).chunks) == 4
    await bench.work()
    assert (await bench.operation(operation_of(upload))).counts["chunks"] == 7
    assert (await bench.held(upload.document.id)).agreed
    assert (await bench.verify()).clean


async def test_a_retry_embeds_only_what_is_not_embedded_yet(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched, "EMBED_BATCH", 2)
    upload = await bench.upload(prose("harbour", 5))

    async def first_batch_then_failure() -> None:
        engine = bench.interposed("embedder", "embed_passages", before=fails).parts.embedder
        object.__setattr__(worker.parts, "embedder", engine)

    worker = bench.interposed("embedder", "embed_passages", after=first_batch_then_failure)
    await worker.run(operation_of(upload))
    operation = await bench.operation(operation_of(upload))
    assert (operation.state, operation.error_code) == (OperationState.QUEUED, "engine_unavailable")
    assert await bench.cached_vectors() == 2
    await bench.work()
    operation = await bench.operation(operation.id)
    assert operation.counts == {"chunks": 5, "embedded": 5, "reused": 0}, "two by the first attempt"
    stages = [(stage.attempt, stage.stage, stage.error_code) for stage in await bench.stages(operation.id)]
    assert stages[2:4] == [(1, "embed", "engine_unavailable"), (2, "embed", None)]


async def test_a_resumed_attempt_reads_only_what_is_left_to_embed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searched, "EMBED_BATCH", 2)
    monkeypatch.setattr(searched, "UNEMBEDDED_PAGE", 2)
    upload = await bench.upload(prose("quay", 7))

    async def stop(_: Ingestion, __: float) -> None:
        raise Postponed("After its first batch.")

    with monkeypatch.context() as patch:
        patch.setattr(Ingestion, "_give_way", stop)
        await bench.run(operation_of(upload))
    assert await bench.cached_vectors() == 2
    read: list[int] = []
    embedding = True

    def load(chunk: Chunk, _: object) -> None:
        if embedding:
            read.append(chunk.ordinal)

    def reached(point: str) -> None:
        nonlocal embedding
        embedding = embedding and point != "embedded"

    monkeypatch.setattr(checkpoints, "listeners", [reached])
    event.listen(Chunk, "load", load)
    try:
        await bench.work()
    finally:
        event.remove(Chunk, "load", load)
    assert len(read) == len(set(read)) == 5
    assert (await bench.document(upload.document.id)).status is DocumentStatus.READY
    assert (await bench.verify()).clean


async def test_the_next_batch_and_no_other_is_embedded_while_one_is_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searched, "EMBED_BATCH", 2)
    upload = await bench.upload(prose("jetty", 8))
    embedded, written = 0, 0
    one_more = asyncio.Event()
    embed, add = projection.embed, vectors_repository.add_vectors

    async def embed_counted(parts: Parts, texts: Mapping[bytes, str]) -> dict[bytes, Vectors]:
        nonlocal embedded
        vectors = await embed(parts, texts)
        embedded += 1
        one_more.set()
        return vectors

    async def add_slowly(session: WriteSession, tenant_id: UUID, space: str, vectors: dict[bytes, Vectors]) -> None:
        nonlocal written
        written += 1
        while embedded <= written < 4:
            one_more.clear()
            await asyncio.wait_for(one_more.wait(), 30)
        await asyncio.sleep(0.1)  # time for another one
        assert embedded == min(written + 1, 4)
        await add(session, tenant_id, space, vectors)

    monkeypatch.setattr(projection, "embed", embed_counted)
    monkeypatch.setattr(vectors_repository, "add_vectors", add_slowly)
    await Ingestion(bench.parts, await bench.claim(operation_of(upload))).run()
    assert (await bench.document(upload.document.id)).status is DocumentStatus.READY


async def test_what_another_version_embedded_is_not_embedded_again(bench: Bench) -> None:
    await bench.ingested(prose("tern", 3), external_id="tern")
    upload = await bench.upload(prose("tern", 4), external_id="tern")
    await bench.work()
    assert (await bench.operation(operation_of(upload))).counts == {"chunks": 4, "embedded": 1, "reused": 3}


async def test_every_chunk_is_counted_as_embedded_or_as_reused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that share a text share its vector: of them one is embedded. It counts in every attempt."""
    monkeypatch.setattr(searched, "EMBED_BATCH", 2)
    await bench.ingested(prose("plover", 3))
    verse = "# Verse\n\nAnd the tide came in, and the tide went out."
    upload = await bench.upload("\n\n".join([prose("plover", 5), verse, verse, verse]))
    await bench.interposed("texts", "upsert", before=fails).run(operation_of(upload))
    await bench.work()
    operation = await bench.operation(operation_of(upload))
    assert operation.counts == {"chunks": 8, "embedded": 3, "reused": 5}
    assert [stage.stage for stage in await bench.stages(operation.id)].count("embed") == 1


@pytest.mark.parametrize("engine", ["vectors", "texts"])
async def test_an_engine_that_fails_leaves_the_document_unfound_until_it_answers(bench: Bench, engine: str) -> None:
    upload = await bench.upload(prose("crane"))
    await bench.interposed(engine, "upsert", before=fails).run(operation_of(upload))
    assert (await bench.document(upload.document.id)).status is DocumentStatus.PROCESSING
    assert (await bench.document(upload.document.id)).active_generation is None
    await bench.work()
    assert (await bench.document(upload.document.id)).status is DocumentStatus.READY
    assert (await bench.verify()).clean


async def test_both_indexes_are_written_at_the_same_time(bench: Bench) -> None:
    upload = await bench.upload(prose("rail"))
    terms_begun = asyncio.Event()

    async def begin() -> None:
        terms_begun.set()

    async def wait() -> None:
        await asyncio.wait_for(terms_begun.wait(), 30)

    worker = bench.interposed("vectors", "upsert", before=wait).interposed("texts", "upsert", before=begin)
    await worker.run(operation_of(upload))
    assert (await bench.document(upload.document.id)).status is DocumentStatus.READY


@pytest.mark.parametrize(("failing", "slow"), [("vectors", "texts"), ("texts", "vectors")])
async def test_no_write_goes_on_after_the_other_index_has_failed(bench: Bench, failing: str, slow: str) -> None:
    """Else it might come after those of the next attempt."""
    upload = await bench.upload(prose("crake"))
    ended: list[str] = []

    async def go_on() -> None:
        await asyncio.sleep(0.5)
        ended.append(slow)

    worker = bench.interposed(failing, "upsert", before=fails).interposed(slow, "upsert", before=go_on)
    await worker.run(operation_of(upload))
    assert ended == [slow]
    operation = await bench.operation(operation_of(upload))
    assert (operation.state, operation.error_code) == (OperationState.QUEUED, "engine_unavailable")


async def test_an_engine_that_never_answers_ends_in_a_reason(bench: Bench) -> None:
    upload = await bench.upload(prose("stork"))
    for _ in range(3):
        await bench.pass_time(operation_of(upload))
        await bench.interposed("texts", "upsert", before=fails).run(operation_of(upload))
    document = await bench.document(upload.document.id)
    assert (document.status, document.error_code) == (DocumentStatus.FAILED, "engine_unavailable")
    async with bench.parts.database.write(bench.scope) as session:
        await service.retry(session, bench.parts, operation_of(upload))
    await bench.work()
    assert (await bench.document(document.id)).status is DocumentStatus.READY
    again = [stage.stage for stage in await bench.stages(operation_of(upload))][-3:]
    assert again == ["index", "verify", "activate"]


async def test_metadata_changed_meanwhile_reaches_both_indexes(bench: Bench) -> None:
    upload = await bench.upload(prose("gull"), tags=["old"], metadata={"year": 2025})
    document_id = upload.document.id

    async def change() -> None:
        await bench.change(document_id, tags=["new"], metadata={"year": 2026})

    await bench.interposed("vectors", "upsert", after=change).run(operation_of(upload))
    await bench.work()
    chunks = (await bench.held(document_id)).chunks
    assert await bench.found_by(tags_any=("new",)) == (chunks, chunks)
    assert await bench.found_by(metadata={"year": (2026,)}) == (chunks, chunks)
    assert await bench.found_by(tags_any=("old",)) == (set(), set())


async def test_of_two_reindexings_at_once_the_newer_facts_stay(bench: Bench) -> None:
    document_id = await bench.ingested(prose("auk"), tags=["first"])
    await bench.change(document_id, tags=["second"])
    (slow,) = await bench.operations(OperationState.QUEUED)

    async def overtake() -> None:
        await bench.change(document_id, tags=["third"])
        (fast,) = await bench.operations(OperationState.QUEUED)
        await bench.run(fast.id)

    await bench.interposed("vectors", "update_source", before=overtake).run(slow.id)
    chunks = (await bench.held(document_id)).chunks
    assert await bench.found_by(tags_any=("third",)) == (chunks, chunks)
    assert await bench.found_by(tags_any=("second",)) == (set(), set())


async def test_a_late_reindexing_does_not_bring_old_facts_back(bench: Bench) -> None:
    """It was silent for longer than its lease, and learns that only after its write."""
    document_id = await bench.ingested(prose("auk"), tags=["first"])
    await bench.change(document_id, tags=["second"])
    (slow,) = await bench.operations(OperationState.QUEUED)

    async def overtake() -> None:
        await bench.lose_lease(slow.id)
        await bench.change(document_id, tags=["third"])
        await bench.work()

    async def notice() -> None:
        raise LeaseLost("As the heartbeat would tell it.")

    await bench.interposed("vectors", "update_source", before=overtake, after=notice).run(slow.id)
    await bench.work()
    chunks = (await bench.held(document_id)).chunks
    assert await bench.found_by(tags_any=("third",)) == (chunks, chunks)
    assert await bench.found_by(tags_any=("second",)) == (set(), set())


async def test_while_a_tenants_document_is_worked_on_the_next_turn_is_anothers(bench: Bench, neighbour: Bench) -> None:
    first, second = await bench.upload(prose("tern", 3)), await bench.upload(prose("skua", 3))
    others: list[Upload] = []

    async def another_worker() -> None:
        others.append(await neighbour.upload(prose("puffin", 3)))
        await bench.run(operation_of(second))  # what its message names

    await bench.interposed("vectors", "upsert", before=another_worker).run(operation_of(first))
    assert (await neighbour.operation(operation_of(others[0]))).state is OperationState.SUCCEEDED
    assert (await bench.operation(operation_of(second))).state is OperationState.QUEUED
    await bench.run(operation_of(others[0]))  # the other tenant's message, whose work is done: nothing of it is lost
    assert (await bench.operation(operation_of(second))).state is OperationState.SUCCEEDED


async def test_an_operation_whose_message_was_lost_does_not_wait_for_all_that_come_after_it(bench: Bench) -> None:
    older, newer = await bench.upload(prose("petrel", 2)), await bench.upload(prose("grebe", 2))
    await bench.run(operation_of(newer))
    assert (await bench.operation(operation_of(older))).state is OperationState.SUCCEEDED
    assert (await bench.operation(operation_of(newer))).state is OperationState.QUEUED


@pytest.mark.parametrize("own", [True, False])
async def test_a_large_document_gives_way_to_a_small_one_and_goes_on_where_it_stopped(
    own: bool, bench: Bench, neighbour: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its own tenant, or another."""
    other = bench if own else neighbour
    monkeypatch.setattr(pipeline, "TURN_SECONDS", 0.0)
    monkeypatch.setattr(ledger, "BYTES_A_SECOND", 1)
    large = await bench.upload(prose("gannet", 3 * searched.EMBED_BATCH))
    others: list[Upload] = []

    async def another_uploads() -> None:
        others.append(await other.upload(prose("fulmar", 3)))
        await other.pass_time(operation_of(others[0]))

    await bench.interposed("embedder", "embed_passages", after=another_uploads).run(operation_of(large))
    operation = await bench.operation(operation_of(large))
    assert (operation.state, operation.stage, operation.attempts) == (OperationState.QUEUED, "embed", 0)
    await other.run(operation_of(others[0]))
    assert (await other.operation(operation_of(others[0]))).state is OperationState.SUCCEEDED
    await bench.work()
    operation = await bench.operation(operation_of(large))
    assert operation.state is OperationState.SUCCEEDED
    chunks = len((await bench.held(large.document.id)).chunks)
    assert operation.counts == {"chunks": chunks, "embedded": chunks, "reused": 0}
    assert (await bench.verify()).clean


async def test_a_turn_is_as_long_however_long_it_takes_to_find_what_is_left(
    bench: Bench, neighbour: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a very large document would embed one batch a turn."""
    clock = {"now": 0.0}
    monkeypatch.setattr(pipeline, "time", SimpleNamespace(monotonic=lambda: clock["now"]))
    large = await bench.upload(prose("gannet", 2 * searched.EMBED_BATCH))
    waiting = await neighbour.upload(prose("fulmar", 3))
    find = SearchedChunks.count_texts

    async def slowly(chunks: SearchedChunks) -> tuple[int, int]:
        clock["now"] += 2 * pipeline.TURN_SECONDS
        await neighbour.pass_time(operation_of(waiting))
        return await find(chunks)

    monkeypatch.setattr(SearchedChunks, "count_texts", slowly)
    await Ingestion(bench.parts, await bench.claim(operation_of(large))).run()
    assert (await bench.document(large.document.id)).status is DocumentStatus.READY


async def test_replaced_meanwhile_the_older_version_never_wins(bench: Bench) -> None:
    older = await bench.upload(prose("heron", 3), external_id="heron")

    async def replace() -> None:
        newer = await bench.upload(prose("new heron", 4), external_id="heron")
        assert newer.outcome == "replaced"
        await bench.run(operation_of(newer))

    await bench.interposed("texts", "upsert", before=replace).run(operation_of(older))
    assert (await bench.operation(operation_of(older))).state is OperationState.CANCELLED
    await bench.work()
    document = await bench.document(older.document.id)
    assert (document.status, document.active_generation, document.chunk_count) == (DocumentStatus.READY, 2, 4)
    assert await bench.generations(document.id) == {1: GenerationState.PURGED, 2: GenerationState.ACTIVE}
    held = await bench.held(document.id)
    assert held.agreed
    assert held.chunks == {chunk_id(document.id, 2, ordinal) for ordinal in range(4)}
    assert (await bench.verify()).clean


async def test_the_password_of_a_version_that_was_replaced_unread_is_forgotten(bench: Bench) -> None:
    older = await bench.upload(prose("egret", 2), external_id="egret")
    async with bench.parts.database.write(bench.scope) as session:
        generation = await session.get_one(Generation, (bench.scope.tenant_id, older.document.id, 1))
        generation.settings = generation.settings | {passwords.SETTING: "sealed"}
    await bench.ingested(prose("egret", 3), external_id="egret")
    async with bench.parts.database.read(bench.scope) as session:
        generation = await session.get_one(Generation, (bench.scope.tenant_id, older.document.id, 1))
    assert passwords.SETTING not in generation.settings


STEPS = [("blobs", "put_file"), ("embedder", "embed_passages"), ("vectors", "upsert"), ("texts", "scan")]


@pytest.mark.parametrize("step", STEPS, ids=[method for _, method in STEPS])
async def test_deleted_meanwhile_nothing_stays_behind(bench: Bench, step: tuple[str, str]) -> None:
    upload = await bench.upload(prose("eider"))

    async def delete() -> None:
        await bench.delete(upload.document.id)
        (purge,) = await bench.operations(OperationState.QUEUED)
        await bench.run(purge.id)  # too early: what it would miss is still being written
        assert (await bench.operation(purge.id)).state is OperationState.QUEUED
        assert (await bench.operation(purge.id)).attempts == 0

    await bench.interposed(*step, after=delete).run(operation_of(upload))
    assert (await bench.operation(operation_of(upload))).state is OperationState.CANCELLED
    await bench.work()
    await assert_gone(bench, upload.document.id)


async def assert_gone(bench: Bench, document_id: UUID) -> None:
    held = await bench.held(document_id)
    assert (held.chunks, held.vectors, held.terms) == (set(), set(), set())
    assert (await bench.blobs(), await bench.cached_vectors()) == (set(), 0)
    assert (await bench.receipt(document_id)).purged_at is not None
    assert (await bench.verify()).clean


@pytest.mark.parametrize("held_up", [("vectors", "upsert"), ("texts", "upsert"), ("blobs", "put_file")])
async def test_a_late_worker_of_a_deleted_document_leaves_nothing_behind(
    bench: Bench, held_up: tuple[str, str]
) -> None:
    """It was silent for longer than its lease; the document was deleted and purged before it went on with its write."""
    upload = await bench.upload(prose("puffin"))

    async def purge() -> None:
        await bench.delete(upload.document.id)
        await bench.lose_lease(operation_of(upload))
        await bench.work()
        await assert_gone(bench, upload.document.id)

    await bench.interposed(*held_up, before=purge).run(operation_of(upload))
    await bench.work()
    await assert_gone(bench, upload.document.id)


async def test_a_late_worker_does_not_bring_old_metadata_back(bench: Bench) -> None:
    upload = await bench.upload(prose("skua"), tags=["old"])
    document_id = upload.document.id

    async def overtake() -> None:
        await bench.lose_lease(operation_of(upload))
        await bench.work()
        await bench.change(document_id, tags=["new"])
        await bench.work()

    await bench.interposed("vectors", "upsert", before=overtake).run(operation_of(upload))
    await bench.work()
    chunks = (await bench.held(document_id)).chunks
    assert await bench.found_by(tags_any=("new",)) == (chunks, chunks)
    operation = await bench.operation(operation_of(upload))
    assert (operation.state, operation.attempts) == (OperationState.SUCCEEDED, 2)
    assert (await bench.verify()).clean


async def test_a_worker_that_was_taken_over_can_not_switch_to_what_it_has_made(bench: Bench) -> None:
    upload = await bench.upload(prose("dunlin"))

    async def overtake() -> None:
        await bench.lose_lease(operation_of(upload))
        await bench.claim(operation_of(upload))

    await bench.interposed("texts", "scan", after=overtake).run(operation_of(upload))
    operation, document = await bench.operation(operation_of(upload)), await bench.document(upload.document.id)
    assert (operation.state, document.active_generation) == (OperationState.RUNNING, None), "the other one goes on"
    await bench.lose_lease(operation.id)
    await bench.work()
    assert (await bench.document(upload.document.id)).active_generation == 1


@pytest.mark.parametrize("index", ["vectors", "texts"])
async def test_what_verification_misses_is_indexed_again(bench: Bench, index: str) -> None:
    upload = await bench.upload(prose("plover", 4))
    document_id = upload.document.id

    async def lose_one() -> None:
        await getattr(bench.parts, index).delete(bench.scope, [chunk_id(document_id, 1, 2)])

    await bench.interposed(index, "upsert", after=lose_one).run(operation_of(upload))
    operation = await bench.operation(operation_of(upload))
    assert (operation.state, operation.error_code) == (OperationState.QUEUED, "verification_failed")
    await bench.work()
    assert (await bench.document(document_id)).status is DocumentStatus.READY
    assert [stage.stage for stage in await bench.stages(operation.id) if stage.attempt == 2] == list(STAGES[3:])
    assert (await bench.verify()).clean


async def test_what_is_not_of_the_generation_is_removed_and_verified_again(bench: Bench) -> None:
    upload = await bench.upload(prose("knot"))
    document = upload.document

    async def add_one() -> None:
        source = ChunkSource(chunk_id(document.id, 1, 99), bench.kb_id, document.id, 1, document.created_at)
        await bench.parts.texts.upsert(bench.scope, [TermDocument(source, ("stray",), 1)])

    await bench.interposed("texts", "upsert", after=add_one).run(operation_of(upload))
    await bench.work()
    assert (await bench.document(document.id)).status is DocumentStatus.READY
    assert (await bench.held(document.id)).agreed


@pytest.mark.parametrize("step", STEPS, ids=[method for _, method in STEPS])
async def test_cancelled_meanwhile_it_is_not_activated(bench: Bench, step: tuple[str, str]) -> None:
    upload = await bench.upload(prose("dunlin"))

    async def cancel() -> None:
        async with bench.parts.database.write(bench.scope) as session:
            await service.cancel(session, bench.parts, operation_of(upload))

    await bench.interposed(*step, after=cancel).run(operation_of(upload))
    document = await bench.document(upload.document.id)
    assert (document.status, document.error_code) == (DocumentStatus.FAILED, "cancelled")
    assert document.active_generation is None
    async with bench.parts.database.write(bench.scope) as session:
        await service.retry(session, bench.parts, operation_of(upload))
    await bench.work()
    assert (await bench.document(document.id)).status is DocumentStatus.READY


@pytest.mark.parametrize(("engine", "method"), [("blobs", "fetch"), ("embedder", "embed_passages")])
async def test_a_cancellation_ends_what_would_take_for_ever(
    bench: Bench, engine: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "RECORD_SECONDS", 0.1)
    upload = await bench.upload(prose("turnstone"))

    async def cancel_and_hang() -> None:
        async with bench.parts.database.write(bench.scope) as session:
            await service.cancel(session, bench.parts, operation_of(upload))
        await asyncio.Event().wait()

    await bench.interposed(engine, method, before=cancel_and_hang).run(operation_of(upload))
    assert (await bench.operation(operation_of(upload))).state is OperationState.CANCELLED
    assert (await bench.document(upload.document.id)).error_code == "cancelled"


async def test_interrupted_it_is_handed_over_at_once(bench: Bench) -> None:
    upload = await bench.upload(prose("sanderling"))
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(bench.interposed("vectors", "upsert", before=hang).run(operation_of(upload)))
    await reached.wait()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    operation = await bench.operation(operation_of(upload))
    assert (operation.state, operation.attempts) == (OperationState.QUEUED, 0)
    assert (await bench.stages(operation.id))[-1].error_code == INTERRUPTED
    await bench.run(operation.id)
    assert (await bench.document(upload.document.id)).status is DocumentStatus.READY


async def test_a_document_that_kills_its_workers_fails_and_others_go_on(bench: Bench) -> None:
    poison, other = await bench.upload(prose("poison")), await bench.upload(prose("other"))
    for _ in range(3):
        await bench.pass_time(operation_of(poison))
        await bench.claim(operation_of(poison))
        await bench.lose_lease(operation_of(poison))
    await bench.run(operation_of(other))
    assert (await bench.document(other.document.id)).status is DocumentStatus.READY
    await bench.work()
    document = await bench.document(poison.document.id)
    assert (document.status, document.error_code) == (DocumentStatus.FAILED, "worker_lost")


async def test_an_upload_that_is_known_leaves_no_second_original(bench: Bench) -> None:
    await bench.ingested(prose("ruff"), external_id="ruff")
    before = await bench.blobs()
    assert (await bench.upload(prose("ruff"), external_id="ruff")).outcome == "unchanged"
    assert await bench.blobs() == before
