"""`POST /v1/retrieve` over HTTP."""

from uuid import UUID

import httpx
import pytest

from app.core.ids import new_id
from app.core.scope import Role, TenantScope
from app.ports.parts import Parts
from tests.conftest import Member, Person
from tests.retrieval.shelf import Shelf

LEAVE = "Employees get twenty-five days of paid leave a year."
LEAVE_ZH = "员工每年享有二十五天带薪年假。"


@pytest.fixture
async def owned(parts: Parts, owner: Person) -> Shelf:
    return Shelf(parts, TenantScope(UUID(owner.tenant_id), UUID(owner.user_id), Role.OWNER))


async def test_a_question_over_http(owned: Shelf, owner: Person) -> None:
    kb_id = await owned.knowledge_base()
    await owned.document(kb_id, LEAVE, LEAVE_ZH, metadata={"year": 2026})
    body = {"query": "带薪年假有多少天?", "knowledge_base_ids": [str(kb_id)], "filter": {"metadata": {"year": [2026]}}}
    answer = await owner.client.post("/v1/retrieve", json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["hits"][0]["text"] == LEAVE_ZH
    assert found["hits"][0]["scores"].keys() == {"dense", "bm25", "rrf", "fused", "rerank"}
    assert found["hits"][0]["ranks"].keys() == {"dense", "bm25", "rrf", "rerank"}
    assert found["degraded"] == []
    assert {"embed", "dense", "bm25", "hydrate", "total"} <= found["took_ms"].keys()


async def test_who_may_ask(owned: Shelf, anonymous: httpx.AsyncClient, member: Member, stranger: Person) -> None:
    kb_id = await owned.knowledge_base()
    await owned.document(kb_id, LEAVE)
    body = {"query": "paid leave", "knowledge_base_ids": [str(kb_id)]}
    assert (await anonymous.post("/v1/retrieve", json=body)).status_code == 401
    for role in ("viewer", "admin"):
        answer = await (await member(role)).client.post("/v1/retrieve", json=body)
        assert len(answer.json()["hits"]) == 1
    foreign = await stranger.client.post("/v1/retrieve", json=body)
    unknown = await stranger.client.post("/v1/retrieve", json={**body, "knowledge_base_ids": [str(new_id())]})
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.json()["code"] == unknown.json()["code"] == "knowledge_base_not_found"
    assert (await stranger.client.post("/v1/retrieve", json={"query": "paid leave"})).json()["hits"] == []


@pytest.mark.parametrize(
    "content",
    [
        b'{"query": ""}',
        b'{"query": "x", "top_k": 500}',
        b'{"query": "\\ud800"}',
        b'{"query": "x", "filter": {"metadata": {"a": NaN}}}',
        b'{"query": "x", "filter": {"metadata": {"\\ud800": 1}}}',
        b'{"query": "x", "filter": {"tags_any": ["\\u0000"]}}',
        b'{"query": "x", "\\ud800": 1}',
        b'{"query": "x", "knowledge_base_ids": ["../other"]}',
    ],
)
async def test_senseless_bodies_are_problems(owner: Person, content: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = await owner.client.post("/v1/retrieve", content=content, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["code"] == "validation_failed"
