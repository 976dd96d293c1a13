"""Invitations: a secret that lets the owner of one e-mail address join a tenant once, in one role.

An invitation is worth what its sender may still grant: it lapses with their membership or their rank.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from app.core.database import ReadSession, WriteSession
from app.core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from app.core.pagination import Page, PageRequest, by_id, page_of
from app.core.scope import Role, TenantScope
from app.identity import service as identity_service
from app.identity.passwords import check_password
from app.identity.schemas import Tokens
from app.identity.service import Proven
from app.identity.state import Identity
from app.identity.tokens import hash_opaque_token, new_opaque_token
from app.models import Invitation
from app.ports.parts import Parts
from app.tenants import repository
from app.tenants.schemas import AcceptIn, InvitationIn, InvitationOut, InvitationStatus, NewInvitation
from app.tenants.service import check_grant, lock_for_admin


def status_of(invitation: Invitation) -> InvitationStatus:
    if invitation.accepted_at is not None:
        return InvitationStatus.ACCEPTED
    if invitation.revoked_at is not None:
        return InvitationStatus.REVOKED
    return InvitationStatus.EXPIRED if invitation.expires_at <= datetime.now(UTC) else InvitationStatus.PENDING


def invitation_out(invitation: Invitation) -> InvitationOut:
    return InvitationOut(
        id=invitation.id,
        email=invitation.email,
        role=invitation.role,
        status=status_of(invitation),
        invited_by=invitation.invited_by,
        created_at=invitation.created_at,
        expires_at=invitation.expires_at,
        accepted_at=invitation.accepted_at,
    )


async def invite(session: WriteSession, parts: Parts, scope: TenantScope, body: InvitationIn) -> NewInvitation:
    """A new invitation, which replaces those that the same person has not accepted yet."""
    check_grant(await lock_for_admin(session, scope), body.role)
    if await repository.is_member_by_email(session, scope.tenant_id, body.email):
        raise Conflict("This person is a member already. Change their role instead.", code="already_member")
    await repository.revoke_open_invitations(session, scope.tenant_id, body.email)
    token, token_hash = new_opaque_token()
    invitation = await repository.add_invitation(
        session,
        tenant_id=scope.tenant_id,
        email=body.email,
        role=body.role,
        token_hash=token_hash,
        invited_by=scope.principal_id,
        lifetime=timedelta(days=parts.settings.invitation_days),
    )
    return NewInvitation(**invitation_out(invitation).model_dump(), token=token)


async def list_invitations(session: ReadSession, scope: TenantScope, paging: PageRequest) -> Page[InvitationOut]:
    rows = await repository.invitations_page(session, scope.tenant_id, paging)
    return page_of(map(invitation_out, rows), paging.limit, by_id)


async def revoke(session: WriteSession, scope: TenantScope, invitation_id: UUID) -> None:
    """Revoking again is no error; an accepted invitation can't be revoked."""
    actor = await lock_for_admin(session, scope)
    invitation = await repository.find_invitation(session, scope.tenant_id, invitation_id)
    if invitation is None:
        raise NotFound("There is no such invitation.", code="invitation_not_found")
    check_grant(actor, invitation.role)
    if invitation.accepted_at is not None:
        raise Conflict("It was accepted already. Remove the member instead.", code="invitation_accepted")
    if invitation.revoked_at is None:
        invitation.revoked_at = datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Guest:
    """Whoever accepts an invitation, as far as it is known before the transaction that lets them in."""

    proven: Proven | None = None
    """A registered person who gave their password."""
    logged_in: UUID | None = None
    """The id of a registered person who is logged in."""
    new_hash: str | None = None
    """The hash of the password that a new person chose."""


async def receive(parts: Parts, identity: Identity, body: AcceptIn, *, address: str, logged_in: UUID | None) -> Guest:
    """Finds out who accepts. Hashing is slow, so no connection is held meanwhile."""
    async with parts.database.system() as session:
        invitation = await _redeemable(session, body.token)
        person = await identity_service.find_person(session, invitation.email)
    if body.password is None:
        if logged_in is None:
            raise InvalidInput("Give a `password`, or log in first.", code="password_missing")
        if person is None or person.id != logged_in:
            raise NotAllowed("This invitation is for another e-mail than yours.", code="invitation_for_another")
        return Guest(logged_in=logged_in)
    if person is not None:
        return Guest(
            proven=await identity_service.prove(
                parts, identity, address=address, email=invitation.email, password=body.password
            )
        )
    check_password(body.password, invitation.email)
    return Guest(new_hash=await identity.passwords.hash(body.password))


async def accept(session: WriteSession, parts: Parts, identity: Identity, token: str, guest: Guest) -> Tokens:
    """Makes the guest a member and logs them in to the tenant. `session` is in the system role."""
    invitation = await _redeemable(session, token)
    await repository.lock_tenant(session, invitation.tenant_id)
    invitation = await _redeemable(session, token)  # as it is under the lock
    user_id = await _user_id(session, identity, invitation, guest)
    await identity_service.join(session, invitation.tenant_id, user_id, invitation.role)
    invitation.accepted_at = datetime.now(UTC)
    return await identity_service.start_login(session, parts, user_id, invitation.tenant_id)


async def _user_id(session: WriteSession, identity: Identity, invitation: Invitation, guest: Guest) -> UUID:
    if guest.proven is not None:
        return (await identity_service.confirm(session, identity, guest.proven)).id
    if guest.logged_in is not None:
        return guest.logged_in
    if guest.new_hash is None:
        raise InvalidInput("Give a `password`, or log in first.", code="password_missing")
    return (await identity_service.create_person(session, invitation.email, guest.new_hash)).id


async def _redeemable(session: ReadSession, token: str) -> Invitation:
    """The invitation with this secret, which can still be accepted. Raises `NotFound` or `Conflict`."""
    invitation = await repository.find_invitation_by_token(session, hash_opaque_token(token))
    if invitation is None:
        raise NotFound("There is no such invitation. Check that its token is complete.", code="invitation_not_found")
    status = status_of(invitation)
    if status is not InvitationStatus.PENDING:
        raise Conflict(
            f"This invitation is {status.value}. Ask the one who sent it for another.",
            code=f"invitation_{status.value}",
        )
    if not await _sender_may_grant(session, invitation):
        raise Conflict(
            "Whoever sent this invitation may not grant its role any more. Ask an admin for another.",
            code="invitation_lapsed",
        )
    return invitation


async def _sender_may_grant(session: ReadSession, invitation: Invitation) -> bool:
    if invitation.invited_by is None:
        return False
    sender = await repository.role_of(session, invitation.tenant_id, invitation.invited_by)
    return sender is not None and sender.at_least(Role.ADMIN) and sender.at_least(invitation.role)
