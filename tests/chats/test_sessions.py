"""Sessions and their messages, without a model."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text

from app.chats import repository
from app.chats.conversation import cache_key
from app.core.ids import new_id
from app.knowledge_bases import service as knowledge_bases
from app.models import Document
from app.ports.parts import Parts
from tests.chats.events import events_of, text_of
from tests.chats.people import shelf_of
from tests.conftest import Person
from tests.retrieval.shelf import Shelf
from tests.retrieval.test_retrieve import counted_statements

QUESTION = "How many days of annual leave do employees get?"


async def say(person: Person, session_id: str, question: str = QUESTION, **headers: str) -> httpx.Response:
    return await person.client.post(f"/v1/sessions/{session_id}/messages", json={"question": question}, headers=headers)


async def history(person: Person, session_id: str) -> list[dict[str, Any]]:
    answer = await person.client.get(f"/v1/sessions/{session_id}/messages")
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_a_question_is_answered_and_kept(owner: Person, session_id: str) -> None:
    answer = await say(owner, session_id)
    assert answer.status_code == 201, answer.text
    question, kept = await history(owner, session_id)
    assert (question["role"], question["content"]) == ("user", QUESTION)
    assert kept == answer.json()
    assert "25 days" in str(kept["content"])
    assert kept["steps"][0]["name"] == "retrieve"


async def test_one_statement_tells_which_knowledge_bases_live(parts: Parts, owner: Person, library: Shelf) -> None:
    kept = [await library.knowledge_base() for _ in range(5)]
    async with parts.database.read(library.scope) as session:
        with counted_statements(parts) as sent:
            assert await knowledge_bases.live(session, [kept[1], new_id(), kept[0], kept[1]]) == [kept[1], kept[0]]
            await knowledge_bases.require(session, kept)
            await knowledge_bases.require(session, [])
    assert len(sent) == 2


async def test_the_first_question_is_the_title_until_it_is_renamed(owner: Person, session_id: str) -> None:
    url = f"/v1/sessions/{session_id}"
    assert (await owner.client.get(url)).json()["title"] == ""
    await say(owner, session_id, "How  long is\nleave? " + "x" * 100)
    title = (await owner.client.get(url)).json()["title"]
    assert title.startswith("How long is leave? xxx")
    assert len(title) == 80
    assert (await owner.client.patch(url, json={"title": " Leave "})).json()["title"] == "Leave"
    await say(owner, session_id)
    assert (await owner.client.get(url)).json()["title"] == "Leave"
    for bad in ({"title": ""}, {"title": " "}, {"title": "a\0"}, {"user_id": str(new_id())}):
        assert (await owner.client.patch(url, json=bad)).status_code == 422


async def test_events_end_when_the_answer_is_stored(owner: Person, session_id: str) -> None:
    events = events_of(await say(owner, session_id, accept="text/event-stream"))
    kept = (await history(owner, session_id))[-1]
    assert events[-1]["type"] == "done"
    assert events[-1]["id"] == kept["id"]
    assert text_of(events) == kept["content"]


async def test_sessions_are_listed_newest_first_in_pages(owner: Person, handbook: UUID) -> None:
    made = [
        (await owner.client.post("/v1/sessions", json={"knowledge_base_ids": [str(handbook)]})).json()["id"]
        for _ in range(3)
    ]
    first = (await owner.client.get("/v1/sessions", params={"limit": 2})).json()
    assert [one["id"] for one in first["items"]] == made[:0:-1]
    second = await owner.client.get("/v1/sessions", params={"limit": 2, "cursor": first["next_cursor"]})
    assert second.json()["items"][0]["id"] == made[0]


async def test_messages_come_in_pages(owner: Person, session_id: str) -> None:
    for question in ("one?", "two?"):
        await say(owner, session_id, question)
    url, seen, cursor = f"/v1/sessions/{session_id}/messages", [], None
    while True:
        page = (await owner.client.get(url, params={"limit": 3} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [(one["role"], one["content"]) for one in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert [role for role, _ in seen] == ["user", "assistant"] * 2
    assert [content for role, content in seen if role == "user"] == ["one?", "two?"]


@pytest.mark.parametrize("whose", ["colleague", "stranger"])
async def test_nobody_else_sees_or_changes_a_session(
    owner: Person, session_id: str, whose: str, others: dict[str, Person]
) -> None:
    await say(owner, session_id)
    before = await history(owner, session_id)
    other = others[whose]
    url = f"/v1/sessions/{session_id}"
    answers = [
        await other.client.get(url),
        await other.client.patch(url, json={"title": "mine"}),
        await other.client.delete(url),
        await other.client.get(f"{url}/messages"),
        await say(other, session_id),
        await say(other, session_id, accept="text/event-stream"),
    ]
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(404, "session_not_found")}
    assert session_id not in (await other.client.get("/v1/sessions")).text
    assert await history(owner, session_id) == before


async def test_a_session_over_another_tenant_s_knowledge_base_can_t_be_made(
    stranger: Person, owner: Person, handbook: UUID, session_id: str, parts: Parts
) -> None:
    body = {"knowledge_base_ids": [str(handbook)]}
    assert (await stranger.client.post("/v1/sessions", json=body)).status_code == 404
    foreign = await shelf_of(parts, stranger).knowledge_base()
    answer = await owner.client.patch(f"/v1/sessions/{session_id}", json={"knowledge_base_ids": [str(foreign)]})
    assert answer.status_code == 404


async def test_a_viewer_chats_too(colleague: Person, handbook: UUID) -> None:
    made = await colleague.client.post("/v1/sessions", json={"knowledge_base_ids": [str(handbook)]})
    assert "25 days" in (await say(colleague, made.json()["id"])).json()["content"]


async def test_deleting_a_session_leaves_nothing(owner: Person, session_id: str, library: Shelf, parts: Parts) -> None:
    await say(owner, session_id)
    await history(owner, session_id)
    keys = {"chat_sessions": "id"} | dict.fromkeys(
        ("messages", "checkpoints", "checkpoint_blobs", "checkpoint_writes"), "session_id"
    )

    async def rows() -> dict[str, int]:
        async with parts.database.read(library.scope) as session:
            return {
                table: await session.scalar(
                    text(f"select count(*) from {table} where {key} = :id"),  # noqa: S608 - the test's own text
                    {"id": session_id},
                )
                for table, key in keys.items()
            }

    before = await rows()
    assert before["messages"] == 2
    assert before["checkpoints"] == 1
    assert (await owner.client.delete(f"/v1/sessions/{session_id}")).status_code == 204
    assert set((await rows()).values()) == {0}
    assert await parts.cache.get(cache_key(library.scope.tenant_id, UUID(session_id))) is None
    assert (await owner.client.get(f"/v1/sessions/{session_id}/messages")).status_code == 404
    assert (await owner.client.delete(f"/v1/sessions/{session_id}")).status_code == 404


async def test_neither_messages_nor_checkpoints_nor_the_cache_hold_text_of_documents(
    owner: Person, session_id: str, library: Shelf, parts: Parts
) -> None:
    await say(owner, session_id)
    await history(owner, session_id)
    async with parts.database.read(library.scope) as session:
        for table in ("messages", "checkpoints", "checkpoint_writes"):
            rows = await session.scalars(
                text(f"select {table}::text from {table} where session_id = :id"),  # noqa: S608
                {"id": session_id},
            )
            assert not [row for row in rows if "25 days" in row]
        blobs = await session.scalars(
            text("select blob from checkpoint_blobs where session_id = :id"), {"id": session_id}
        )
        assert not [blob for blob in blobs if blob and b"25 days" in blob]
    copy = await parts.cache.get(cache_key(library.scope.tenant_id, UUID(session_id)))
    assert copy is not None
    assert b"25 days" not in copy


async def test_a_deleted_document_s_words_are_gone_from_history(owner: Person, library: Shelf) -> None:
    kb_id = await library.knowledge_base()
    document_id = await library.document(kb_id, "The vault code is ZEBRA-1234. Tell nobody.", name="zebra-plan.md")
    made = await owner.client.post("/v1/sessions", json={"knowledge_base_ids": [str(kb_id)]})
    session_id = made.json()["id"]
    assert "ZEBRA" in (await say(owner, session_id, "What is the vault code?")).text
    assert "ZEBRA" in str(await history(owner, session_id))
    await library.change(Document, document_id, deleted_at=text("now()"))
    after = await history(owner, session_id)
    assert "zebra" not in str(after).lower()
    assert after[-1]["citations"][0]["removed"] is True
    assert "(removed)" in str(after[-1]["content"])


async def test_a_new_version_takes_old_quotes_away(owner: Person, library: Shelf) -> None:
    kb_id = await library.knowledge_base()
    document_id = await library.document(kb_id, "The vault code is LION-1.", name="plan.md")
    session_id = (await owner.client.post("/v1/sessions", json={"knowledge_base_ids": [str(kb_id)]})).json()["id"]
    await say(owner, session_id, "What is the vault code?")
    await library.write_generation(document_id, 2, "The vault code is TIGER-2.")
    await library.activate(document_id, 2)
    kept = (await history(owner, session_id))[-1]
    assert "LION" not in str(kept)
    assert kept["citations"][0]["document_name"] == "plan.md"
    assert "TIGER-2" in (await say(owner, session_id, "What is the vault code?")).json()["content"]


async def test_one_answer_at_a_time(owner: Person, session_id: str, library: Shelf, parts: Parts) -> None:
    async with parts.database.write(library.scope) as session:
        held = await repository.claim(session, library.scope.principal_id, UUID(session_id), new_id(), _seconds(60))
        assert held is not None
    for headers in ({}, {"accept": "text/event-stream"}):
        refused = await say(owner, session_id, **headers)
        assert (refused.status_code, refused.json()["code"]) == (409, "answer_in_progress")
    assert await history(owner, session_id) == []


async def test_a_claim_whose_holder_died_expires(owner: Person, session_id: str, library: Shelf, parts: Parts) -> None:
    async with parts.database.write(library.scope) as session:
        await repository.claim(session, library.scope.principal_id, UUID(session_id), new_id(), _seconds(-1))
    assert (await say(owner, session_id)).status_code == 201


async def test_a_session_whose_knowledge_bases_are_deleted(owner: Person, library: Shelf) -> None:
    kb_id = await library.knowledge_base()
    session_id = (await owner.client.post("/v1/sessions", json={"knowledge_base_ids": [str(kb_id)]})).json()["id"]
    assert (await owner.client.delete(f"/v1/knowledge-bases/{kb_id}")).status_code == 204
    assert (await say(owner, session_id)).json()["code"] == "knowledge_base_not_found"
    assert await history(owner, session_id) == []


def _seconds(count: float) -> timedelta:
    return timedelta(seconds=count)
