"""Each endpoint as nobody, viewer, editor, admin, owner and another tenant."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.conftest import Member, Person, Register

BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("PATCH", "/v1/tenant"): {"name": "新名字"},
    ("PATCH", "/v1/members/{member}"): {"role": "viewer"},
    ("POST", "/v1/invitations"): {"email": "guest@example.com", "role": "viewer"},
}
READS = [("GET", "/v1/tenant"), ("GET", "/v1/members"), ("GET", "/v1/auth/me"), ("GET", "/v1/auth/tenants")]
ADMINISTRATION = [
    ("PATCH", "/v1/tenant"),
    ("PATCH", "/v1/members/{member}"),
    ("DELETE", "/v1/members/{member}"),
    ("POST", "/v1/invitations"),
    ("GET", "/v1/invitations"),
    ("DELETE", "/v1/invitations/{invitation}"),
]
BY_ID = [call for call in ADMINISTRATION if "{" in call[1]]


@dataclass(frozen=True)
class Target:
    """A member and an open invitation of a tenant."""

    owner: Person
    member: str
    invitation: str

    async def call(self, client: httpx.AsyncClient, method: str, path: str) -> httpx.Response:
        path_now = path.format(member=self.member, invitation=self.invitation)
        return await client.request(method, path_now, json=BODIES.get((method, path)))

    async def state(self) -> list[Any]:
        client = self.owner.client
        return [(await client.get(path)).json() for path in ("/v1/tenant", "/v1/members", "/v1/invitations")]


@pytest.fixture(scope="module")
async def tenant(register: Register) -> Person:
    return await register()


@pytest.fixture
async def target(tenant: Person, member: Member) -> Target:
    somebody = await member("viewer", by=tenant)
    body = {"email": f"{uuid4().hex}@example.com", "role": "viewer"}
    invitation = await tenant.client.post("/v1/invitations", json=body)
    return Target(tenant, somebody.user_id, invitation.json()["id"])


@pytest.mark.parametrize(("method", "path"), READS + ADMINISTRATION)
async def test_nobody(anonymous: httpx.AsyncClient, target: Target, method: str, path: str) -> None:
    before = await target.state()
    answer = await target.call(anonymous, method, path)
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert await target.state() == before


@pytest.mark.parametrize("role", ["viewer", "editor", "admin", "owner"])
@pytest.mark.parametrize(("method", "path"), READS + ADMINISTRATION)
async def test_members(target: Target, member: Member, role: str, method: str, path: str) -> None:
    person = await member(role, by=target.owner)
    before = await target.state()
    answer = await target.call(person.client, method, path)
    if role in ("admin", "owner") or (method, path) in READS:
        assert answer.is_success, answer.text
    else:
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
        assert answer.json()["required_role"] == "admin"
        assert await target.state() == before


@pytest.mark.parametrize(("method", "path"), BY_ID)
async def test_another_tenant(stranger: Person, target: Target, method: str, path: str) -> None:
    before = await target.state()
    answer = await target.call(stranger.client, method, path)
    assert answer.status_code == 404
    assert answer.json()["code"] == ("invitation_not_found" if "invitation" in path else "member_not_found")
    assert await target.state() == before


async def test_another_tenant_sees_itself_alone(stranger: Person, target: Target) -> None:
    seen = [(await stranger.client.get(path)).json() for path in ("/v1/tenant", "/v1/members", "/v1/invitations")]
    assert seen[0]["id"] == stranger.tenant_id
    assert [item["user_id"] for item in seen[1]["items"]] == [stranger.user_id]
    assert target.invitation not in str(seen)


@pytest.mark.parametrize("path", ["/v1/members/not-an-id", "/v1/invitations/7"])
async def test_ids_that_are_none(owner: Person, path: str) -> None:
    assert (await owner.client.delete(path)).status_code == 422
