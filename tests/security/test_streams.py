"""A stream ends with the login that opened it."""

import asyncio
from uuid import UUID

import pytest
from fastapi import FastAPI

from app.core.errors import NotAuthenticated, TooManyRequests
from app.core.scope import Role, TenantScope
from app.core.slots import Places
from app.identity.admission import Admission
from app.identity.tokens import Principal, verify_access_token
from app.ingestion import service
from app.models import OperationState
from app.ports.parts import Parts
from tests.conftest import Member, until
from tests.security.conftest import Shelf


@pytest.mark.parametrize("how", ["logged out", "removed"])
async def test_following_an_operation_ends_with_the_login(
    how: str, shelf: Shelf, member: Member, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer = await member("viewer", by=shelf.person)
    principal = _principal(viewer.client.headers["authorization"], parts)
    scope = TenantScope(principal.tenant_id, principal.user_id, Role.VIEWER)
    monkeypatch.setattr(service, "ENDED", ())  # an operation that never ends
    admission = Admission(parts.database, clock=iter(range(0, 10_000, 10)).__next__)  # nothing is remembered
    operation_id = (await shelf.person.client.get(f"/v1/operations/{shelf.operation_id}")).json()["id"]
    states = service.follow(parts, scope, operation_id, lambda: admission.scope(principal))
    assert (await anext(states)).state is OperationState.SUCCEEDED
    if how == "removed":
        answer = await shelf.person.client.delete(f"/v1/members/{viewer.user_id}")
    else:
        answer = await viewer.client.post("/v1/auth/logout")
    assert answer.status_code == 204
    with pytest.raises(NotAuthenticated):
        await anext(states)


async def test_nobody_follows_more_than_their_share(
    shelf: Shelf, member: Member, platform: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    followers = Places(2, "streams")
    monkeypatch.setattr(platform.state, "followers", followers)
    viewer = await member("viewer", by=shelf.person)
    path = f"/v1/operations/{shelf.operation_id}/events"
    with monkeypatch.context() as endless:
        endless.setattr(service, "ENDED", ())
        streams = [asyncio.create_task(shelf.person.client.get(path)) for _ in range(2)]

        async def all_taken() -> bool:
            try:
                with followers.place(UUID(shelf.person.user_id)):
                    return False
            except TooManyRequests:
                return True

        await until(all_taken)
        refused = await shelf.person.client.get(path)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_streams")
        streams.append(asyncio.create_task(viewer.client.get(path)))
        ended, _ = await asyncio.wait(streams, timeout=0.5)
        assert not ended
    assert [(await stream).status_code for stream in streams] == [200] * 3
    assert (await shelf.person.client.get(path)).status_code == 200, "those that have ended take no place"


def _principal(authorization: str, parts: Parts) -> Principal:
    return verify_access_token(authorization.removeprefix("Bearer "), parts.secret_key)
