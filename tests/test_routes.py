"""Every route of the OpenAPI schema, as nobody, as somebody with too low a role, and with ids of another tenant.

Driven by the schema: a new route, or a new id in a path, query or body, is tried without a change here, or fails the
suite because nothing here knows how to fill it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI

from app.core.scope import Role
from app.core.settings import Settings
from app.main import create_app
from tests.conftest import Member, Person, Register, until

SCHEMA = create_app(Settings(_env_file=None)).openapi()
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Route:
    method: str
    path: str
    operation: dict[str, Any] = field(repr=False, hash=False, compare=False)

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def policy(self) -> str:
        return str(self.operation.get("x-policy", "none"))

    @property
    def ids_in_path(self) -> list[str]:
        parameters = self.operation.get("parameters", [])
        return [one["name"] for one in parameters if one["in"] == "path" and list(ids_in(one["schema"]))]

    def path_with(self, ids: dict[str, str]) -> str:
        """The path with these ids; what else stands in it, as the number of a table, is 1."""
        return self.path.format(**{**dict.fromkeys(re.findall(r"{(\w+)}", self.path), "1"), **ids})

    @property
    def ids_in_query(self) -> list[str]:
        parameters = self.operation.get("parameters", [])
        return [one["name"] for one in parameters if one["in"] == "query" and list(ids_in(one["schema"]))]

    @property
    def body(self) -> dict[str, Any] | None:
        content: dict[str, Any] = self.operation.get("requestBody", {}).get("content", {})
        return content["application/json"]["schema"] if "application/json" in content else None


def ids_in(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where ids may stand in JSON of a schema; `[]` is an item of a list."""
    if "$ref" in schema:
        schema = SCHEMA["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if schema.get("format") == "uuid":
        yield path
    for name, inner in schema.get("properties", {}).items():
        yield from ids_in(inner, (*path, name))
    for inner in (*schema.get("anyOf", ()), *schema.get("allOf", ()), *schema.get("oneOf", ())):
        yield from ids_in(inner, path)
    if "items" in schema:
        yield from ids_in(schema["items"], (*path, "[]"))


ROUTES = [
    Route(method, path, operation)
    for path, operations in SCHEMA["paths"].items()
    for method, operation in operations.items()
    if method in METHODS
]
GUARDED = [route for route in ROUTES if route.policy != "public"]
BODIES: dict[str, dict[str, Any]] = {
    "POST /v1/auth/password": {"current_password": "wrong horse 17", "new_password": "correct horse 9000"},
    "PATCH /v1/tenant": {"name": "Taken over"},
    "PATCH /v1/members/{user_id}": {"role": "viewer"},
    "POST /v1/invitations": {"email": "guest@example.com", "role": "viewer"},
    "POST /v1/knowledge-bases": {"name": "Theirs"},
    "PATCH /v1/knowledge-bases/{kb_id}": {"name": "Taken over"},
    "POST /v1/knowledge-bases/{kb_id}/documents": {"title": "Planted", "text": "This was planted."},
    "POST /v1/knowledge-bases/{kb_id}/chunks:preview": {},
    "PUT /v1/documents/{document_id}/content": {},
    "PATCH /v1/documents/{document_id}": {"name": "Taken over", "tags": ["taken"]},
    "PATCH /v1/chunks/{chunk_id}": {"text": "Taken over.", "enabled": False},
    "POST /v1/retrieve": {"query": "What does the note say?"},
    "POST /v1/ask": {"question": "What does the note say?"},
    "POST /v1/sessions": {"title": "A chat"},
    "PATCH /v1/sessions/{session_id}": {"title": "Taken over"},
    "POST /v1/sessions/{session_id}/messages": {"question": "What does the note say?"},
}
"""A valid body of each route that needs one, without ids."""
ID_OF = {
    "kb_id": "knowledge_base",
    "knowledge_base_id": "knowledge_base",
    "knowledge_base_ids": "knowledge_base",
    "document_id": "document",
    "document_ids": "document",
    "explain_document_ids": "document",
    "explain_chunk_ids": "chunk",
    "chunk_id": "chunk",
    "operation_id": "operation",
    "session_id": "session",
    "user_id": "member",
    "invitation_id": "invitation",
}
"""Name of a parameter or field to the kind of thing that it names."""
PUBLIC = {
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
    "POST /v1/auth/register",
    "POST /v1/auth/login",
    "POST /v1/auth/refresh",
    "POST /v1/auth/logout",
    "POST /v1/invitations/accept",
}


@dataclass(frozen=True)
class Estate:
    """One thing of each kind that a tenant may have, and its owner."""

    owner: Person
    ids: dict[str, str]

    async def snapshot(self) -> str:
        """Everything that the owner sees of it."""
        ids, client = self.ids, self.owner.client
        paths = [
            "/v1/tenant",
            "/v1/members",
            "/v1/invitations",
            "/v1/knowledge-bases",
            f"/v1/knowledge-bases/{ids['knowledge_base']}",
            f"/v1/knowledge-bases/{ids['knowledge_base']}/documents",
            f"/v1/documents/{ids['document']}",
            f"/v1/documents/{ids['document']}/chunks",
            f"/v1/documents/{ids['document']}/content",
            "/v1/operations",
            f"/v1/operations/{ids['operation']}",
            "/v1/sessions",
            f"/v1/sessions/{ids['session']}/messages",
            "/v1/consistency",
        ]
        seen = {}
        for path in paths:
            answer = await client.get(path)
            assert answer.status_code == 200, f"{path}: {answer.text}"
            seen[path] = answer.text
        return json.dumps(seen, indent=1)


async def settle(person: Person) -> Estate:
    """Builds an estate. Every tenant's has the same document."""

    async def made(path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await person.client.post(path, json=body)
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json()
        return found

    kb = await made("/v1/knowledge-bases", {"name": "Notes"})
    body = {"title": "Note", "text": "The note says that the ferry leaves at nine.", "external_id": "note"}
    sent = await made(f"/v1/knowledge-bases/{kb['id']}/documents", body)
    path = f"/v1/operations/{sent['operation']['id']}"

    async def ended() -> bool:
        return bool((await person.client.get(path)).json()["state"] == "succeeded")

    await until(ended)
    chunks = (await person.client.get(f"/v1/documents/{sent['document']['id']}/chunks")).json()["items"]
    chat = await made("/v1/sessions", {"title": "A chat", "knowledge_base_ids": [kb["id"]]})
    await made(f"/v1/sessions/{chat['id']}/messages", {"question": "When does the ferry leave?"})
    invitation = await made("/v1/invitations", {"email": f"{uuid4().hex}@example.com", "role": "viewer"})
    ids = {
        "knowledge_base": kb["id"],
        "document": sent["document"]["id"],
        "operation": sent["operation"]["id"],
        "chunk": chunks[0]["id"],
        "session": chat["id"],
        "invitation": invitation["id"],
        "member": person.user_id,
    }
    return Estate(person, ids)


@pytest.fixture(scope="module")
async def victim(register: Register) -> Estate:
    return await settle(await register())


@pytest.fixture(scope="module")
async def intruder(register: Register) -> Estate:
    """The owner of another tenant, with the same things in it."""
    return await settle(await register())


@pytest.fixture(scope="module")
async def lower(victim: Estate, member: Member) -> dict[str, Person]:
    """For each policy somebody of the victim's tenant whose role is just not enough."""
    return {
        "editor": await member("viewer", by=victim.owner),
        "admin": await member("editor", by=victim.owner),
        "owner": await member("admin", by=victim.owner),
    }


def filled(route: Route, ids: dict[str, str]) -> str:
    return route.path_with({name: ids[ID_OF[name]] for name in route.ids_in_path})


async def call(
    client: httpx.AsyncClient,
    route: Route,
    path: str,
    body: dict[str, Any] | None = None,
    query: dict[str, str] | None = None,
) -> httpx.Response:
    content = BODIES.get(str(route)) if body is None else body
    return await client.request(route.method, path, json=content, params=query)


def with_id(body: dict[str, Any], where: tuple[str, ...], value: str) -> dict[str, Any]:
    """The body with an id at a place that `ids_in` named."""
    name, *rest = where
    if rest == ["[]"]:
        return {**body, name: [value]}
    return {**body, name: with_id(body.get(name, {}), tuple(rest), value) if rest else value}


def test_every_route_declares_a_policy() -> None:
    known = {"public", *Role}
    assert {str(route): route.policy for route in ROUTES if route.policy not in known} == {}
    assert {str(route) for route in ROUTES if route.policy == "public"} == PUBLIC


def test_the_application_serves_what_is_tried_here(platform: FastAPI) -> None:
    assert platform.openapi() == SCHEMA


@pytest.mark.parametrize("route", GUARDED, ids=str)
def test_this_suite_knows_how_to_fill_the_route(route: Route) -> None:
    names = [*route.ids_in_path, *route.ids_in_query]
    names += [next(part for part in reversed(where) if part != "[]") for where in ids_in(route.body or {})]
    assert [name for name in names if name not in ID_OF] == [], "say in ID_OF what these name"
    if route.operation.get("requestBody", {}).get("required"):
        assert str(route) in BODIES, "give it a valid body in BODIES"


@pytest.mark.parametrize("route", GUARDED, ids=str)
async def test_nobody_is_asked_to_log_in(anonymous: httpx.AsyncClient, victim: Estate, route: Route) -> None:
    before = await victim.snapshot()
    for headers in ({}, {"authorization": "Bearer nonsense"}, {"authorization": "Basic b3duZXI6cGFzcw=="}):
        answer = await anonymous.request(
            route.method, filled(route, victim.ids), json=BODIES.get(str(route)), headers=headers
        )
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), answer.text
        assert answer.json()["code"]
    assert await victim.snapshot() == before


@pytest.mark.parametrize("route", [route for route in GUARDED if route.policy != "viewer"], ids=str)
async def test_a_role_that_is_too_low_is_refused(victim: Estate, lower: dict[str, Person], route: Route) -> None:
    before = await victim.snapshot()
    answer = await call(lower[route.policy].client, route, filled(route, victim.ids))
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), answer.text
    assert await victim.snapshot() == before


@pytest.mark.parametrize("route", [route for route in GUARDED if route.ids_in_path], ids=str)
async def test_ids_of_another_tenant_in_the_path(victim: Estate, intruder: Estate, route: Route) -> None:
    """Each alone and all together: as if they did not exist. An id that never was is answered the same."""
    before = await victim.snapshot()
    for strange in (
        {name: victim.ids[ID_OF[name]] for name in route.ids_in_path},
        dict.fromkeys(route.ids_in_path, str(uuid4())),
    ):
        for name in route.ids_in_path:
            own = {other: intruder.ids[ID_OF[other]] for other in route.ids_in_path}
            answer = await call(intruder.owner.client, route, route.path_with({**own, name: strange[name]}))
            assert answer.status_code == 404, answer.text
            assert answer.json()["code"].endswith("_not_found")
            assert "ferry" not in answer.text
    assert await victim.snapshot() == before


@pytest.mark.parametrize("route", [route for route in GUARDED if route.ids_in_query], ids=str)
async def test_ids_of_another_tenant_in_the_query(victim: Estate, intruder: Estate, route: Route) -> None:
    before = await victim.snapshot()
    for name in route.ids_in_query:
        own = await call(
            intruder.owner.client, route, filled(route, intruder.ids), query={name: intruder.ids[ID_OF[name]]}
        )
        assert own.status_code == 200, own.text
        for strange in (victim.ids[ID_OF[name]], str(uuid4())):
            answer = await call(intruder.owner.client, route, filled(route, intruder.ids), query={name: strange})
            assert answer.status_code == 404, answer.text
    assert await victim.snapshot() == before


@pytest.mark.parametrize("route", [route for route in GUARDED if list(ids_in(route.body or {}))], ids=str)
async def test_ids_of_another_tenant_in_the_body(victim: Estate, intruder: Estate, route: Route) -> None:
    before = await victim.snapshot()
    for where in ids_in(route.body or {}):
        kind = ID_OF[next(part for part in reversed(where) if part != "[]")]
        path, body = filled(route, intruder.ids), BODIES[str(route)]
        own = await call(intruder.owner.client, route, path, with_id(body, where, intruder.ids[kind]))
        assert own.is_success, own.text
        for strange in (victim.ids[kind], str(uuid4())):
            answer = await call(intruder.owner.client, route, path, with_id(body, where, strange))
            assert answer.status_code == 404, f"{where}: {answer.text}"
            assert answer.json()["code"].endswith("_not_found")
    assert await victim.snapshot() == before


async def test_logging_in_to_another_tenant_is_refused(
    anonymous: httpx.AsyncClient, victim: Estate, intruder: Estate
) -> None:
    """The one id in the body of a public route."""
    public_ids = {
        (str(route), where) for route in ROUTES if route.policy == "public" for where in ids_in(route.body or {})
    }
    assert public_ids == {("POST /v1/auth/login", ("tenant_id",))}
    person = intruder.owner
    answers = [
        await anonymous.post(
            "/v1/auth/login", json={"email": person.email, "password": person.password, "tenant_id": tenant_id}
        )
        for tenant_id in (victim.owner.tenant_id, str(uuid4()))
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(401, "not_a_member")] * 2


async def test_the_same_documents_are_kept_apart(victim: Estate, intruder: Estate) -> None:
    """Without naming a knowledge base, with an external id and by their own chat: each sees their own copy alone."""
    for mine in (victim, intruder):
        client = mine.owner.client
        for mode in ("dense", "bm25", "hybrid"):
            for where in ({}, {"external_ids": ["note"]}):
                body = {"query": "When does the ferry leave?", "mode": mode, "filter": where}
                hits = (await client.post("/v1/retrieve", json=body)).json()["hits"]
                assert {hit["document_id"] for hit in hits} == {mine.ids["document"]}
        answer = (await client.post("/v1/ask", json={"question": "When does the ferry leave?"})).json()
        assert {one["document_id"] for one in answer["citations"]} == {mine.ids["document"]}
