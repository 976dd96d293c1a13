"""Every kind of difference between the stores, made by hand: found, mended, and nothing left for a second repair."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import delete, func, update

from app.core.ids import chunk_id, new_id
from app.core.scope import TenantScope
from app.ingestion.reconciler import TenantReport
from app.models import Document, GenerationState, KnowledgeBase, Operation, OperationKind, OperationState
from app.ports.indexes import ChunkSource
from app.ports.text_index import TermDocument
from app.ports.vector_index import VectorPoint
from tests.ingestion.bench import Bench, Held, prose


async def write_stray(bench: Bench, document_id: UUID, generation: int, ordinal: int) -> None:
    """An entry of both indexes that nothing in Postgres asks for."""
    chunk = chunk_id(document_id, generation, ordinal)
    source = ChunkSource(chunk, bench.kb_id, document_id, generation, datetime.now(UTC))
    vector = await bench.parts.embedder.embed_query("stray")
    await bench.parts.vectors.upsert(bench.scope, [VectorPoint(source, vector)])
    await bench.parts.texts.upsert(bench.scope, [TermDocument(source, ("stray",), 1)])


async def mended(bench: Bench) -> TenantReport:
    """What a repair found, after which there is nothing more to find."""
    found = await bench.repair()
    await bench.work()
    assert (await bench.verify()).clean
    again = await bench.repair()
    assert again.clean
    assert await bench.operations(OperationState.QUEUED) == []
    return found


async def snapshot(bench: Bench, document_id: UUID) -> tuple[Held, set[str]]:
    return await bench.held(document_id), await bench.blobs()


@pytest.mark.parametrize("index", ["vectors", "texts"])
async def test_missing_in_one_index(bench: Bench, neighbour: Bench, index: str) -> None:
    document_id, other = await bench.ingested(prose("oak", 4)), await bench.ingested(prose("elm", 2))
    theirs = await neighbour.ingested(prose("oak", 4))
    before = await snapshot(neighbour, theirs)
    lost = [chunk_id(document_id, 1, ordinal) for ordinal in (1, 3)]
    await getattr(bench.parts, index).delete(bench.scope, lost)
    found = await mended(bench)
    report = found.vectors if index == "vectors" else found.terms
    assert (report.wanted, report.found, report.missing_count) == (6, 4, 2)
    assert (await bench.held(document_id)).agreed
    assert (await bench.held(other)).agreed
    assert await snapshot(neighbour, theirs) == before


async def test_a_whole_index_that_was_lost_is_built_again(bench: Bench) -> None:
    document_id = await bench.ingested(prose("ash", 3), tags=["tree"])
    held = (await bench.held(document_id)).chunks
    await bench.parts.vectors.delete(bench.scope, sorted(held))
    await bench.parts.texts.delete(bench.scope, sorted(held))
    found = await mended(bench)
    assert (found.vectors.missing_count, found.terms.missing_count) == (3, 3)
    assert await bench.found_by(tags_any=("tree",)) == (held, held)


@pytest.mark.parametrize("index", ["vectors", "texts"])
async def test_documents_that_lack_the_same_are_written_together(
    bench: Bench, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [await bench.ingested(prose(tree, 2), tags=[tree]) for tree in ("teak", "balsa", "cork")]
    engine = getattr(bench.parts, index)
    for document_id in documents:
        await engine.delete(bench.scope, sorted((await bench.held(document_id)).chunks))
    sizes: list[int] = []
    upsert = engine.upsert

    async def counted(scope: TenantScope, written: Sequence[object]) -> None:
        sizes.append(len(written))
        await upsert(scope, written)

    monkeypatch.setattr(engine, "upsert", counted)
    found = await bench.repair()
    assert (found.vectors if index == "vectors" else found.terms).missing_count == 6
    assert sizes == [6]
    for document_id, tree in zip(documents, ("teak", "balsa", "cork"), strict=True):
        held = await bench.held(document_id)
        assert held.agreed
        assert await bench.found_by(tags_any=(tree,)) == (held.chunks, held.chunks)
    assert (await bench.verify()).clean


async def test_what_is_changed_or_deleted_during_a_repair_of_several_documents_stays_so(bench: Bench) -> None:
    kept, changed, deleted = [await bench.ingested(prose(tree, 2), tags=["old"]) for tree in ("teak", "balsa", "cork")]
    for document_id in (kept, changed, deleted):
        await bench.parts.texts.delete(bench.scope, sorted((await bench.held(document_id)).chunks))

    async def meanwhile() -> None:
        await bench.change(changed, tags=["new"])
        await bench.delete(deleted)
        await bench.work()

    await bench.interposed("texts", "upsert", before=meanwhile).repair()
    assert [operation.document_id for operation in await bench.operations(OperationState.QUEUED)] == [changed]
    await bench.work()
    (held, other) = [(await bench.held(document_id)).chunks for document_id in (kept, changed)]
    assert await bench.found_by(tags_any=("old",)) == (held, held)
    assert await bench.found_by(tags_any=("new",)) == (other, other)
    assert (await bench.held(deleted)).terms == set()
    assert (await bench.verify()).clean


async def test_orphans_of_unknown_documents_and_of_unknown_generations(bench: Bench, neighbour: Bench) -> None:
    document_id, theirs = await bench.ingested(prose("birch")), await neighbour.ingested(prose("birch"))
    before = await snapshot(neighbour, theirs)
    await write_stray(bench, new_id(), 1, 0)
    await write_stray(bench, document_id, 7, 0)
    await write_stray(bench, document_id, 1, 50)
    found = await mended(bench)
    assert (len(found.vectors.orphans), len(found.terms.orphans)) == (3, 3)
    assert (await bench.held(document_id)).agreed
    assert await snapshot(neighbour, theirs) == before


async def test_an_orphaned_blob_goes_and_one_that_may_be_an_upload_stays(bench: Bench, tmp_path: Path) -> None:
    await bench.ingested(prose("cedar"))
    before = await bench.blobs()
    file = tmp_path / "file"
    file.write_text(json.dumps({}))
    fresh = f"originals/{new_id()}"
    hour_ago = int((datetime.now(UTC) - timedelta(hours=2)).timestamp() * 1000)
    stale = UUID(int=(hour_ago << 80) | (new_id().int & ((1 << 80) - 1)))
    orphans = {f"originals/{stale}", f"originals/{uuid4()}", f"parsed/{new_id()}/1.json"}
    for key in (*orphans, fresh):
        await bench.parts.blobs.put_file(bench.scope, key, file)
    assert set((await mended(bench)).blobs_orphaned) == orphans
    assert await bench.blobs() == before | {fresh}


async def test_a_lost_original_is_reported_and_nothing_is_done_to_the_document(bench: Bench) -> None:
    document_id = await bench.ingested(prose("fir"))
    (original,) = {key for key in await bench.blobs() if key.startswith("originals/")}
    await bench.parts.blobs.delete(bench.scope, original)
    assert (await bench.repair()).blobs_missing == [original]
    assert (await bench.held(document_id)).agreed
    assert len((await bench.held(document_id)).chunks) == 3


async def test_a_purge_that_never_came_is_made_up_for(bench: Bench) -> None:
    first = await bench.ingested(prose("larch"), external_id="larch")
    await bench.ingested(prose("pine"))
    await bench.upload(prose("larch again", 2), external_id="larch")
    (ingestion,) = await bench.operations(OperationState.QUEUED)
    await bench.run(ingestion.id)
    async with bench.parts.database.write(bench.scope) as session:
        await session.execute(delete(Operation).where(Operation.kind == OperationKind.PURGE))
    assert (await bench.verify()).unpurged == [first]
    found = await mended(bench)
    assert found.unpurged == [first]
    assert await bench.generations(first) == {1: GenerationState.PURGED, 2: GenerationState.ACTIVE}


async def test_a_deletion_whose_purge_never_came_is_made_up_for(bench: Bench) -> None:
    document_id, kept = await bench.ingested(prose("beech")), await bench.ingested(prose("yew"))
    await bench.delete(document_id)
    async with bench.parts.database.write(bench.scope) as session:
        await session.execute(delete(Operation).where(Operation.kind == OperationKind.PURGE))
    assert (await mended(bench)).unpurged == [document_id]
    assert (await bench.receipt(document_id)).purged_at is not None
    assert (await bench.held(kept)).agreed


async def test_a_deleted_knowledge_base_whose_purge_never_came_is_made_up_for(bench: Bench) -> None:
    document_id = await bench.ingested(prose("holly"))
    async with bench.parts.database.write(bench.scope) as session:
        await session.execute(
            update(KnowledgeBase).where(KnowledgeBase.id == bench.kb_id).values(deleted_at=func.now())
        )
    assert (await mended(bench)).unpurged == [document_id]
    assert (await bench.blobs(), (await bench.held(document_id)).vectors) == (set(), set())


async def test_what_is_being_deleted_is_no_difference(bench: Bench) -> None:
    document_id = await bench.ingested(prose("alder"))
    await bench.delete(document_id)
    assert (await bench.verify()).clean
    assert (await bench.repair()).clean
    assert len(await bench.operations(OperationState.QUEUED)) == 1


async def test_a_purge_of_another_document_of_the_knowledge_base_hides_nothing(bench: Bench) -> None:
    lost, other = await bench.ingested(prose("lime")), await bench.ingested(prose("plane"))
    async with bench.parts.database.write(bench.scope) as session:
        await session.execute(update(Document).where(Document.id == lost).values(deleted_at=func.now()))
    await bench.delete(other)
    assert (await bench.verify()).unpurged == [lost]


async def test_a_generation_that_is_being_built_is_left_alone(bench: Bench) -> None:
    upload = await bench.upload(prose("maple"))
    assert upload.operation is not None

    async def look() -> None:
        held = await bench.held(upload.document.id)
        assert (await bench.repair()).clean
        assert await bench.held(upload.document.id) == held

    await bench.interposed("texts", "upsert", before=look).run(upload.operation.id)
    assert (await bench.held(upload.document.id)).agreed
    assert (await bench.verify()).clean


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("scanned", ["vectors", "texts"])
async def test_documents_that_come_and_go_during_the_comparison_are_no_difference(
    bench: Bench, scanned: str, moment: str
) -> None:
    replaced = await bench.ingested(prose("rowan"), external_id="rowan")
    deleted = await bench.ingested(prose("aspen"))
    unfinished = await bench.upload(prose("hazel"))
    came: list[UUID] = []

    async def live() -> None:
        came.append(await bench.ingested(prose("willow")))
        await bench.ingested(prose("rowan again"), external_id="rowan")
        await bench.delete(deleted)
        await bench.work()

    found = await bench.interposed(scanned, "scan", **{moment: live}).repair()
    assert found.clean
    for document_id in (replaced, unfinished.document.id, *came):
        held = await bench.held(document_id)
        assert held.agreed
        assert held.chunks
    assert (await bench.verify()).clean


async def test_replaced_during_a_repair_the_old_version_does_not_come_back(bench: Bench) -> None:
    document_id = await bench.ingested(prose("osier"), external_id="osier")
    await bench.parts.vectors.delete(bench.scope, [chunk_id(document_id, 1, 0)])

    async def supersede() -> None:
        await bench.ingested(prose("osier again", 2), external_id="osier")

    await bench.interposed("vectors", "upsert", before=supersede).repair()
    await bench.work()
    assert (await bench.held(document_id)).agreed
    assert (await bench.held(document_id, 1)).vectors == set()
    assert (await bench.verify()).clean
