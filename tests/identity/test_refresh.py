"""Refresh tokens are good for one use; a second use ends the login, however the uses are timed."""

import asyncio
from typing import Any

import httpx
from sqlalchemy import text

from app.identity.tokens import hash_opaque_token
from app.ports.parts import Parts
from tests.conftest import Person, Register


async def log_in(client: httpx.AsyncClient, person: Person) -> dict[str, Any]:
    answer = await client.post("/v1/auth/login", json={"email": person.email, "password": person.password})
    assert answer.status_code == 200, answer.text
    tokens: dict[str, Any] = answer.json()
    return tokens


async def refresh(client: httpx.AsyncClient, tokens: dict[str, Any]) -> httpx.Response:
    return await client.post("/v1/auth/refresh", json={"refresh_token": tokens["refresh_token"]})


async def me(client: httpx.AsyncClient, tokens: dict[str, Any]) -> httpx.Response:
    return await client.get("/v1/auth/me", headers={"authorization": f"Bearer {tokens['access_token']}"})


async def test_rotates(anonymous: httpx.AsyncClient, owner: Person) -> None:
    tokens = await log_in(anonymous, owner)
    seen = {tokens["refresh_token"]}
    for _ in range(3):
        answer = await refresh(anonymous, tokens)
        assert answer.status_code == 200
        tokens = answer.json()
        assert tokens["refresh_token"] not in seen
        seen.add(tokens["refresh_token"])
        assert (await me(anonymous, tokens)).json()["user"]["id"] == owner.user_id


async def test_a_second_use_ends_the_login_and_no_other(anonymous: httpx.AsyncClient, owner: Person) -> None:
    first, other = await log_in(anonymous, owner), await log_in(anonymous, owner)
    second = (await refresh(anonymous, first)).json()
    reused = await refresh(anonymous, first)
    assert (reused.status_code, reused.json()["code"]) == (401, "refresh_token_reused")
    assert (await refresh(anonymous, second)).status_code == 401
    assert (await me(anonymous, second)).status_code == 401
    assert (await refresh(anonymous, other)).status_code == 200


async def test_of_simultaneous_uses_one_succeeds_and_the_login_ends(
    anonymous: httpx.AsyncClient, owner: Person
) -> None:
    tokens = await log_in(anonymous, owner)
    answers = await asyncio.gather(*(refresh(anonymous, tokens) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401, 401]
    won = next(answer.json() for answer in answers if answer.status_code == 200)
    assert (await refresh(anonymous, won)).status_code == 401


async def test_reuse_while_the_successor_is_rotated_leaves_nothing_alive(
    anonymous: httpx.AsyncClient, owner: Person
) -> None:
    for _ in range(5):
        first = await log_in(anonymous, owner)
        second = (await refresh(anonymous, first)).json()
        _, successor = await asyncio.gather(refresh(anonymous, first), refresh(anonymous, second))
        if successor.status_code == 200:
            assert (await refresh(anonymous, successor.json())).status_code == 401
        assert (await refresh(anonymous, second)).status_code == 401


async def test_an_expired_token_is_refused(anonymous: httpx.AsyncClient, owner: Person, parts: Parts) -> None:
    tokens = await log_in(anonymous, owner)
    async with parts.database.system() as session:
        await session.execute(
            text("update refresh_tokens set expires_at = now() where token_hash = :hash"),
            {"hash": hash_opaque_token(tokens["refresh_token"])},
        )
    answer = await refresh(anonymous, tokens)
    assert (answer.status_code, answer.json()["code"]) == (401, "refresh_token_expired")


async def test_unknown_and_foreign_tokens_are_refused(anonymous: httpx.AsyncClient, owner: Person) -> None:
    tokens = await log_in(anonymous, owner)
    for bad in ("nonsense", tokens["access_token"][:200], "马"):
        answer = await anonymous.post("/v1/auth/refresh", json={"refresh_token": bad})
        assert (answer.status_code, answer.json()["code"]) == (401, "refresh_token_invalid")


async def test_only_a_hash_is_kept(anonymous: httpx.AsyncClient, owner: Person, parts: Parts) -> None:
    token = (await log_in(anonymous, owner))["refresh_token"]
    async with parts.database.system() as session:
        rows = (await session.execute(text("select r::text from refresh_tokens r"))).scalars().all()
    assert hash_opaque_token(token).hex() in "".join(rows)
    assert token not in "".join(rows)


async def test_logging_out_ends_the_login(anonymous: httpx.AsyncClient, register: Register) -> None:
    person = await register()
    tokens, other = await log_in(anonymous, person), await log_in(anonymous, person)
    tokens = (await refresh(anonymous, tokens)).json()
    assert (await me(anonymous, tokens)).status_code == 200
    body = {"refresh_token": tokens["refresh_token"]}
    for _ in range(2):  # again is no error
        assert (await anonymous.post("/v1/auth/logout", json=body)).status_code == 204
    assert (await refresh(anonymous, tokens)).status_code == 401
    ended = await me(anonymous, tokens)
    assert (ended.status_code, ended.json()["code"]) == (401, "login_ended")
    assert (await me(anonymous, other)).status_code == 200


async def test_logging_out_by_the_access_token(anonymous: httpx.AsyncClient, owner: Person) -> None:
    tokens = await log_in(anonymous, owner)
    header = {"authorization": f"Bearer {tokens['access_token']}"}
    assert (await anonymous.post("/v1/auth/logout", headers=header)).status_code == 204
    assert (await refresh(anonymous, tokens)).status_code == 401
    assert (await anonymous.post("/v1/auth/logout")).status_code == 401
    assert (await anonymous.post("/v1/auth/logout", json={"refresh_token": "unknown"})).status_code == 204


async def test_rows_long_expired_go_at_the_next_login(
    anonymous: httpx.AsyncClient, register: Register, parts: Parts
) -> None:
    person = await register()
    await log_in(anonymous, person)
    async with parts.database.system() as session:
        await session.execute(
            text("update refresh_tokens set expires_at = now() - interval '2 days' where user_id = :id"),
            {"id": person.user_id},
        )
    await log_in(anonymous, person)
    async with parts.database.system() as session:
        count = text("select count(*) from refresh_tokens where user_id = :id")
        assert await session.scalar(count, {"id": person.user_id}) == 1
