"""Questions without a session and without a model."""

from uuid import UUID

import httpx
import pytest

from app.core.ids import new_id
from app.ports.parts import Parts
from app.ports.vector_index import Vectors
from tests.chats.events import events_of, text_of
from tests.chats.people import HANDBOOK, shelf_of
from tests.conftest import Person, Register
from tests.retrieval.shelf import BOX, Shelf

EVENTS = {"accept": "text/event-stream"}


async def ask(person: Person, question: str, *kb_ids: object, **more: object) -> httpx.Response:
    body = {"question": question, "knowledge_base_ids": [str(kb_id) for kb_id in kb_ids], **more}
    return await person.client.post("/v1/ask", json=body)


@pytest.mark.parametrize(
    ("question", "base", "quote", "said"),
    [
        ("How many days of annual leave do employees get?", "handbook", "25 days", "No language model is configured"),
        ("员工每年有多少天年假？", "rules", "二十五天", "未配置语言模型"),
        ("How many days of paid annual leave do employees have?", "rules", "二十五天", "No language model"),
    ],
)
async def test_an_extractive_answer_quotes_and_cites(
    owner: Person, bases: dict[str, UUID], question: str, base: str, quote: str, said: str
) -> None:
    answer = await ask(owner, question, bases[base])
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["kind"], found["notice"], found["model"], found["status"]) == (
        "extractive",
        "no_model",
        None,
        "complete",
    )
    assert said in found["answer"]
    assert quote in found["answer"]
    citation = next(one for one in found["citations"] if quote in one["quote"])
    assert citation["page"] == 1
    assert citation["provenance"] == [{"start": 0, "page": 1, "bbox": BOX}]
    assert citation["document_name"] in ("handbook.md", "员工手册.md")
    assert f"{citation['quote']} [{citation['number']}]" in found["answer"]
    assert citation["span"]["end"] - citation["span"]["start"] == len(citation["quote"])


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who won the football world cup in 1998?", "could not find"),
        ("巴黎圣母院是哪一年建成的？", "没有找到"),
        ("???", "could not find"),
    ],
)
@pytest.mark.parametrize("base", ["handbook", "rules"])
async def test_what_the_documents_do_not_hold_is_not_answered(
    owner: Person, bases: dict[str, UUID], question: str, sentence: str, base: str
) -> None:
    found = (await ask(owner, question, bases[base])).json()
    assert found["kind"] == "not_found", found["answer"]
    assert found["citations"] == []
    assert sentence in found["answer"]


async def test_an_empty_knowledge_base_has_no_answer(register: Register, parts: Parts) -> None:
    person = await register()
    kb_id = await shelf_of(parts, person).knowledge_base()
    assert (await ask(person, "How long is annual leave?", kb_id)).json()["kind"] == "not_found"
    assert (await ask(person, "How long is annual leave?")).json()["kind"] == "not_found"


@pytest.fixture
def embedded(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that the embedder was given."""
    queries, embed_query = list[str](), parts.embedder.embed_query

    async def recorded(text: str) -> Vectors:
        queries.append(text)
        return await embed_query(text)

    monkeypatch.setattr(parts.embedder, "embed_query", recorded)
    return queries


@pytest.mark.parametrize("mode", ["hybrid", "bm25"])
async def test_a_question_is_embedded_once(owner: Person, library: Shelf, embedded: list[str], mode: str) -> None:
    """By the search, or where that asks no vectors by what compares its hits with the question."""
    kb_id = await library.knowledge_base(mode=mode)
    await library.document(kb_id, *HANDBOOK, name="handbook.md")
    question = f"How many days of annual leave? ({mode})"  # no other's, whose vector would be known
    assert "25 days" in (await ask(owner, question, kb_id)).json()["answer"]
    assert embedded.count(question) == 1


async def test_where_nothing_is_found_nothing_is_compared(owner: Person, library: Shelf, embedded: list[str]) -> None:
    kb_id = await library.knowledge_base(mode="bm25")
    assert (await ask(owner, "How many days of annual leave?", kb_id)).json()["kind"] == "not_found"
    assert embedded == []


async def test_events_come_in_order_and_make_up_the_answer(owner: Person, handbook: UUID) -> None:
    body = {"question": "How many days of annual leave do employees get?", "knowledge_base_ids": [str(handbook)]}
    events = events_of(await owner.client.post("/v1/ask", json=body, headers=EVENTS))
    kinds = [event["type"] for event in events]
    assert [kind for index, kind in enumerate(kinds) if kinds[index - 1 : index] != [kind]] == [
        "step",
        "delta",
        "citation",
        "done",
    ]
    assert events[0]["name"] == "retrieve"
    assert {source["document_name"] for source in events[0]["sources"]} == {"handbook.md"}
    answer = (await owner.client.post("/v1/ask", json=body)).json()
    assert text_of(events) == answer["answer"]
    assert [one for one in events if one["type"] == "citation"] == [
        {"type": "citation", **one} for one in answer["citations"]
    ]
    assert events[-1]["kind"] == "extractive"


@pytest.mark.parametrize("headers", [{}, EVENTS])
async def test_unknown_ids_are_not_found_before_anything_is_streamed(
    owner: Person, stranger: Person, handbook: UUID, headers: dict[str, str]
) -> None:
    for person, kb_id in ((owner, new_id()), (stranger, handbook)):
        body = {"question": "leave?", "knowledge_base_ids": [str(kb_id)]}
        answer = await person.client.post("/v1/ask", json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (404, "knowledge_base_not_found")
    body = {"question": "leave?", "knowledge_base_ids": [str(handbook)], "model": "no-such-model"}
    answer = await owner.client.post("/v1/ask", json=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (404, "model_not_found")


@pytest.mark.parametrize(
    "body",
    [
        {"question": ""},
        {"question": "  "},
        {"question": "a\0b"},
        {"question": "x" * 8001},
        {"question": "x", "top_k": 0},
        {"question": "x", "top_k": 51},
        {"question": "x", "knowledge_base_ids": ["1"]},
        {"question": "x", "tenant_id": "1"},
        {},
    ],
)
async def test_bad_bodies_are_refused(owner: Person, body: dict[str, object]) -> None:
    assert (await owner.client.post("/v1/ask", json=body)).status_code == 422


async def test_nobody_may_ask(anonymous: httpx.AsyncClient) -> None:
    assert (await anonymous.post("/v1/ask", json={"question": "x"})).status_code == 401
