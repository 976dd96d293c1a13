"""What a refused request is told: which field, where, and what to do."""

import json
from typing import Any

import httpx
import pytest

from tests.conftest import Person


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"query": ""}, "`query` in the body should have at least 1 character."),
        ({}, "`query` in the body is missing."),
        ({"query": "a", "top_k": 0}, "`top_k` in the body should be greater than or equal to 1."),
        ({"query": "a", "topk": 3}, "`topk` in the body is not known here: leave it out, or see /docs for its name."),
        ({"query": "a", "fusion": {"method": 1}}, "`fusion.method` in the body should be "),
        ([], "The body should be "),
        ({"query": "", "top_k": 0}, "And 1 more: see `errors`."),
    ],
    ids=str,
)
async def test_a_bad_body_names_the_field(owner: Person, body: Any, detail: str) -> None:
    answer = await owner.client.post("/v1/retrieve", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "validation_failed")
    assert detail in answer.json()["detail"]
    assert answer.json()["errors"]


async def test_what_is_no_json_is_said_to_be_none(owner: Person) -> None:
    answer = await owner.client.post("/v1/retrieve", content=b"{", headers={"content-type": "application/json"})
    assert answer.json()["detail"].startswith("The body is no valid JSON: ")


async def test_fields_outside_of_the_body_are_told_from_it(owner: Person) -> None:
    limit = await owner.client.get("/v1/knowledge-bases", params={"limit": 9999})
    assert limit.json()["detail"].startswith("`limit` in the query should be less than or equal to ")
    path = await owner.client.get("/v1/knowledge-bases/7")
    assert path.json()["detail"].startswith("`kb_id` in the path should be a valid UUID")


async def test_lengths_of_text_are_told_in_characters(owner: Person, anonymous: httpx.AsyncClient) -> None:
    """Whatever else a text is checked for: pydantic counts "items" of what a function has returned."""
    kb = (await owner.client.post("/v1/knowledge-bases", json={"name": "Lengths"})).json()
    documents = f"/v1/knowledge-bases/{kb['id']}/documents"
    login = {"email": "li.wei@example.com", "password": "x" * 1025}
    answers = [
        *[await owner.client.get(documents, params={name: "x" * 256}) for name in ("name", "tag", "external_id")],
        await anonymous.post("/v1/auth/login", json=login),
        await anonymous.post("/v1/auth/refresh", json={"refresh_token": "x" * 257}),
        await owner.client.post("/v1/ask", json={"question": "leave?", "model": "x" * 201}),
        await owner.client.post("/v1/retrieve", json={"query": "leave?", "filter": {"tags_any": ["x" * 256]}}),
        await owner.client.post(documents, json={"text": "a", "external_id": "x" * 256}),
    ]
    details = [answer.json()["detail"] for answer in answers]
    assert all("should have at most" in detail and detail.endswith(" characters.") for detail in details), details


@pytest.mark.parametrize("sign", ["\0", "\ud800"])
async def test_text_that_cannot_be_stored_is_told_what_it_holds(owner: Person, sign: str) -> None:
    body = json.dumps({"title": f"a{sign}"})
    answer = await owner.client.post("/v1/sessions", content=body, headers={"content-type": "application/json"})
    assert answer.json()["detail"] == "`title` in the body: holds a NUL character or half of a surrogate pair."


async def test_fields_of_an_upload_are_of_the_body(owner: Person) -> None:
    kb = (await owner.client.post("/v1/knowledge-bases", json={"name": "Problems"})).json()
    documents = f"/v1/knowledge-bases/{kb['id']}/documents"
    form = {"name": "a/b.txt"}
    named = await owner.client.post(documents, files={"file": ("a.txt", b"text")}, data=form)
    assert named.json()["detail"].startswith("`name` in the body: a document's name holds no path: leave out")
    # What would have to be normalised first to see how long it is, is too long.
    long = await owner.client.post(documents, files={"file": ("a.txt", b"text")}, data={"name": "a" + " " * 2000})
    assert long.json()["detail"].startswith("`name` in the body: a document's name has 1 to 255 characters")
    broken = await owner.client.post(documents, content=b"{", headers={"content-type": "application/json"})
    assert broken.json()["detail"].startswith("The body is no valid JSON: ")
    preview = f"/v1/knowledge-bases/{kb['id']}/chunks:preview"
    settings = await owner.client.post(preview, files={"file": ("a.txt", b"text")}, data={"settings": "{"})
    assert settings.json()["detail"].startswith("`settings` in the body is no valid JSON: ")


async def test_an_unknown_knowledge_base_says_how_to_list_them(owner: Person) -> None:
    unknown = "0190b3c0-0000-7000-8000-000000000000"
    answers = (
        await owner.client.get(f"/v1/knowledge-bases/{unknown}"),
        await owner.client.get("/v1/operations", params={"knowledge_base_id": unknown}),
        await owner.client.post("/v1/retrieve", json={"query": "a", "knowledge_base_ids": [unknown]}),
    )
    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (404, "knowledge_base_not_found")
        assert "GET /v1/knowledge-bases" in answer.json()["detail"]
