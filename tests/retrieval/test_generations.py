"""Questions while documents are ingested again: never a mixture of generations, never nothing."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest

from app.core.ids import chunk_id
from app.retrieval.pool import MOST_ROUNDS
from tests.retrieval.shelf import Shelf
from tests.retrieval.tampered import Happening, texts_with, vectors_with

SIZE = 3


def edition(number: int) -> list[str]:
    return [f"Edition {number} of the rules of leave, paragraph {ordinal}." for ordinal in range(SIZE)]


async def replace_generation(shelf: Shelf, document_id: UUID, number: int, *, purge: bool = True) -> None:
    await shelf.write_generation(document_id, number, *edition(number))
    await shelf.activate(document_id, number)
    if purge:
        await shelf.purge(document_id, number - 1, SIZE)


def meanwhile(shelf: Shelf, happening: Happening, *, channel: str = "vectors") -> Shelf:
    """`happening` comes after that index was read, before Postgres is."""
    if channel == "vectors":
        return replace(shelf, parts=replace(shelf.parts, vectors=vectors_with(shelf.parts.vectors, happening)))
    return replace(shelf, parts=replace(shelf.parts, texts=texts_with(shelf.parts.texts, happening)))


@pytest.fixture
async def document_id(shelf: Shelf) -> UUID:
    return await shelf.document(await shelf.knowledge_base(), *edition(1))


@pytest.mark.parametrize("mode", ["hybrid", "dense", "bm25"])
@pytest.mark.parametrize("purge", [True, False])
async def test_a_generation_replaced_between_index_and_postgres(
    shelf: Shelf, document_id: UUID, mode: str, purge: bool
) -> None:
    done = False

    async def once() -> None:
        nonlocal done
        if not done:
            done = True
            await replace_generation(shelf, document_id, 2, purge=purge)

    racing = meanwhile(shelf, once, channel="texts" if mode == "bm25" else "vectors")
    result = await racing.retrieve("rules of leave", mode=mode, explain=True)
    assert [hit.generation for hit in result.hits] == [2] * SIZE
    assert result.explanation is not None
    assert result.explanation.rounds == 2


async def test_a_generation_still_in_the_building_is_not_seen(shelf: Shelf, document_id: UUID) -> None:
    await shelf.write_generation(document_id, 2, *edition(2))
    result = await shelf.retrieve("rules of leave", explain=True)
    assert [hit.generation for hit in result.hits] == [1] * SIZE
    assert result.explanation is not None
    assert result.explanation.rounds == 1


async def test_left_overs_of_a_generation_cost_no_second_round(shelf: Shelf, document_id: UUID) -> None:
    await replace_generation(shelf, document_id, 2, purge=False)
    result = await shelf.retrieve("rules of leave", explain=True)
    assert [hit.generation for hit in result.hits] == [2] * SIZE
    assert result.explanation is not None
    assert result.explanation.rounds == 1


async def test_orphans_ask_for_one_more_round_and_are_never_seen(shelf: Shelf, document_id: UUID) -> None:
    await shelf.index(await shelf.find(document_id), 9, *edition(9))
    result = await shelf.retrieve("rules of leave", explain=True)
    assert [hit.generation for hit in result.hits] == [1] * SIZE
    assert result.explanation is not None
    assert result.explanation.rounds == 2


async def test_replaced_at_every_reading_it_still_ends(shelf: Shelf, document_id: UUID) -> None:
    number = 1

    async def always() -> None:
        nonlocal number
        number += 1
        await replace_generation(shelf, document_id, number)

    result = await meanwhile(shelf, always).retrieve("rules of leave", mode="dense")
    assert number == 1 + MOST_ROUNDS
    assert result.hits == []
    after = await shelf.retrieve("rules of leave")
    assert [hit.generation for hit in after.hits] == [number] * SIZE


async def test_deleted_between_index_and_postgres(shelf: Shelf, document_id: UUID) -> None:
    async def drop() -> None:
        await shelf.purge(document_id, 1, SIZE)

    assert (await meanwhile(shelf, drop).retrieve("rules of leave")).hits == []


async def test_questions_during_re_ingests(shelf: Shelf, document_id: UUID) -> None:
    """The document is found by every question, whole and in one edition."""
    finished = False

    async def ingest() -> None:
        nonlocal finished
        for number in range(2, 12):
            await replace_generation(shelf, document_id, number)
        finished = True

    seen: list[tuple[int, ...]] = []

    async def ask(mode: str) -> None:
        while not finished:
            result = await shelf.retrieve("rules of leave", mode=mode)
            seen.append(tuple(hit.generation for hit in result.hits))

    await asyncio.gather(ingest(), ask("hybrid"), ask("dense"), ask("bm25"))
    assert len(seen) > 10
    assert [generations for generations in seen if len(generations) != SIZE or len(set(generations)) != 1] == []


async def test_more_is_fetched_when_most_is_dropped(shelf: Shelf, document_id: UUID) -> None:
    """300 chunks of a generation that was never finished stand before the three that may be seen."""
    await shelf.write_generation(document_id, 2, *["rules of leave"] * 300)
    result = await shelf.retrieve("rules of leave", explain=True)
    assert sorted(hit.chunk_id for hit in result.hits) == sorted(chunk_id(document_id, 1, n) for n in range(SIZE))
    assert result.explanation is not None
    assert result.explanation.rounds == 2
    assert result.explanation.dense.requested == 400
    assert {one.outcome for one in result.explanation.dense.candidates} == {"generation_not_active", "returned"}


async def test_documents_without_life_are_left_out_of_the_next_round(shelf: Shelf, document_id: UUID) -> None:
    unfinished = await shelf.document((await shelf.find(document_id)).knowledge_base_id, "rules")
    await shelf.write_generation(unfinished, 2, *["rules of leave"] * 700)
    await shelf.change(type(await shelf.find(unfinished)), unfinished, active_generation=None)
    result = await shelf.retrieve("rules of leave", explain=True)
    assert len(result.hits) == SIZE
    assert result.explanation is not None
    assert result.explanation.rounds == 2
    assert len(result.explanation.dense.candidates) == SIZE
