"""Answers whose passages a reranker has ordered, over a real socket."""

from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import pytest

from app.adapters.rerank.http import HttpReranker
from app.ports.parts import Parts
from tests.chats.conftest import Swap
from tests.chats.events import events_of
from tests.chats.people import HANDBOOK, RULES
from tests.conftest import Person
from tests.peers.openai import Fault, OpenAIPeer, running_peer

QUESTION = "How many days of annual leave do employees get?"
ORDER = [RULES[0], HANDBOOK[0], RULES[2], HANDBOOK[2], RULES[1], HANDBOOK[1]]
"""The reranker's: of both languages, and unlike that of any other measure."""


@pytest.fixture
def peer() -> Iterator[OpenAIPeer]:
    with running_peer() as peer:
        peer.score = lambda query, passage: -ORDER.index(passage.split("\n", 1)[1])
        yield peer


@pytest.fixture
async def reranked(peer: OpenAIPeer, parts: Parts, swap_parts: Swap) -> AsyncIterator[None]:
    reranker = HttpReranker(f"{peer.url}/rerank", "cross", parts.embedder.tokens, first_wait=0.01)
    await reranker.open()
    swap_parts(reranker=reranker)
    yield
    await reranker.close()


async def asked(owner: Person, bases: dict[str, UUID]) -> list[dict[str, object]]:
    body = {"question": QUESTION, "knowledge_base_ids": [str(kb_id) for kb_id in bases.values()]}
    return events_of(await owner.client.post("/v1/ask", json=body, headers={"accept": "text/event-stream"}))


@pytest.mark.usefixtures("reranked")
async def test_passages_are_read_in_its_order(owner: Person, bases: dict[str, UUID]) -> None:
    events = await asked(owner, bases)
    step = next(event for event in events if event["type"] == "step")
    sources = step["sources"]
    assert isinstance(sources, list)
    found = [(source["document_name"], source["page"]) for source in sources]
    names = {**dict.fromkeys(RULES, "员工手册.md"), **dict.fromkeys(HANDBOOK, "handbook.md")}
    expected = [(names[text], (RULES if text in RULES else HANDBOOK).index(text) + 1) for text in ORDER]
    assert found == expected[: len(found)]
    assert len(found) >= 5
    assert step["degraded"] == []


@pytest.mark.usefixtures("reranked")
async def test_without_it_the_answer_comes_and_says_so(owner: Person, bases: dict[str, UUID], peer: OpenAIPeer) -> None:
    peer.fail("rerank", Fault(status=500), times=2)
    body = {"question": QUESTION, "knowledge_base_ids": [str(bases["handbook"])]}
    answer = await owner.client.post("/v1/ask", json=body)
    assert answer.status_code == 200, answer.text
    assert "25 days" in answer.json()["answer"]
    assert answer.json()["degraded"] == ["reranker"]
