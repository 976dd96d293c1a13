"""Nobody grants more than they have, nobody touches somebody above them, and the last owner stays."""

import asyncio

import httpx
import pytest

from tests.conftest import Member, Person, Register
from tests.tenants.conftest import Statements


async def set_role(by: Person, of: Person, role: str) -> httpx.Response:
    return await by.client.patch(f"/v1/members/{of.user_id}", json={"role": role})


async def remove(by: Person, whom: Person) -> httpx.Response:
    return await by.client.delete(f"/v1/members/{whom.user_id}")


async def owners_of(person: Person) -> set[str]:
    items = (await person.client.get("/v1/members")).json()["items"]
    return {item["user_id"] for item in items if item["role"] == "owner"}


@pytest.fixture
async def boss(register: Register) -> Person:
    return await register()


async def test_a_role_is_changed(boss: Person, member: Member) -> None:
    person = await member("viewer", by=boss)
    answer = await set_role(boss, person, "editor")
    assert answer.status_code == 200
    assert answer.json()["user_id"] == person.user_id
    assert (answer.json()["role"], answer.json()["email"]) == ("editor", person.email)
    assert (await person.client.get("/v1/auth/me")).json()["role"] == "editor"


async def test_nobody_grants_more_than_they_have(boss: Person, member: Member) -> None:
    admin = await member("admin", by=boss)
    for whom in (admin, await member("viewer", by=boss)):
        answer = await set_role(admin, whom, "owner")
        assert (answer.status_code, answer.json()["code"]) == (403, "role_above_yours")
    answer = await admin.client.post("/v1/invitations", json={"email": "x@example.com", "role": "owner"})
    assert (answer.status_code, answer.json()["code"]) == (403, "role_above_yours")
    assert await owners_of(boss) == {boss.user_id}


async def test_nobody_touches_somebody_above_them(boss: Person, member: Member) -> None:
    admin, second = await member("admin", by=boss), await member("owner", by=boss)
    for answer in (await set_role(admin, second, "viewer"), await remove(admin, second)):
        assert (answer.status_code, answer.json()["code"]) == (403, "member_above_you")
    assert await owners_of(boss) == {boss.user_id, second.user_id}
    equal = await member("admin", by=boss)
    assert (await set_role(admin, equal, "viewer")).status_code == 200


async def test_the_last_owner_stays(boss: Person, member: Member) -> None:
    for answer in (await set_role(boss, boss, "admin"), await remove(boss, boss)):
        assert (answer.status_code, answer.json()["code"]) == (409, "last_owner")
    assert (await set_role(boss, boss, "owner")).status_code == 200
    second = await member("owner", by=boss)
    assert (await remove(boss, boss)).status_code == 204
    assert await owners_of(second) == {second.user_id}


async def test_owners_who_demote_each_other_leave_one(member: Member, register: Register) -> None:
    for _ in range(3):
        first = await register()
        second = await member("owner", by=first)
        answers = await asyncio.gather(set_role(first, second, "viewer"), set_role(second, first, "viewer"))
        assert sorted(answer.status_code for answer in answers) == [200, 403]
        assert len(await owners_of(first)) == 1


async def test_a_removed_member_is_out_until_invited_again(
    boss: Person, member: Member, anonymous: httpx.AsyncClient
) -> None:
    person = await member("editor", by=boss)
    body = {"email": person.email, "password": person.password}
    tokens = (await anonymous.post("/v1/auth/login", json=body)).json()
    assert (await remove(boss, person)).status_code == 204
    assert (await remove(boss, person)).status_code == 404
    assert (await person.client.get("/v1/tenant")).status_code == 401
    refreshed = await anonymous.post("/v1/auth/refresh", json={"refresh_token": tokens["refresh_token"]})
    assert (refreshed.status_code, refreshed.json()["code"]) == (401, "login_ended")
    refused = await anonymous.post("/v1/auth/login", json=body)
    assert (refused.status_code, refused.json()["code"]) == (401, "no_tenant")

    invitation = await boss.client.post("/v1/invitations", json={"email": person.email, "role": "viewer"})
    accepted = {"token": invitation.json()["token"], "password": person.password}
    assert (await anonymous.post("/v1/invitations/accept", json=accepted)).status_code == 201
    assert (await person.client.get("/v1/tenant")).status_code == 401
    assert (await anonymous.post("/v1/auth/login", json=body)).status_code == 200


async def test_the_list_is_paged_and_costs_the_same_at_any_length(
    boss: Person, member: Member, statements: Statements
) -> None:
    everyone = {boss.user_id} | {(await member("viewer", by=boss)).user_id for _ in range(4)}
    seen: list[str] = []
    cursor = None
    while True:
        params = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = (await boss.client.get("/v1/members", params=params)).json()
        assert len(page["items"]) <= 2
        seen += [item["user_id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == 5
    assert set(seen) == everyone
    with statements() as executed:
        await boss.client.get("/v1/members")
    assert len([statement for statement in executed if "FROM memberships JOIN users" in statement]) == 1
    for bad in ({"limit": "0"}, {"limit": "201"}, {"cursor": "!"}):
        assert (await boss.client.get("/v1/members", params=bad)).status_code == 422


@pytest.mark.parametrize("role", ["god", "", None, 4])
async def test_roles_that_do_not_exist(boss: Person, role: object) -> None:
    answer = await boss.client.patch(f"/v1/members/{boss.user_id}", json={"role": role})
    assert answer.status_code == 422


async def test_a_tenant_is_renamed(boss: Person) -> None:
    answer = await boss.client.patch("/v1/tenant", json={"name": "  新的名字  "})
    assert (answer.status_code, answer.json()["name"]) == (200, "新的名字")
    assert (await boss.client.get("/v1/tenant")).json() == answer.json()
    assert answer.json()["updated_at"] > answer.json()["created_at"]
    for bad in ("", " ", "x" * 201, "a\nb", "\u0000"):
        assert (await boss.client.patch("/v1/tenant", json={"name": bad})).status_code == 422
