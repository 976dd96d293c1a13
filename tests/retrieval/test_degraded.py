"""What is answered while an engine is down, late or refuses."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.core.errors import EngineRejected, Unavailable
from app.ports.parts import Parts
from app.retrieval.schemas import EngineName
from tests.retrieval.shelf import Shelf
from tests.retrieval.tampered import Happening, embedder_with, fail, hang, texts_with, vectors_with

LEAVE = "Employees get twenty-five days of paid leave a year."
PUMP = "The pump P-101 must be shut off before the valve is opened."


async def refuse() -> None:
    raise EngineRejected("The engine refuses this request.")


def impatient(parts: Parts) -> Parts:
    return replace(parts, settings=parts.settings.model_copy(update={"retrieval_timeout_seconds": 0.3}))


def without_vectors(shelf: Shelf, happening: Happening) -> Shelf:
    parts = impatient(shelf.parts) if happening is hang else shelf.parts
    return replace(shelf, parts=replace(parts, vectors=vectors_with(parts.vectors, happening)))


def without_texts(shelf: Shelf, happening: Happening) -> Shelf:
    parts = impatient(shelf.parts) if happening is hang else shelf.parts
    return replace(shelf, parts=replace(parts, texts=texts_with(parts.texts, happening)))


def without_embedder(shelf: Shelf, happening: Happening) -> Shelf:
    parts = impatient(shelf.parts) if happening is hang else shelf.parts
    return replace(shelf, parts=replace(parts, embedder=embedder_with(parts.embedder, happening)))


@pytest.fixture
async def filled(shelf: Shelf) -> Shelf:
    await shelf.document(await shelf.knowledge_base(), LEAVE, PUMP)
    return shelf


@pytest.mark.parametrize("happening", [fail, hang, refuse])
@pytest.mark.parametrize("without", [without_vectors, without_embedder])
async def test_terms_answer_without_vectors(
    filled: Shelf, without: Callable[[Shelf, Happening], Shelf], happening: Happening
) -> None:
    result = await without(filled, happening).retrieve("pump valve")
    assert [hit.text for hit in result.hits] == [PUMP]
    assert result.hits[0].scores.dense is None
    assert result.hits[0].matched_terms
    assert result.degraded == [EngineName.VECTORS]
    assert result.degraded_reasons[EngineName.VECTORS].endswith(".")


@pytest.mark.parametrize("happening", [fail, hang, refuse])
async def test_vectors_answer_without_terms(filled: Shelf, happening: Happening) -> None:
    result = await without_texts(filled, happening).retrieve("pump valve")
    assert {hit.text for hit in result.hits} == {LEAVE, PUMP}
    assert result.hits[0].scores.bm25 is None
    assert result.hits[0].matched_terms == []
    assert result.degraded == [EngineName.TERMS]


async def test_explicit_weights_do_not_silence_the_channel_that_is_left(filled: Shelf) -> None:
    weights = {"dense": 1, "bm25": 0}
    result = await without_vectors(filled, fail).retrieve("pump", weights=weights)
    assert [hit.text for hit in result.hits] == [PUMP]


@pytest.mark.parametrize("happening", [fail, hang])
async def test_without_both_it_is_unavailable(filled: Shelf, happening: Happening) -> None:
    with pytest.raises(Unavailable) as raised:
        await without_texts(without_vectors(filled, happening), happening).retrieve("pump")
    assert (raised.value.status, raised.value.error_code) == (503, "retrieval_unavailable")
    assert raised.value.retry_after
    assert raised.value.data["degraded"] == ["terms", "vectors"]


async def test_a_mode_of_one_channel_needs_that_channel(filled: Shelf) -> None:
    with pytest.raises(Unavailable):
        await without_vectors(filled, fail).retrieve("pump", mode="dense")
    with pytest.raises(Unavailable):
        await without_texts(filled, fail).retrieve("pump", mode="bm25")
    other_down = await without_vectors(filled, fail).retrieve("pump", mode="bm25")
    assert ([hit.text for hit in other_down.hits], other_down.degraded) == ([PUMP], [])


async def test_without_vectors_a_question_without_terms_can_not_be_answered(filled: Shelf) -> None:
    with pytest.raises(Unavailable):
        await without_vectors(filled, fail).retrieve("?!")


async def test_explain_says_what_is_down(filled: Shelf) -> None:
    result = await without_vectors(filled, fail).retrieve("pump", explain=True)
    assert result.explanation is not None
    assert result.explanation.dense.candidates == []
    assert result.explanation.bm25_weight == 1
    assert len(result.explanation.bm25.candidates) == 1
