"""What is deleted or superseded leaves every store, and a receipt says how much it was."""

from uuid import UUID

from app.core.errors import EngineUnavailable
from app.knowledge_bases import service as knowledge_bases
from app.models import GenerationState, OperationState
from tests.ingestion.bench import Bench, prose


async def fails() -> None:
    raise EngineUnavailable("It does not answer.")


async def queued(bench: Bench) -> UUID:
    (operation,) = await bench.operations(OperationState.QUEUED)
    return operation.id


async def test_a_superseded_version_leaves_the_new_one_alone(bench: Bench) -> None:
    document_id = await bench.ingested(prose("quartz", 3), external_id="stone")
    blobs_of_first = await bench.blobs()
    await bench.ingested(prose("granite", 4), external_id="stone")
    assert await bench.generations(document_id) == {1: GenerationState.PURGED, 2: GenerationState.ACTIVE}
    held = await bench.held(document_id)
    assert held.agreed
    assert len(held.chunks) == 4
    assert not await bench.blobs() & blobs_of_first
    assert await bench.cached_vectors() == 4
    assert (await bench.verify()).clean


async def test_a_deleted_document_is_gone_from_every_store_and_has_a_receipt(bench: Bench) -> None:
    document_id, kept = await bench.ingested(prose("basalt", 3)), await bench.ingested(prose("slate", 2))
    await bench.delete(document_id)
    assert (await bench.receipt(document_id)).purged_at is None
    await bench.work()
    held = await bench.held(document_id)
    assert (held.chunks, held.vectors, held.terms) == (set(), set(), set())
    receipt = await bench.receipt(document_id)
    assert receipt.purged_at is not None
    assert receipt.requested_by == bench.scope.principal_id
    assert receipt.counts == {"chunks": 3, "vectors": 3, "terms": 3, "blobs": 2}
    assert len((await bench.held(kept)).chunks) == await bench.cached_vectors() == 2
    assert (await bench.verify()).clean


async def test_a_purge_that_breaks_off_goes_on_and_its_receipt_is_complete(bench: Bench) -> None:
    document_id = await bench.ingested(prose("marble", 3))
    await bench.delete(document_id)
    operation_id = await queued(bench)
    for engine, method in (("vectors", "delete"), ("texts", "delete"), ("blobs", "delete")):
        await bench.pass_time(operation_id)
        await bench.interposed(engine, method, before=fails).run(operation_id)
        assert (await bench.operation(operation_id)).state is OperationState.QUEUED
    await bench.work()
    assert (await bench.receipt(document_id)).counts == {"chunks": 3, "vectors": 3, "terms": 3, "blobs": 2}
    assert (await bench.verify()).clean


async def test_what_two_purges_at_once_remove_is_counted_once(bench: Bench) -> None:
    """The purge of the version before has not begun when the document is deleted, so each of the two purges all."""
    document_id = await bench.ingested(prose("jade", 3), external_id="stone")
    upload = await bench.upload(prose("onyx", 4), external_id="stone")
    assert upload.operation is not None
    await bench.run(upload.operation.id)
    await bench.delete(document_id)
    first, second = await bench.operations(OperationState.QUEUED)

    async def overtake() -> None:
        await bench.run(second.id)

    await bench.interposed("blobs", "delete", before=overtake).run(first.id)
    counts = {"chunks": 7, "vectors": 7, "terms": 7, "blobs": 4}
    assert (await bench.receipt(document_id)).counts == counts
    assert (await bench.operation(second.id)).counts == counts
    assert (await bench.operation(first.id)).counts == {}
    assert (await bench.verify()).clean


async def test_a_deleted_knowledge_base_takes_its_documents_along(bench: Bench) -> None:
    document_ids = [await bench.ingested(prose(name)) for name in ("chalk", "flint")]
    unfinished = await bench.upload(prose("gneiss"))
    async with bench.parts.database.write(bench.scope) as session:
        await knowledge_bases.delete(session, bench.scope, bench.parts, bench.kb_id)
    await bench.work()
    for document_id in (*document_ids, unfinished.document.id):
        held = await bench.held(document_id)
        assert (held.chunks, held.vectors, held.terms) == (set(), set(), set())
        assert (await bench.receipt(document_id)).purged_at is not None
    assert (await bench.blobs(), await bench.cached_vectors()) == (set(), 0)
    assert (await bench.verify()).clean


async def test_a_knowledge_base_deleted_during_an_ingestion_ends_it(bench: Bench) -> None:
    await bench.ingested(prose("shale", 2))
    upload = await bench.upload(prose("schist", 3))
    assert upload.operation is not None

    async def delete() -> None:
        async with bench.parts.database.write(bench.scope) as session:
            await knowledge_bases.delete(session, bench.scope, bench.parts, bench.kb_id)
        purges.append(await queued(bench))
        await bench.run(purges[0])

    purges: list[UUID] = []
    await bench.interposed("vectors", "upsert", before=delete).run(upload.operation.id)
    assert (await bench.operation(upload.operation.id)).state is OperationState.CANCELLED
    await bench.work()
    held = await bench.held(upload.document.id)
    assert (held.chunks, held.vectors, held.terms) == (set(), set(), set())
    assert (await bench.blobs(), await bench.cached_vectors()) == (set(), 0)
    counts = {"chunks": 5, "vectors": 5, "terms": 5, "blobs": 4}
    assert (await bench.operation(purges[0])).counts == counts, "before it was postponed and afterwards"


async def test_vectors_of_a_text_stay_as_long_as_another_document_has_it(bench: Bench, neighbour: Bench) -> None:
    await neighbour.ingested(prose("opal", 2))
    first, second = [await bench.ingested(prose("opal", 2), external_id=name) for name in ("one", "two")]
    in_cache = await bench.cached_vectors()
    await bench.delete(first)
    await bench.work()
    assert 0 < await bench.cached_vectors() <= in_cache
    assert len((await bench.held(second)).chunks) == 2
    await bench.delete(second)
    await bench.work()
    assert await bench.cached_vectors() == 0
    assert await neighbour.cached_vectors() == 2
