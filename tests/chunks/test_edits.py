"""Changing chunks over HTTP."""

import pytest

from tests.chunks.shelf import Shelf
from tests.conftest import Member, Person, Register

TEXT = "# Ferry\n\nThe ferry leaves at nine from the old pier.\n\n# Bus\n\nThe bus leaves at ten from the square."
SMALL = {"min_tokens": 0}


@pytest.fixture
async def shelf(register: Register) -> Shelf:
    return await Shelf.of(await register(), SMALL)


async def test_an_edited_text_is_found_by_what_it_says(shelf: Shelf) -> None:
    document_id = await shelf.add(TEXT)
    ferry, _ = await shelf.chunks(document_id)
    edited = await shelf.change(ferry["id"], text="渡轮从新码头出发，时间是八点。")
    assert edited["text"] == "渡轮从新码头出发，时间是八点。"
    assert edited["pending_text"] is None
    assert edited["edited_at"] is not None
    assert edited["token_count"] != ferry["token_count"]
    assert edited["start_offset"] == ferry["start_offset"]
    assert edited["provenance"] == []
    for mode in ("dense", "bm25"):
        best = (await shelf.retrieve("新码头", mode=mode))["hits"][0]
        assert (best["chunk_id"], best["text"]) == (ferry["id"], edited["text"])
    old = (await shelf.retrieve("old pier", mode="bm25"))["hits"]
    assert ferry["id"] not in {hit["chunk_id"] for hit in old}
    assert (await shelf.get("/v1/consistency"))["clean"]


async def test_until_it_is_indexed_the_old_text_is_read(shelf: Shelf) -> None:
    document_id = await shelf.add(TEXT)
    ferry, _ = await shelf.chunks(document_id)
    answer = await shelf.person.client.patch(f"/v1/chunks/{ferry['id']}", json={"text": "New words."})
    told = answer.json()
    assert (told["chunk"]["text"], told["chunk"]["pending_text"]) == (ferry["text"], "New words.")
    assert (told["operation"]["kind"], told["operation"]["document_id"]) == ("reindex", document_id)
    assert (await shelf.done(told["operation"]["id"]))["counts"] == {"chunks": 2, "edited": 1}


async def test_an_answer_quotes_no_words_that_it_did_not_rest_on(shelf: Shelf) -> None:
    """Other words stand where the cited sentence stood; one that still stands there is quoted further on."""
    document_id = await shelf.add(TEXT)
    ferry, bus = await shelf.chunks(document_id)
    client = shelf.person.client
    session = (await client.post("/v1/sessions", json={"knowledge_base_ids": [shelf.kb_id]})).json()["id"]
    messages = f"/v1/sessions/{session}/messages"
    for question in ("When does the ferry leave from the old pier?", "When does the bus leave from the square?"):
        answer = await client.post(messages, json={"question": question})
        assert answer.status_code == 201, answer.text
    await shelf.change(ferry["id"], text="This chunk is about lighthouses, and has been for years.")
    await shelf.change(bus["id"], text=bus["text"] + " It stops at the pier.")
    _, of_ferry, _, of_bus = (await shelf.get(messages))["items"]
    cited = {one["chunk_id"]: one for one in of_ferry["citations"]}[ferry["id"]]
    assert (cited["quote"], cited["removed"], cited["document_name"]) == (None, True, "Handbook")
    assert "lighthouse" not in of_ferry["content"]
    kept = {one["chunk_id"]: one for one in of_bus["citations"]}[bus["id"]]
    assert (kept["quote"], kept["removed"]) == ("The bus leaves at ten from the square.", False)
    assert kept["quote"] in of_bus["content"]


async def test_a_disabled_chunk_is_gone_at_once_and_back_at_once(shelf: Shelf) -> None:
    document_id = await shelf.add(TEXT)
    ferry, bus = await shelf.chunks(document_id)

    async def found() -> set[str]:
        return {hit["chunk_id"] for hit in (await shelf.retrieve("when does the ferry leave"))["hits"]}

    answer = await shelf.person.client.patch(f"/v1/chunks/{ferry['id']}", json={"enabled": False})
    assert (answer.json()["chunk"]["enabled"], answer.json()["operation"]) == (False, None)
    assert await found() == {bus["id"]}
    await shelf.person.client.patch(f"/v1/chunks/{ferry['id']}", json={"enabled": True})
    assert await found() == {ferry["id"], bus["id"]}


async def test_history_tells_who_changed_what(shelf: Shelf, member: Member) -> None:
    document_id = await shelf.add(TEXT)
    ferry, bus = await shelf.chunks(document_id)
    editor = await member("editor", by=shelf.person)
    await shelf.change(ferry["id"], text="First.")
    await Shelf(editor, shelf.kb_id).change(ferry["id"], text="Second.", enabled=False)
    await shelf.change(ferry["id"], text="Second.", enabled=False)  # says what is the case already
    path = f"/v1/chunks/{ferry['id']}/history"
    edits = (await shelf.get(path))["items"]
    assert [(one["text_before"], one["text_after"], one["enabled"], one["edited_by"]) for one in edits] == [
        ("First.", "Second.", False, editor.user_id),
        (ferry["text"], "First.", None, shelf.person.user_id),
    ]
    first = await shelf.get(path, limit=1)
    rest = await shelf.get(path, limit=1, cursor=first["next_cursor"])
    assert [*first["items"], *rest["items"]] == edits
    assert rest["next_cursor"] is None
    assert (await shelf.get(f"/v1/chunks/{bus['id']}/history"))["items"] == []


async def test_a_new_version_keeps_changes_of_what_it_has_in_common_with_the_one_before(shelf: Shelf) -> None:
    document_id = await shelf.add(TEXT, external_id="timetable")
    ferry, bus = await shelf.chunks(document_id)
    await shelf.change(ferry["id"], text="渡轮从新码头出发，时间是八点。")
    await shelf.change(ferry["id"], enabled=False)
    await shelf.change(bus["id"], text="The bus is on strike.")
    history = (await shelf.get(f"/v1/chunks/{ferry['id']}/history"))["items"]
    new = "# Car\n\nCars may park here.\n\n" + TEXT.replace("ten", "eleven")
    _, operation = await shelf.ingest(new, external_id="timetable")
    assert operation["counts"] == {"chunks": 3, "embedded": 2, "reused": 1, "edits_carried": 1, "edits_lost": 1}
    assert operation["lost_edits"] == [bus["id"]]
    _, again, bus_now = await shelf.chunks(document_id)
    assert (again["text"], again["enabled"], again["pending_text"]) == ("渡轮从新码头出发，时间是八点。", False, None)
    assert bus_now["text"] == bus["text"].replace("ten", "eleven")
    assert (await shelf.get(f"/v1/chunks/{again['id']}/history"))["items"] == history
    assert (await shelf.person.client.get(f"/v1/chunks/{ferry['id']}/history")).status_code == 404
    assert (await shelf.person.client.get(f"/v1/chunks/{bus['id']}")).status_code == 404
    (lost,) = (await shelf.get(f"/v1/chunks/{bus['id']}/history"))["items"]
    assert (lost["text_before"], lost["text_after"]) == (bus["text"], "The bus is on strike.")
    assert (await shelf.change(again["id"], enabled=True))["text"] == again["text"]
    best = (await shelf.retrieve("新码头", mode="bm25"))["hits"][0]
    assert (best["chunk_id"], best["text"]) == (again["id"], again["text"])
    assert (await shelf.get("/v1/consistency"))["clean"]


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({}, "validation_failed"),
        ({"text": " \n"}, "validation_failed"),
        ({"text": "a\x00b"}, "validation_failed"),
        ({"text": "x" * 65_537}, "validation_failed"),
        ({"enabled": "perhaps"}, "validation_failed"),
        ({"kind": "code"}, "validation_failed"),
        ({"text": "word " * 2_000}, "chunk_too_long"),
    ],
)
async def test_what_is_no_change(shelf: Shelf, patch: dict[str, object], code: str) -> None:
    (chunk, _) = await shelf.chunks(await shelf.add(TEXT))
    answer = await shelf.person.client.patch(f"/v1/chunks/{chunk['id']}", json=patch)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert await shelf.get(f"/v1/chunks/{chunk['id']}") == chunk


async def test_nobody_else_sees_or_changes_it(shelf: Shelf, stranger: Person) -> None:
    (chunk, _) = await shelf.chunks(await shelf.add(TEXT))
    await shelf.change(chunk["id"], text="A secret.")
    for method, path in (("get", ""), ("get", "/history"), ("patch", "")):
        body = {"text": "Taken over."} if method == "patch" else None
        answer = await stranger.client.request(method, f"/v1/chunks/{chunk['id']}{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (404, "chunk_not_found")
        assert "secret" not in answer.text


async def test_a_deleted_document_has_no_chunks(shelf: Shelf) -> None:
    document_id = await shelf.add(TEXT)
    (chunk, _) = await shelf.chunks(document_id)
    await shelf.change(chunk["id"], text="Edited.")
    assert (await shelf.person.client.delete(f"/v1/documents/{document_id}")).status_code == 204
    for path in ("", "/history"):
        assert (await shelf.person.client.get(f"/v1/chunks/{chunk['id']}{path}")).status_code == 404
    answer = await shelf.person.client.patch(f"/v1/chunks/{chunk['id']}", json={"enabled": False})
    assert answer.status_code == 404
