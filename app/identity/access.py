"""Who may call a route. Every route declares one policy: `Viewer`, `Editor`, `Admin` or `Public`.

A policy gives the route its `TenantScope`; the sessions below are confined to it. `policy_of` lets the test suite (and
the OpenAPI schema) find a route that forgot to declare one.
"""

from collections.abc import AsyncIterator, Callable
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from app.core.database import ReadSession, WriteSession
from app.core.errors import NotAllowed, NotAuthenticated
from app.core.scope import Role, TenantScope
from app.identity.admission import Admit
from app.identity.state import Identity
from app.identity.tokens import Principal, verify_access_token
from app.ports.parts import Parts

# All dependencies here are coroutines, those that never wait too: FastAPI would send a plain function to a thread.
_bearer = HTTPBearer(auto_error=False, description="An access token of `POST /v1/auth/login`.")


async def get_parts(request: Request) -> Parts:
    return cast(Parts, request.app.state.parts)


PartsDep = Annotated[Parts, Depends(get_parts)]


async def get_identity(request: Request) -> Identity:
    return cast(Identity, request.app.state.identity)


IdentityDep = Annotated[Identity, Depends(get_identity)]
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def _client_address(request: Request) -> str:
    """As the server knows it: behind a proxy, uvicorn takes it from the headers of proxies that it trusts."""
    return request.client.host if request.client else "unknown"


ClientAddress = Annotated[str, Depends(_client_address)]


def read_bearer(credentials: HTTPAuthorizationCredentials | None, secret_key: bytes) -> Principal:
    """Whom the bearer token names. Raises `NotAuthenticated`."""
    if credentials is None:
        raise NotAuthenticated("This needs a bearer token. Get one from POST /v1/auth/login.")
    return verify_access_token(credentials.credentials, secret_key)


async def _principal(parts: PartsDep, credentials: Credentials) -> Principal:
    return read_bearer(credentials, parts.secret_key)


CurrentPrincipal = Annotated[Principal, Depends(_principal)]


async def authenticate(principal: CurrentPrincipal, identity: IdentityDep) -> TenantScope:
    """The scope that the bearer token gives, with the role that the person has now. Raises `NotAuthenticated`."""
    return await identity.admission.scope(principal)


Authenticated = Annotated[TenantScope, Depends(authenticate)]


async def _admit_again(principal: CurrentPrincipal, identity: IdentityDep) -> Admit:
    return lambda: identity.admission.scope(principal)


AdmitAgain = Annotated[Admit, Depends(_admit_again)]
"""For answers that take long: what was true when they began may end before they do."""


class Policy:
    """What a route asks of its caller. `name` stands in the OpenAPI schema as `x-policy`."""

    def __init__(self, name: str) -> None:
        self.name = name


class PublicPolicy(Policy):
    async def __call__(self) -> None:
        """Nobody is asked who they are."""


class RolePolicy(Policy):
    """Admits principals whose role is at least `minimum`, and gives the route their scope. Raises `NotAllowed`."""

    def __init__(self, minimum: Role) -> None:
        super().__init__(minimum.value)
        self.minimum = minimum

    async def __call__(self, scope: Authenticated) -> TenantScope:
        if not scope.role.at_least(self.minimum):
            raise NotAllowed(
                f"This needs the role {self.minimum.value}; yours is {scope.role.value}. Ask an admin of your tenant.",
                required_role=self.minimum.value,
            )
        return scope


public = PublicPolicy("public")
Public = Depends(public)
Viewer = Annotated[TenantScope, Depends(RolePolicy(Role.VIEWER))]
Editor = Annotated[TenantScope, Depends(RolePolicy(Role.EDITOR))]
Admin = Annotated[TenantScope, Depends(RolePolicy(Role.ADMIN))]


def policy_of(route: APIRoute) -> str:
    """The name of the one policy that a route declares. Raises `LookupError` where it is not exactly one."""
    found = {policy.name for policy in _policies(route.dependant)}
    if len(found) != 1:
        raise LookupError(f"{route.path} declares {sorted(found) or 'no'} policies; it needs exactly one.")
    return found.pop()


def _policies(dependant: Dependant) -> list[Policy]:
    call: Callable[..., object] | None = dependant.call
    own: list[Policy] = [call] if isinstance(call, Policy) else []
    return own + [policy for inner in dependant.dependencies for policy in _policies(inner)]


async def _read_session(parts: PartsDep, scope: Authenticated) -> AsyncIterator[ReadSession]:
    async with parts.database.read(scope) as session:
        yield session


async def _write_session(parts: PartsDep, scope: Authenticated) -> AsyncIterator[WriteSession]:
    async with parts.database.write(scope) as session:
        yield session


async def _system_session(parts: PartsDep) -> AsyncIterator[WriteSession]:
    async with parts.database.system() as session:
        yield session


# `scope="function"`: the transaction ends, and commits, before the answer is sent.
Reading = Annotated[ReadSession, Depends(_read_session, scope="function")]
Writing = Annotated[WriteSession, Depends(_write_session, scope="function")]
SystemWriting = Annotated[WriteSession, Depends(_system_session, scope="function")]
"""For routes that come before a tenant is known: they see credentials and nothing else."""
