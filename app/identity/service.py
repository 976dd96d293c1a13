"""People: registering, proving who they are, logging in and staying logged in.

A login is a family of refresh tokens, each good for one use. Using one twice means that somebody else has it, so the
whole family ends (RFC 9700, 4.14.2). All changes to a person's logins take the lock on the person's row first.
"""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from app.core.database import ReadSession, WriteSession
from app.core.errors import Conflict, NotAllowed, NotAuthenticated, NotFound
from app.core.ids import new_id
from app.core.scope import Role, TenantScope
from app.identity import repository
from app.identity.passwords import check_password
from app.identity.schemas import Me, OwnTenant, PasswordChangeIn, TenantRef, Tokens, UserOut
from app.identity.state import Identity
from app.identity.tokens import Principal, hash_opaque_token, issue_access_token, new_opaque_token
from app.models import RefreshToken, User
from app.ports.parts import Parts


@dataclass(frozen=True, slots=True)
class Proven:
    """Somebody who gave the right password for `verified_hash`."""

    user_id: UUID
    password: str
    verified_hash: str
    upgrade: str | None


def wrong_credentials() -> NotAuthenticated:
    """One answer for an unknown e-mail and a wrong password: who has an account is nobody's business."""
    return NotAuthenticated("The e-mail or the password is wrong.", code="wrong_credentials")


async def find_person(session: ReadSession, email: str) -> User | None:
    return await repository.find_user_by_email(session, email)


async def create_person(session: WriteSession, email: str, password_hash: str) -> User:
    user = await repository.add_user(session, email, password_hash)
    if user is None:
        raise Conflict("Somebody is registered with this e-mail. Log in, or use another address.", code="email_taken")
    return user


async def join(session: WriteSession, tenant_id: UUID, user_id: UUID, role: Role) -> None:
    if not await repository.add_membership(session, tenant_id, user_id, role):
        raise Conflict("This person is a member of the tenant already.", code="already_member")


async def register(session: WriteSession, parts: Parts, email: str, password_hash: str, tenant_name: str) -> Tokens:
    """A new person with a tenant that they own. Raises `Conflict` where the e-mail is taken."""
    user = await create_person(session, email, password_hash)
    tenant = await repository.add_tenant(session, tenant_name)
    await join(session, tenant.id, user.id, Role.OWNER)
    return await start_login(session, parts, user.id, tenant.id)


async def prove(parts: Parts, identity: Identity, *, address: str, email: str, password: str) -> Proven:
    """Checks a password, within the limits on guessing. Raises `NotAuthenticated` or `TooManyRequests`.

    Hashing is slow on purpose, so no database connection is held meanwhile; `log_in` looks again under the lock.
    """
    await identity.throttle.admit(address, email)
    async with parts.database.system() as session:
        user = await repository.find_user_by_email(session, email)
    verdict = await identity.passwords.verify(password, user.password_hash if user else None)
    if user is None or not verdict.correct:
        await identity.throttle.failed(address, email)
        raise wrong_credentials()
    await identity.throttle.succeeded(address, email)
    return Proven(user.id, password, user.password_hash, verdict.upgrade)


async def log_in(
    session: WriteSession, parts: Parts, identity: Identity, proven: Proven, tenant_id: UUID | None
) -> Tokens:
    """A login to `tenant_id`, or to the tenant that the person joined first. Raises `NotAuthenticated`."""
    user = await confirm(session, identity, proven)
    own = [tenant.id for tenant, _ in await repository.tenants_of(session, user.id)]
    if tenant_id is not None and tenant_id not in own:
        raise NotAuthenticated("You are not a member of this tenant.", code="not_a_member")
    if not own:
        raise NotAuthenticated("You belong to no tenant. Ask an admin to invite you.", code="no_tenant")
    await repository.forget_expired_logins(session, user.id)
    return await start_login(session, parts, user.id, tenant_id or own[0])


async def confirm(session: WriteSession, identity: Identity, proven: Proven) -> User:
    """Locks the person, makes sure that the proof still holds, and stores the newer kind of hash if there is one."""
    user = await repository.lock_user(session, proven.user_id)
    if user is None:
        raise wrong_credentials()
    if user.password_hash == proven.verified_hash:
        user.password_hash = proven.upgrade or user.password_hash
    elif not (await identity.passwords.verify(proven.password, user.password_hash)).correct:
        raise wrong_credentials()  # it was changed since
    if user.disabled_at is not None:
        raise NotAuthenticated("This account is disabled. Ask the operator of the platform.", code="account_disabled")
    return user


async def start_login(session: WriteSession, parts: Parts, user_id: UUID, tenant_id: UUID) -> Tokens:
    return await _issue(session, parts, Principal(tenant_id, user_id, login_id=new_id()))


async def _issue(session: WriteSession, parts: Parts, principal: Principal) -> Tokens:
    settings = parts.settings
    lifetime = timedelta(minutes=settings.access_token_minutes)
    refresh_token, token_hash = new_opaque_token()
    await repository.add_refresh_token(session, principal, token_hash, timedelta(days=settings.refresh_token_days))
    return Tokens(
        access_token=issue_access_token(principal, parts.secret_key, lifetime),
        expires_in=int(lifetime.total_seconds()),
        refresh_token=refresh_token,
    )


async def refresh(
    session: WriteSession, parts: Parts, identity: Identity, refresh_token: str
) -> Tokens | NotAuthenticated:
    """New tokens for a refresh token that was never used.

    A refusal is returned, not raised: what it revokes must commit.
    """
    token_hash = hash_opaque_token(refresh_token)
    found = await repository.find_refresh_token(session, token_hash)
    if found is None:
        return NotAuthenticated("The refresh token is not known. Log in again.", code="refresh_token_invalid")
    user = await repository.lock_user(session, found.user_id)
    token = await repository.find_refresh_token(session, token_hash)  # as it is under the lock
    if user is None or token is None:
        return NotAuthenticated("The refresh token is not known. Log in again.", code="refresh_token_invalid")
    if token.used_at is not None and token.revoked_at is None:
        await end_login(session, identity, token)
        return NotAuthenticated(
            "This refresh token was used before, so somebody else may have it. The login has ended: log in again.",
            code="refresh_token_reused",
        )
    member = await repository.is_member(session, token.tenant_id, user.id)
    if token.revoked_at is not None or user.disabled_at is not None or not member:
        return NotAuthenticated("This login has ended. Log in again.", code="login_ended")
    if token.expires_at <= await repository.now(session):
        return NotAuthenticated("The refresh token has expired. Log in again.", code="refresh_token_expired")
    await repository.mark_used(session, token.id)
    return await _issue(session, parts, Principal(token.tenant_id, user.id, token.family_id))


async def end_login(session: WriteSession, identity: Identity, token: RefreshToken) -> None:
    await repository.revoke_login(session, token.family_id)
    identity.admission.forget_after_commit(session, token.user_id)


async def log_out(session: WriteSession, identity: Identity, refresh_token: str) -> None:
    """Ends the login that a refresh token belongs to, used or not. An unknown token is no error (RFC 7009, 2.2)."""
    token = await repository.find_refresh_token(session, hash_opaque_token(refresh_token))
    if token is not None:
        await repository.lock_user(session, token.user_id)
        await end_login(session, identity, token)


async def log_out_principal(session: WriteSession, identity: Identity, principal: Principal) -> None:
    await repository.lock_user(session, principal.user_id)
    await repository.revoke_login(session, principal.login_id)
    identity.admission.forget_after_commit(session, principal.user_id)


async def end_logins_in_tenant(session: WriteSession, identity: Identity, user_id: UUID) -> None:
    """In a tenant's session: the person must log in to this tenant anew."""
    await repository.revoke_logins_of(session, user_id)
    identity.admission.forget_after_commit(session, user_id)


async def me(session: ReadSession, scope: TenantScope) -> Me:
    user = await repository.find_user(session, scope.principal_id)
    tenant = await repository.find_tenant(session, scope.tenant_id)
    if user is None or tenant is None:
        raise NotFound("You are no member of this tenant any more.")
    return Me(user=UserOut.model_validate(user), tenant=TenantRef.model_validate(tenant), role=scope.role)


async def own_tenants(session: ReadSession, user_id: UUID) -> list[OwnTenant]:
    rows = await repository.tenants_of(session, user_id)
    return [OwnTenant(id=tenant.id, name=tenant.name, role=role) for tenant, role in rows]


async def prove_change(
    parts: Parts, identity: Identity, scope: TenantScope, body: PasswordChangeIn, *, address: str
) -> tuple[Proven, str]:
    """The proof that the caller may change their password, and the new one's hash: what is slow, without a connection.

    Raises `InvalidInput` for a password that may not be chosen, `NotAllowed` where the current one is wrong, and
    `TooManyRequests`.
    """
    async with parts.database.system() as session:
        user = await repository.find_user(session, scope.principal_id)
    if user is None:
        raise NotFound("There is no such person any more.")
    check_password(body.new_password, user.email)
    try:
        proven = await prove(parts, identity, address=address, email=user.email, password=body.current_password)
    except NotAuthenticated as error:
        raise NotAllowed("`current_password` is not your password.", code="wrong_password") from error
    return proven, await identity.passwords.hash(body.new_password)


async def change_password(
    session: WriteSession, identity: Identity, proven: Proven, principal: Principal, new_hash: str
) -> None:
    """Sets a new password and ends all other logins of the person, in all tenants."""
    user = await confirm(session, identity, proven)
    user.password_hash = new_hash
    await repository.revoke_logins_of(session, user.id, but=principal.login_id)
    identity.admission.forget_after_commit(session, user.id)
