"""A token is worth what Postgres says now: roles and memberships change under people who are logged in."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from sqlalchemy import text

from app.core.database import Database
from app.core.errors import NotAuthenticated, Unavailable
from app.core.scope import Role
from app.identity import admission
from app.identity.admission import MAX_AGE_SECONDS, Admission
from app.identity.state import Identity
from app.identity.tokens import Principal, verify_access_token
from app.ports.parts import Parts
from tests.conftest import Member, Person, until


def principal_of(person: Person, parts: Parts) -> Principal:
    token = person.client.headers["authorization"].removeprefix("Bearer ")
    return verify_access_token(token, parts.secret_key)


async def set_role(parts: Parts, person: Person, role: str) -> None:
    """As another process would."""
    async with parts.database.system() as session:
        statement = text("update memberships set role = :role where user_id = :id")
        await session.execute(statement, {"role": role, "id": person.user_id})


@pytest.fixture
async def dead_database() -> AsyncIterator[Database]:
    database = Database("postgresql+asyncpg://nobody@127.0.0.1:1/nothing", connect_timeout_seconds=0.5)
    yield database
    await database.close()


async def test_a_change_by_another_process_is_seen_after_the_age_limit(member: Member, parts: Parts) -> None:
    person = await member("editor")
    now = 100.0
    gate, principal = Admission(parts.database, clock=lambda: now), principal_of(person, parts)
    assert (await gate.scope(principal)).role is Role.EDITOR
    await set_role(parts, person, "viewer")
    now += MAX_AGE_SECONDS - 0.1
    assert (await gate.scope(principal)).role is Role.EDITOR
    now += 0.2
    assert (await gate.scope(principal)).role is Role.VIEWER
    assert MAX_AGE_SECONDS <= 5


async def test_a_change_by_this_process_is_seen_at_once(member: Member, owner: Person) -> None:
    person = await member("viewer")
    body = {"email": "somebody@example.com", "role": "viewer"}
    assert (await person.client.post("/v1/invitations", json=body)).status_code == 403
    assert (await owner.client.patch(f"/v1/members/{person.user_id}", json={"role": "admin"})).status_code == 200
    assert (await person.client.post("/v1/invitations", json=body)).status_code == 201
    assert (await owner.client.delete(f"/v1/members/{person.user_id}")).status_code == 204
    answer = await person.client.get("/v1/auth/me")
    assert (answer.status_code, answer.json()["code"]) == (401, "login_ended")


async def test_an_answer_older_than_a_change_is_not_remembered(owner: Person, parts: Parts) -> None:
    gate, principal = Admission(parts.database), principal_of(owner, parts)
    waiting = text("select exists (select from pg_locks where relation = 'memberships'::regclass and not granted)")
    async with parts.database.system() as session:
        await session.execute(text("lock table memberships in access exclusive mode"))
        asked = asyncio.create_task(gate.scope(principal))
        await until(lambda: session.scalar(waiting))
        gate.forget(principal.user_id)
    assert (await asked).role is Role.OWNER
    assert not gate._known
    await gate.scope(principal)
    assert gate._known


async def test_without_postgres_nobody_is_called_a_stranger(
    platform: FastAPI, owner: Person, parts: Parts, dead_database: Database
) -> None:
    """503, not 401: a client would throw its tokens away."""
    gate = Admission(dead_database)
    with pytest.raises(Unavailable):
        await gate.scope(principal_of(owner, parts))
    identity: Identity = platform.state.identity
    platform.state.identity = Identity(identity.passwords, identity.throttle, gate)
    try:
        answer = await owner.client.get("/v1/auth/me")
    finally:
        platform.state.identity = identity
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert answer.headers["retry-after"]


async def test_what_is_remembered_is_bounded(
    owner: Person, stranger: Person, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MAX_ENTRIES", 1)
    gate = Admission(parts.database)
    for person in (owner, stranger, owner):
        assert (await gate.scope(principal_of(person, parts))).role is Role.OWNER
    assert len(gate._known) == 1


async def test_a_removed_member_is_not_admitted(member: Member, parts: Parts) -> None:
    person = await member("viewer")
    async with parts.database.system() as session:
        await session.execute(text("delete from memberships where user_id = :id"), {"id": person.user_id})
    with pytest.raises(NotAuthenticated):
        await Admission(parts.database).scope(principal_of(person, parts))
