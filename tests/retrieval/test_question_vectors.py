"""A question is embedded once for each tenant, whoever asks it and in whichever process."""

from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest

from app.adapters.redis.cache import RedisCache
from app.core import question_vectors
from app.core.ids import new_id
from app.core.question_vectors import QuestionVectors
from app.ports.parts import Parts
from tests.retrieval.shelf import Shelf
from tests.retrieval.tampered import embedder_with, fail

QUESTION = "How many days of leave are there?"


class Counted:
    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self) -> None:
        self.calls += 1


@pytest.fixture
def tenant_id() -> UUID:
    return new_id()


async def test_it_is_kept_in_the_process_and_in_what_processes_share(parts: Parts, tenant_id: UUID) -> None:
    counted = Counted()
    embedder = embedder_with(parts.embedder, counted)
    here, elsewhere = QuestionVectors(parts.cache), QuestionVectors(parts.cache)
    first = await here.get(embedder, tenant_id, QUESTION)
    assert np.array_equal(first, await here.get(embedder, tenant_id, QUESTION))
    assert np.allclose(first, await elsewhere.get(embedder, tenant_id, QUESTION))
    assert counted.calls == 1
    await here.get(embedder, tenant_id, f"{QUESTION} And nights?")
    assert counted.calls == 2


async def test_no_tenant_profits_from_what_another_has_asked(parts: Parts, tenant_id: UUID) -> None:
    counted = Counted()
    embedder, questions = embedder_with(parts.embedder, counted), QuestionVectors(parts.cache)
    await questions.get(embedder, tenant_id, QUESTION)
    await questions.get(embedder, new_id(), QUESTION)
    assert counted.calls == 2


async def test_without_a_cache_it_is_kept_in_the_process(parts: Parts, tenant_id: UUID) -> None:
    counted, dead = Counted(), RedisCache("redis://127.0.0.1:1", timeout_seconds=0.2)
    embedder, questions = embedder_with(parts.embedder, counted), QuestionVectors(dead)
    for _ in range(2):
        await questions.get(embedder, tenant_id, QUESTION)
    assert counted.calls == 1
    await dead.close()


async def test_the_oldest_gives_place(parts: Parts, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_vectors, "MOST_HERE", 2)
    counted, dead = Counted(), RedisCache("redis://127.0.0.1:1", timeout_seconds=0.2)
    embedder, questions = embedder_with(parts.embedder, counted), QuestionVectors(dead)
    for number in (1, 2, 1, 3, 1, 2):
        await questions.get(embedder, tenant_id, f"Question {number}")
    assert counted.calls == 4  # only the second was forgotten
    await dead.close()


async def test_what_was_asked_before_is_found_while_the_embedder_is_down(shelf: Shelf) -> None:
    """By its vector, as if nothing had happened."""
    kb_id = await shelf.knowledge_base()
    await shelf.document(kb_id, "Employees get twenty-five days of paid leave a year.")
    before = await shelf.retrieve(QUESTION, knowledge_base_ids=[kb_id], mode="dense")
    without = replace(shelf, parts=replace(shelf.parts, embedder=embedder_with(shelf.parts.embedder, fail)))
    after = await without.retrieve(QUESTION, knowledge_base_ids=[kb_id], mode="dense")
    assert [hit.chunk_id for hit in after.hits] == [hit.chunk_id for hit in before.hits] != []
    assert after.degraded == []
