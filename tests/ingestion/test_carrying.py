"""What people have changed of a document's chunks stays when a new version comes, whenever they do it."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from sqlalchemy import select

from app.chunks import service as chunks
from app.chunks.schemas import ChunkPatch
from app.core.errors import EngineUnavailable, NotFound
from app.core.ids import new_id
from app.documents.accepting import Upload
from app.ingestion import service
from app.ingestion.carrying import counterparts
from app.ingestion.edits_repository import FileText
from app.models import Chunk, ChunkEdit, Operation, OperationKind, OperationState
from tests.ingestion.bench import Bench, prose
from tests.ingestion.test_edits import holds

NEW, NEWER = "Zeppelins land on the roof.", "Submarines surface in the bay."


def texts(*chunks: str) -> list[FileText]:
    """Chunks with a text under a heading, as `heading: text`."""
    parts = [chunk.split(": ") for chunk in chunks]
    return [FileText(new_id(), 0, (heading,), text.encode()) for heading, text in parts]


def places(before: list[FileText], after: list[FileText]) -> dict[int, int]:
    """Positions of counterparts."""
    found = counterparts(before, after)
    old, new = ([one.chunk_id for one in side] for side in (before, after))
    return {old.index(one): new.index(found[one]) for one in old if one in found}


def test_counterparts_have_the_same_text_whatever_stands_around_them() -> None:
    assert places(texts("A: one", "B: two", "C: three"), texts("C: three", "D: new", "B: two")) == {1: 2, 2: 0}


def test_of_the_same_texts_each_has_its_place() -> None:
    before = texts("A: none", "B: none", "B: none", "C: none")
    assert places(before, texts("0: some", "A: none", "B: none", "B: none", "C: none")) == {0: 1, 1: 2, 2: 3, 3: 4}
    assert places(before, texts("B: none", "B: none", "C: none")) == {1: 0, 2: 1, 3: 2}, "no other has taken A's place"


def test_under_another_heading_it_is_the_same_where_it_can_be_no_other() -> None:
    before = texts("Rules 2024: be kind", "Rules 2024: none", "Fees 2024: none")
    assert places(before, texts("Rules 2025: be kind", "Rules 2025: none", "Fees 2025: none")) == {0: 0, 1: 1, 2: 2}
    assert places(before, texts("Rules 2025: be kind", "Fees 2025: none")) == {0: 0}


def test_a_parent_is_no_counterpart_of_its_only_child() -> None:
    (child,) = texts("A: one")
    assert counterparts([child], [child._replace(chunk_id=new_id(), level=1)]) == {}


async def of_version(bench: Bench, document_id: UUID, generation: int) -> list[Chunk]:
    query = select(Chunk).where(Chunk.document_id == document_id, Chunk.generation == generation)
    async with bench.parts.database.read(bench.scope) as session:
        return list(await session.scalars(query.order_by(Chunk.ordinal)))


async def change(bench: Bench, chunk: Chunk, **patch: object) -> None:
    async with bench.parts.database.write(bench.scope) as session:
        await chunks.change(session, bench.scope, bench.parts, chunk.id, ChunkPatch.model_validate(patch))


async def history(bench: Bench, chunk: Chunk) -> list[str | None]:
    """Texts that it was given, in order."""
    query = select(ChunkEdit.text_after).where(ChunkEdit.chunk_id == chunk.id).order_by(ChunkEdit.id)
    async with bench.parts.database.read(bench.scope) as session:
        return list(await session.scalars(query))


async def second_version(bench: Bench) -> Upload:
    """Of a document of three chunks, with a fourth."""
    return await bench.upload(prose("fox", 4), external_id="text")


async def ingested(bench: Bench, upload: Upload, *, worker: Bench | None = None) -> Operation:
    assert upload.operation is not None
    await (worker or bench).run(upload.operation.id)
    return await bench.operation(upload.operation.id)


async def first_version(bench: Bench) -> list[Chunk]:
    document_id = await bench.ingested(prose("fox", 3), external_id="text")
    return await of_version(bench, document_id, 1)


async def test_a_changed_text_is_in_effect_from_the_first_moment_of_the_new_version(bench: Bench) -> None:
    first, _, third = await first_version(bench)
    await change(bench, first, text=NEW)
    await bench.work()
    await change(bench, third, enabled=False)
    operation = await ingested(bench, await second_version(bench))
    carried = {"edits_carried": 2, "edits_lost": 0}
    assert operation.counts == {"chunks": 4, "embedded": 1, "reused": 3, **carried}
    new = await of_version(bench, first.document_id, 2)
    assert [chunk.enabled for chunk in new] == [True, True, False, True]
    assert (new[0].text, new[0].pending_text, new[0].provenance, new[0].edited_by) == (
        NEW, None, [], bench.scope.principal_id,
    )  # fmt: skip
    assert await holds(bench, new[0], NEW)
    waiting = {operation.kind for operation in await bench.operations(OperationState.QUEUED)}
    assert waiting == {OperationKind.PURGE}, "nothing is left to be brought into the indexes"
    await bench.work()
    assert (await history(bench, new[0]), await history(bench, first)) == ([NEW], [])
    assert (await bench.verify()).clean


async def test_it_goes_on_to_the_version_after_that_and_is_lost_when_its_text_is(bench: Bench) -> None:
    first, *_ = await first_version(bench)
    await change(bench, first, text=NEW)
    await bench.work()
    await bench.ingested(prose("fox", 4), external_id="text")
    await bench.ingested(prose("fox", 5), external_id="text")
    third = (await of_version(bench, first.document_id, 3))[0]
    assert (third.text, await history(bench, third)) == (NEW, [NEW])
    operation = await ingested(bench, await bench.upload(prose("hen", 3), external_id="text"))
    assert (operation.counts["edits_carried"], operation.counts["edits_lost"]) == (0, 1)
    await bench.work()
    async with bench.parts.database.read(bench.scope) as session:
        assert (await service.get(session, operation.id)).lost_edits == [third.id]
    assert await history(bench, third) == [NEW]
    assert (await bench.verify()).clean


async def test_under_another_title_it_is_embedded_with_that(bench: Bench) -> None:
    """As where the title is the name of a file that bears a date."""
    document_id = await bench.ingested(prose("fox"), external_id="text", title="2024")
    (first, *_) = await of_version(bench, document_id, 1)
    await change(bench, first, text=NEW)
    await bench.work()
    await bench.ingested(prose("fox"), external_id="text")
    new = (await of_version(bench, document_id, 2))[0]
    assert new.text == NEW
    assert await holds(bench, new, NEW)


Meanwhile = Callable[[Bench, Chunk], Awaitable[None]]


async def edited_again(bench: Bench, chunk: Chunk) -> None:
    await change(bench, chunk, text=NEWER)


async def edited_and_carried_out(bench: Bench, chunk: Chunk) -> None:
    await change(bench, chunk, text=NEWER)
    for operation in await bench.operations(OperationState.QUEUED):
        if operation.kind is OperationKind.REINDEX:
            await bench.run(operation.id)


async def taken_back(bench: Bench, chunk: Chunk) -> None:
    assert chunk.original_text is not None
    await change(bench, chunk, text=chunk.original_text)


@pytest.mark.parametrize("meanwhile", [edited_again, edited_and_carried_out, taken_back])
@pytest.mark.parametrize("call", [("blobs", "put_file"), ("vectors", "upsert"), ("texts", "scan")], ids="-".join)
async def test_an_edit_made_while_the_new_version_is_made_is_in_it(
    bench: Bench, call: tuple[str, str], meanwhile: Meanwhile
) -> None:
    first, second, _ = await first_version(bench)
    await change(bench, first, text=NEW)
    await bench.work()
    first = (await of_version(bench, first.document_id, 1))[0]
    upload = await second_version(bench)

    async def edit() -> None:
        await meanwhile(bench, first)
        await change(bench, second, text=NEW, enabled=False)

    operation = await ingested(bench, upload, worker=bench.interposed(*call, after=edit))
    assert (operation.counts["edits_carried"], operation.counts["edits_lost"]) == (2, 0)
    await bench.work()
    new = await of_version(bench, first.document_id, 2)
    wanted = first.original_text if meanwhile is taken_back else NEWER
    assert [(chunk.text, chunk.pending_text, chunk.enabled) for chunk in new[:2]] == [
        (wanted, None, True),
        (NEW, None, False),
    ]
    for chunk in new:
        assert await holds(bench, chunk, chunk.text)
    assert await history(bench, new[0]) == [NEW, wanted]
    assert (await bench.verify()).clean


async def test_whoever_edits_the_version_before_too_late_is_told(bench: Bench) -> None:
    first, *_ = await first_version(bench)
    await bench.ingested(prose("fox", 4), external_id="text")
    with pytest.raises(NotFound):
        await change(bench, first, text=NEW)


async def test_a_worker_that_is_lost_carries_nothing_and_the_next_one_everything(bench: Bench) -> None:
    """The first attempt stops after it has made the chunks; while the second one waits the text is edited again."""
    first, *_ = await first_version(bench)
    await change(bench, first, text=NEW)
    await bench.work()
    upload = await second_version(bench)
    assert upload.operation is not None

    async def fails() -> None:
        raise EngineUnavailable("It does not answer.")

    await bench.interposed("vectors", "upsert", before=fails).run(upload.operation.id)
    assert await history(bench, first) == [NEW]
    await change(bench, first, text=NEWER)

    async def overtaken() -> None:
        assert upload.operation is not None
        await bench.lose_lease(upload.operation.id)
        await bench.pass_time(upload.operation.id)
        await bench.run(upload.operation.id)

    await bench.pass_time(upload.operation.id)
    await bench.interposed("texts", "scan", after=overtaken).run(upload.operation.id)
    await bench.work()
    operation = await bench.operation(upload.operation.id)
    assert (operation.state, operation.attempts) == (OperationState.SUCCEEDED, 3)
    new = (await of_version(bench, first.document_id, 2))[0]
    assert (new.text, await history(bench, new)) == (NEWER, [NEW, NEWER])
    assert await holds(bench, new, NEWER)
    assert (await bench.verify()).clean


async def test_a_version_that_comes_to_nothing_leaves_the_changes_where_they_are(bench: Bench) -> None:
    first, *_ = await first_version(bench)
    await change(bench, first, text=NEW, enabled=False)
    await bench.work()
    upload = await second_version(bench)
    assert upload.operation is not None

    async def cancel() -> None:
        async with bench.parts.database.write(bench.scope) as session:
            assert upload.operation is not None
            await service.cancel(session, bench.parts, upload.operation.id)

    operation = await ingested(bench, upload, worker=bench.interposed("texts", "scan", after=cancel))
    assert operation.state is OperationState.CANCELLED
    kept = (await of_version(bench, first.document_id, 1))[0]
    assert (kept.text, kept.enabled, await history(bench, kept)) == (NEW, False, [NEW])
