"""`/v1/auth`."""

from fastapi import APIRouter, Depends, Response

from app.core.errors import NotAuthenticated
from app.identity import service
from app.identity.access import (
    ClientAddress,
    Credentials,
    CurrentPrincipal,
    IdentityDep,
    PartsDep,
    Public,
    Reading,
    SystemWriting,
    Viewer,
    read_bearer,
)
from app.identity.passwords import check_password
from app.identity.schemas import LoginIn, LogoutIn, Me, OwnTenants, PasswordChangeIn, RefreshIn, RegisterIn, Tokens
from app.identity.state import identity_lifespan


async def _no_store(response: Response) -> None:
    """Credentials stay out of caches (RFC 6749, 5.1)."""
    response.headers["cache-control"] = "no-store"


router = APIRouter(prefix="/v1/auth", tags=["identity"], dependencies=[Depends(_no_store)], lifespan=identity_lifespan)


@router.post("/register", status_code=201, dependencies=[Public])
async def register(
    body: RegisterIn, parts: PartsDep, identity: IdentityDep, session: SystemWriting, address: ClientAddress
) -> Tokens:
    """Makes a tenant and its owner, and logs them in."""
    check_password(body.password, body.email)
    await identity.throttle.admit_registration(address)
    password_hash = await identity.passwords.hash(body.password)  # before the session takes a connection
    return await service.register(session, parts, body.email, password_hash, body.tenant)


@router.post("/login", dependencies=[Public])
async def log_in(body: LoginIn, parts: PartsDep, identity: IdentityDep, address: ClientAddress) -> Tokens:
    """Tokens for an e-mail address and its password. After too many failures it is refused for a while (429)."""
    proven = await service.prove(parts, identity, address=address, email=body.email, password=body.password)
    async with parts.database.system() as session:
        return await service.log_in(session, parts, identity, proven, body.tenant_id)


@router.post("/refresh", dependencies=[Public])
async def refresh(body: RefreshIn, parts: PartsDep, identity: IdentityDep) -> Tokens:
    """New tokens for old. Each refresh token is good for one use."""
    async with parts.database.system() as session:
        answer = await service.refresh(session, parts, identity, body.refresh_token)
    if isinstance(answer, NotAuthenticated):
        raise answer
    return answer


@router.post("/logout", status_code=204, dependencies=[Public])
async def log_out(
    parts: PartsDep,
    identity: IdentityDep,
    session: SystemWriting,
    credentials: Credentials,
    body: LogoutIn | None = None,
) -> None:
    """Ends the login of the refresh token in the body or, without one, of the bearer token."""
    if body is not None and body.refresh_token is not None:
        await service.log_out(session, identity, body.refresh_token)
    else:
        await service.log_out_principal(session, identity, read_bearer(credentials, parts.secret_key))


@router.get("/me")
async def me(scope: Viewer, session: Reading) -> Me:
    """Who you are, and in which tenant this login is."""
    return await service.me(session, scope)


@router.get("/tenants")
async def own_tenants(scope: Viewer, session: SystemWriting) -> OwnTenants:
    """The tenants that you may log in to, in the order in which you joined them."""
    return OwnTenants(items=await service.own_tenants(session, scope.principal_id))


@router.post("/password", status_code=204)
async def change_password(
    *,
    body: PasswordChangeIn,
    scope: Viewer,
    principal: CurrentPrincipal,
    parts: PartsDep,
    identity: IdentityDep,
    address: ClientAddress,
) -> None:
    """Sets a new password and ends your other logins."""
    proven, new_hash = await service.prove_change(parts, identity, scope, body, address=address)
    async with parts.database.system() as session:
        await service.change_password(session, identity, proven, principal, new_hash)
