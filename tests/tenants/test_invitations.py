"""An invitation lets one person in, once, in one role, as long as its sender could let them in."""

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.ports.parts import Parts
from tests.conftest import Connect, Member, Person, Register

PASSWORD = "a fine password 好"


@pytest.fixture(scope="module")
async def boss(register: Register) -> Person:
    return await register()


async def invite(by: Person, email: str, role: str = "editor") -> dict[str, Any]:
    answer = await by.client.post("/v1/invitations", json={"email": email, "role": role})
    assert answer.status_code == 201, answer.text
    invitation: dict[str, Any] = answer.json()
    return invitation


async def accept(client: httpx.AsyncClient, invitation: dict[str, Any], **body: str) -> httpx.Response:
    return await client.post("/v1/invitations/accept", json={"token": invitation["token"], **body})


async def listed(by: Person, invitation: dict[str, Any]) -> dict[str, Any]:
    items = (await by.client.get("/v1/invitations", params={"limit": 200})).json()["items"]
    found: dict[str, Any] = next(item for item in items if item["id"] == invitation["id"])
    return found


async def test_a_new_person_joins(boss: Person, anonymous: httpx.AsyncClient, connect: Connect) -> None:
    invitation = await invite(boss, "New.Person@Example.com")
    assert (invitation["email"], invitation["status"]) == ("new.person@example.com", "pending")
    answer = await accept(anonymous, invitation, password=PASSWORD)
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    person = await connect(answer, invitation["email"], PASSWORD)
    me = (await person.client.get("/v1/auth/me")).json()
    assert (me["tenant"]["id"], me["role"]) == (boss.tenant_id, "editor")
    assert (await listed(boss, invitation))["status"] == "accepted"
    again = await accept(anonymous, invitation, password=PASSWORD)
    assert (again.status_code, again.json()["code"]) == (409, "invitation_accepted")


async def test_the_token_is_shown_once(boss: Person, parts: Parts) -> None:
    invitation = await invite(boss, "shown.once@example.com")
    assert invitation["token"] not in str((await boss.client.get("/v1/invitations")).json())
    async with parts.database.system() as session:
        rows = (await session.execute(text("select i::text from invitations i"))).scalars().all()
    assert invitation["token"] not in "".join(rows)


@pytest.mark.parametrize(
    ("password", "code"),
    [("short", "password_length"), ("weak.guest@example.com", "password_is_email"), (None, "password_missing")],
)
async def test_a_new_person_chooses_a_good_password(
    boss: Person, anonymous: httpx.AsyncClient, password: str | None, code: str
) -> None:
    invitation = await invite(boss, "weak.guest@example.com")
    answer = await accept(anonymous, invitation, **({"password": password} if password else {}))
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert (await listed(boss, invitation))["status"] == "pending"


async def test_a_registered_person_proves_who_they_are(
    boss: Person, anonymous: httpx.AsyncClient, register: Register, connect: Connect
) -> None:
    guest = await register()
    invitation = await invite(boss, guest.email)
    wrong = await accept(anonymous, invitation, password="somebody else's")
    assert (wrong.status_code, wrong.json()["code"]) == (401, "wrong_credentials")
    assert (await accept(anonymous, invitation)).status_code == 422
    answer = await accept(anonymous, invitation, password=guest.password)
    joined = await connect(answer, guest.email, guest.password)
    assert (joined.tenant_id, joined.user_id) == (boss.tenant_id, guest.user_id)
    assert (await guest.client.get("/v1/auth/me")).json()["tenant"]["id"] == guest.tenant_id


async def test_somebody_who_is_logged_in_needs_no_password(boss: Person, register: Register, connect: Connect) -> None:
    guest, another = await register(), await register()
    invitation = await invite(boss, guest.email, "viewer")
    refused = await accept(another.client, invitation)
    assert (refused.status_code, refused.json()["code"]) == (403, "invitation_for_another")
    joined = await connect(await accept(guest.client, invitation), guest.email, guest.password)
    assert joined.tenant_id == boss.tenant_id


async def test_of_simultaneous_acceptances_one_succeeds(boss: Person, anonymous: httpx.AsyncClient) -> None:
    invitation = await invite(boss, "hasty@example.com")
    answers = await asyncio.gather(*(accept(anonymous, invitation, password=PASSWORD) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]


async def test_revoked(boss: Person, anonymous: httpx.AsyncClient) -> None:
    invitation = await invite(boss, "unwanted@example.com")
    for _ in range(2):  # again is no error
        assert (await boss.client.delete(f"/v1/invitations/{invitation['id']}")).status_code == 204
    answer = await accept(anonymous, invitation, password=PASSWORD)
    assert (answer.status_code, answer.json()["code"]) == (409, "invitation_revoked")
    assert (await listed(boss, invitation))["status"] == "revoked"


async def test_an_accepted_one_can_not_be_revoked(boss: Person, anonymous: httpx.AsyncClient) -> None:
    invitation = await invite(boss, "too.late@example.com")
    assert (await accept(anonymous, invitation, password=PASSWORD)).status_code == 201
    answer = await boss.client.delete(f"/v1/invitations/{invitation['id']}")
    assert (answer.status_code, answer.json()["code"]) == (409, "invitation_accepted")


async def test_expired(boss: Person, anonymous: httpx.AsyncClient, parts: Parts) -> None:
    invitation = await invite(boss, "slow@example.com")
    async with parts.database.system() as session:
        statement = text("update invitations set expires_at = now() where id = :id")
        await session.execute(statement, {"id": invitation["id"]})
    answer = await accept(anonymous, invitation, password=PASSWORD)
    assert (answer.status_code, answer.json()["code"]) == (409, "invitation_expired")
    assert (await listed(boss, invitation))["status"] == "expired"


async def test_a_second_invitation_replaces_the_first(boss: Person, anonymous: httpx.AsyncClient) -> None:
    first = await invite(boss, "asked.twice@example.com", "admin")
    second = await invite(boss, "asked.twice@example.com", "viewer")
    answer = await accept(anonymous, first, password=PASSWORD)
    assert (answer.status_code, answer.json()["code"]) == (409, "invitation_revoked")
    assert (await accept(anonymous, second, password=PASSWORD)).status_code == 201


async def test_members_are_not_invited(boss: Person) -> None:
    answer = await boss.client.post("/v1/invitations", json={"email": boss.email.upper(), "role": "viewer"})
    assert (answer.status_code, answer.json()["code"]) == (409, "already_member")


@pytest.mark.parametrize("fate", ["removed", "demoted"])
async def test_lapses_with_its_sender(boss: Person, member: Member, anonymous: httpx.AsyncClient, fate: str) -> None:
    sender = await member("admin", by=boss)
    invitation = await invite(sender, f"friend.of.{fate}@example.com", "admin")
    path = f"/v1/members/{sender.user_id}"
    changed = await (
        boss.client.delete(path) if fate == "removed" else boss.client.patch(path, json={"role": "editor"})
    )
    assert changed.is_success
    answer = await accept(anonymous, invitation, password=PASSWORD)
    assert (answer.status_code, answer.json()["code"]) == (409, "invitation_lapsed")


async def test_an_admin_does_not_revoke_an_owners_offer(boss: Person, member: Member) -> None:
    admin, invitation = await member("admin", by=boss), await invite(boss, "heir@example.com", "owner")
    answer = await admin.client.delete(f"/v1/invitations/{invitation['id']}")
    assert (answer.status_code, answer.json()["code"]) == (403, "role_above_yours")
    assert (await listed(boss, invitation))["status"] == "pending"


async def test_unknown_tokens(anonymous: httpx.AsyncClient) -> None:
    for token in ("nonsense", "马"):
        answer = await accept(anonymous, {"token": token}, password=PASSWORD)
        assert (answer.status_code, answer.json()["code"]) == (404, "invitation_not_found")
