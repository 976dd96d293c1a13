"""Registering makes a tenant and its owner, and nothing when anything is wrong."""

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.ports.parts import Parts
from tests.conftest import Person
from tests.identity.conftest import column

GOOD: dict[str, Any] = {"email": "fresh@example.com", "password": "一匹正确的马 battery", "tenant": "知识库公司"}


async def test_answers_with_tokens_that_work(anonymous: httpx.AsyncClient, parts: Parts) -> None:
    answer = await anonymous.post("/v1/auth/register", json={**GOOD, "email": "  Li.Wei@Example.COM "})
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    tokens = answer.json()
    assert set(tokens) == {"access_token", "token_type", "expires_in", "refresh_token"}
    assert tokens["token_type"] == "bearer"
    assert tokens["expires_in"] == parts.settings.access_token_minutes * 60
    me = await anonymous.get("/v1/auth/me", headers={"authorization": f"Bearer {tokens['access_token']}"})
    assert me.json()["user"]["email"] == "li.wei@example.com"
    assert me.json()["tenant"]["name"] == "知识库公司"
    assert me.json()["role"] == "owner"


async def test_an_email_is_taken_once_however_it_is_written(anonymous: httpx.AsyncClient, owner: Person) -> None:
    answer = await anonymous.post("/v1/auth/register", json={**GOOD, "email": owner.email.upper()})
    assert answer.status_code == 409
    assert answer.json()["code"] == "email_taken"


async def test_of_simultaneous_registrations_one_succeeds_and_leaves_one_tenant(
    anonymous: httpx.AsyncClient, parts: Parts
) -> None:
    body = {**GOOD, "email": "twins@example.com", "tenant": "Twins"}
    answers = await asyncio.gather(*(anonymous.post("/v1/auth/register", json=body) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    async with parts.database.system() as session:
        assert await session.scalar(text("select count(*) from tenants where name = 'Twins'")) == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"password": "seven77"}, "password_length"),
        ({"password": "x" * 257}, "password_length"),
        ({"email": "long.name@example.com", "password": "Long.Name@example.com"}, "password_is_email"),
        ({"password": "x" * 5000}, "validation_failed"),
        ({"email": "nobody"}, "validation_failed"),
        ({"email": "nobody@nodot"}, "validation_failed"),
        ({"email": "a\u0000b@example.com"}, "validation_failed"),
        ({"email": f"{'x' * 300}@example.com"}, "validation_failed"),
        ({"tenant": "   "}, "validation_failed"),
        ({"tenant": "a\u0000b"}, "validation_failed"),
        ({"tenant": "x" * 201}, "validation_failed"),
        ({"tenant_id": "0190b3c0-0000-7000-8000-000000000000"}, "validation_failed"),
    ],
)
async def test_refuses_what_can_not_be_stored(anonymous: httpx.AsyncClient, change: dict[str, str], code: str) -> None:
    answer = await anonymous.post("/v1/auth/register", json={**GOOD, "email": "refused@example.com", **change})
    assert answer.status_code == 422
    assert answer.json()["code"] == code


@pytest.mark.parametrize("email", ["dev@biggraph.test", "李伟@例子.公司", "o'brien+kb@sub.example.org"])
async def test_unusual_addresses_are_welcome(anonymous: httpx.AsyncClient, email: str) -> None:
    assert (await anonymous.post("/v1/auth/register", json={**GOOD, "email": email})).status_code == 201


async def test_passwords_are_kept_as_argon2id(owner: Person, parts: Parts) -> None:
    assert str(await column(parts, owner, "password_hash")).startswith("$argon2id$")
