"""Logging in: who may, to which tenant, with which kinds of stored hashes."""

import httpx
import pytest
from passlib.context import CryptContext

from app.ports.parts import Parts
from tests.conftest import Member, Person, Register
from tests.identity.conftest import FromAddress, column, set_column


def credentials(person: Person, **changes: str) -> dict[str, str]:
    return {"email": person.email, "password": person.password, **changes}


async def test_gives_tokens_for_the_own_tenant(anonymous: httpx.AsyncClient, owner: Person) -> None:
    answer = await anonymous.post("/v1/auth/login", json=credentials(owner, email=owner.email.upper()))
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    me = await anonymous.get("/v1/auth/me", headers={"authorization": f"Bearer {answer.json()['access_token']}"})
    assert me.json()["tenant"]["id"] == owner.tenant_id


async def test_an_unknown_email_and_a_wrong_password_look_the_same(from_address: FromAddress, owner: Person) -> None:
    client = from_address("192.0.2.1")
    wrong = await client.post("/v1/auth/login", json=credentials(owner, password="wrong password"))
    unknown = await client.post("/v1/auth/login", json=credentials(owner, email="nobody@example.com"))
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.headers["www-authenticate"] == "Bearer"
    differing = {"request_id"}
    assert {k: v for k, v in wrong.json().items() if k not in differing} == {
        k: v for k, v in unknown.json().items() if k not in differing
    }


@pytest.mark.parametrize("kind", ["pbkdf2", "bcrypt", "long bcrypt"])
async def test_older_hashes_are_verified_and_replaced(
    anonymous: httpx.AsyncClient, register: Register, parts: Parts, kind: str
) -> None:
    person = await register()
    password = "密码" * 20 if kind == "long bcrypt" else person.password  # 120 bytes: bcrypt reads 72 of them
    scheme = "pbkdf2_sha256" if kind == "pbkdf2" else "bcrypt"
    older = CryptContext(schemes=[scheme], pbkdf2_sha256__rounds=1000, bcrypt__rounds=4)
    stored = older.hash(password.encode()[:72])
    await set_column(parts, person, "password_hash = :hash", hash=stored)
    wrong = await anonymous.post("/v1/auth/login", json=credentials(person, password="not this one"))
    assert wrong.status_code == 401
    assert await column(parts, person, "password_hash") == stored
    for _ in range(2):
        answer = await anonymous.post("/v1/auth/login", json=credentials(person, password=password))
        assert answer.status_code == 200
        assert str(await column(parts, person, "password_hash")).startswith("$argon2id$")


@pytest.mark.parametrize("stored", ["", "!", "$argon2id$v=19$m=1", "$2b$12$short"])
async def test_a_damaged_hash_opens_nothing(
    anonymous: httpx.AsyncClient, register: Register, parts: Parts, stored: str
) -> None:
    person = await register()
    await set_column(parts, person, "password_hash = :hash", hash=stored)
    assert (await anonymous.post("/v1/auth/login", json=credentials(person))).status_code == 401


async def test_a_disabled_person_is_out_everywhere(
    anonymous: httpx.AsyncClient, register: Register, parts: Parts
) -> None:
    person = await register()
    tokens = (await anonymous.post("/v1/auth/login", json=credentials(person))).json()
    await set_column(parts, person, "disabled_at = now()")
    answer = await anonymous.post("/v1/auth/login", json=credentials(person))
    assert answer.status_code == 401
    assert answer.json()["code"] == "account_disabled"
    refreshed = await anonymous.post("/v1/auth/refresh", json={"refresh_token": tokens["refresh_token"]})
    assert refreshed.status_code == 401
    fresh = {"authorization": f"Bearer {tokens['access_token']}"}
    assert (await anonymous.get("/v1/auth/me", headers=fresh)).status_code == 401


async def test_a_person_of_several_tenants_chooses_among_their_own(
    anonymous: httpx.AsyncClient, register: Register, member: Member, stranger: Person
) -> None:
    first, second = await register(), await register()
    guest = await member("editor", by=first)
    invitation = await second.client.post("/v1/invitations", json={"email": guest.email, "role": "viewer"})
    body = {"token": invitation.json()["token"], "password": guest.password}
    assert (await anonymous.post("/v1/invitations/accept", json=body)).status_code == 201

    async def log_in(**choice: str) -> httpx.Response:
        answer = await anonymous.post("/v1/auth/login", json=credentials(guest, **choice))
        if answer.status_code != 200:
            return answer
        return await anonymous.get("/v1/auth/me", headers={"authorization": f"Bearer {answer.json()['access_token']}"})

    assert (await log_in()).json()["tenant"]["id"] == first.tenant_id
    chosen = (await log_in(tenant_id=second.tenant_id)).json()
    assert (chosen["tenant"]["id"], chosen["role"]) == (second.tenant_id, "viewer")
    refused = await log_in(tenant_id=stranger.tenant_id)
    assert (refused.status_code, refused.json()["code"]) == (401, "not_a_member")
    own = (await guest.client.get("/v1/auth/tenants")).json()["items"]
    assert [(tenant["id"], tenant["role"]) for tenant in own] == [
        (first.tenant_id, "editor"),
        (second.tenant_id, "viewer"),
    ]


async def test_a_new_password_replaces_the_old_and_ends_other_logins(
    anonymous: httpx.AsyncClient, register: Register
) -> None:
    person = await register()
    other = (await anonymous.post("/v1/auth/login", json=credentials(person))).json()
    body = {"current_password": person.password, "new_password": "another horse 马"}
    assert (await person.client.post("/v1/auth/password", json=body)).status_code == 204

    assert (await person.client.get("/v1/auth/me")).status_code == 200
    others = {"authorization": f"Bearer {other['access_token']}"}
    assert (await anonymous.get("/v1/auth/me", headers=others)).status_code == 401
    refreshed = await anonymous.post("/v1/auth/refresh", json={"refresh_token": other["refresh_token"]})
    assert refreshed.status_code == 401
    assert (await anonymous.post("/v1/auth/login", json=credentials(person))).status_code == 401
    renewed = await anonymous.post("/v1/auth/login", json=credentials(person, password="another horse 马"))
    assert renewed.status_code == 200


async def test_a_password_is_changed_by_its_owner_alone(anonymous: httpx.AsyncClient, register: Register) -> None:
    person = await register()
    wrong = {"current_password": "not my password", "new_password": "another horse 马"}
    answer = await person.client.post("/v1/auth/password", json=wrong)
    assert (answer.status_code, answer.json()["code"]) == (403, "wrong_password")
    weak = {"current_password": person.password, "new_password": "short"}
    answer = await person.client.post("/v1/auth/password", json=weak)
    assert (answer.status_code, answer.json()["code"]) == (422, "password_length")
    assert (await anonymous.post("/v1/auth/password", json=weak)).status_code == 401
    assert (await anonymous.post("/v1/auth/login", json=credentials(person))).status_code == 200
