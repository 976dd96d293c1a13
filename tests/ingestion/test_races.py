"""People change their minds while workers are at it: nobody waits for ever, and the stores agree in the end."""

import asyncio
import random
from uuid import UUID

import pytest
from sqlalchemy import delete

from app.core.errors import Conflict, NotFound
from app.documents.accepting import Upload
from app.ingestion import service, vectors_repository
from app.models import DocumentStatus, Embedding, OperationKind, OperationState
from tests.ingestion.bench import Bench, prose

EXPECTED = (Conflict, NotFound)
"""What a person is told who comes too late."""


async def cancel(bench: Bench, operation_id: UUID) -> None:
    async with bench.parts.database.write(bench.scope) as session:
        await service.cancel(session, bench.parts, operation_id)


async def retry(bench: Bench, operation_id: UUID) -> None:
    async with bench.parts.database.write(bench.scope) as session:
        await service.retry(session, bench.parts, operation_id)


async def worker(bench: Bench, ended: asyncio.Event, random_: random.Random) -> None:
    while not ended.is_set():
        for operation in random_.sample(queued := await bench.operations(OperationState.QUEUED), len(queued)):
            await bench.run(operation.id)
        await asyncio.sleep(0.01)


async def person(bench: Bench, number: int, random_: random.Random) -> None:
    """Does ten things to two documents in no particular order."""
    for turn in range(10):
        name = f"{number}-{random_.randrange(2)}"
        upload = await bench.upload(prose(f"text {name} {turn}", 2), external_id=name)
        await asyncio.sleep(random_.random() * 0.2)
        try:
            await whim(bench, upload, random_.randrange(5))
        except EXPECTED:
            continue


async def whim(bench: Bench, upload: Upload, choice: int) -> None:
    operation = upload.operation
    assert operation is not None
    match choice:
        case 0:
            await cancel(bench, operation.id)
        case 1:
            await retry(bench, operation.id)
        case 2:
            await bench.delete(upload.document.id)
        case 3:
            await bench.change(upload.document.id, tags=[str(operation.id)])
        case _:
            await bench.repair()


@pytest.mark.parametrize("seed", [1, 2])
async def test_everything_at_once(bench: Bench, seed: int) -> None:
    ended = asyncio.Event()
    workers = [asyncio.create_task(worker(bench, ended, random.Random(seed + n))) for n in range(3)]
    await asyncio.gather(*(person(bench, number, random.Random(seed * 100 + number)) for number in range(4)))
    ended.set()
    await asyncio.gather(*workers)
    await bench.work()
    report = await bench.verify()
    assert report.clean, report
    assert await bench.operations(OperationState.RUNNING) == []
    for operation in await bench.operations(OperationState.FAILED):
        assert operation.kind is OperationKind.INGEST, operation.error_detail
        assert operation.error_code != "internal_error"
    for document in await bench.documents():
        assert document.status in (DocumentStatus.READY, DocumentStatus.FAILED)
        if document.active_generation is None:
            continue  # cancelled before it was indexed: its chunks wait in Postgres for a retry
        held = await bench.held(document.id, document.active_generation)
        assert held.agreed


async def test_workers_that_cache_the_same_texts_in_another_order_do_not_wait_in_a_circle(bench: Bench) -> None:
    await bench.ingested(prose("eddy", 3))
    space = bench.parts.embedder.space.name
    async with bench.parts.database.write(bench.scope) as session:
        hashes = list(await session.scalars(delete(Embedding).returning(Embedding.text_hash)))
    (vector,) = await bench.parts.embedder.embed_passages(["eddy"])
    first, middle, last = sorted(hashes)

    async def cache(*order: bytes) -> None:
        async with bench.parts.database.write(bench.scope) as session:
            await vectors_repository.add_vectors(session, bench.scope.tenant_id, space, dict.fromkeys(order, vector))

    async with bench.parts.database.write(bench.scope) as session:
        await vectors_repository.add_vectors(session, bench.scope.tenant_id, space, {middle: vector})
        workers = [asyncio.create_task(cache(*order)) for order in ((first, middle, last), (last, middle, first))]
        await asyncio.sleep(0.5)  # both have begun, and wait for this transaction
    await asyncio.gather(*workers)
    assert await bench.cached_vectors() == 3
