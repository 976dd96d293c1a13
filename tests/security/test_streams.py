"""A stream ends with the login that opened it."""

import pytest

from app.core.errors import NotAuthenticated
from app.core.scope import Role, TenantScope
from app.identity.admission import Admission
from app.identity.tokens import Principal, verify_access_token
from app.ingestion import service
from app.models import OperationState
from app.ports.parts import Parts
from tests.conftest import Member
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


def _principal(authorization: str, parts: Parts) -> Principal:
    return verify_access_token(authorization.removeprefix("Bearer "), parts.secret_key)
