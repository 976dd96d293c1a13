"""A tenant and its members. Nobody grants more than they have, nobody touches somebody of a higher role, and the last
owner stays.

Roles are read again under the tenant's lock: the scope's role may be a few seconds old, and two owners may try to
demote each other at the same time.
"""

from itertools import starmap
from uuid import UUID

from app.core.database import ReadSession, WriteSession
from app.core.errors import Conflict, NotAllowed, NotFound
from app.core.pagination import Page, PageRequest, encode_cursor, page_of
from app.core.scope import Role, TenantScope
from app.identity import service as identity_service
from app.identity.state import Identity
from app.models import Membership, Tenant
from app.tenants import repository
from app.tenants.schemas import MemberOut


async def get_tenant(session: ReadSession, scope: TenantScope) -> Tenant:
    return _found(await repository.find_tenant(session, scope.tenant_id))


async def rename_tenant(session: WriteSession, scope: TenantScope, name: str) -> Tenant:
    return _found(await repository.rename_tenant(session, scope.tenant_id, name))


def _found(tenant: Tenant | None) -> Tenant:
    if tenant is None:
        raise NotFound("There is no such tenant any more.")
    return tenant


async def list_members(session: ReadSession, scope: TenantScope, paging: PageRequest) -> Page[MemberOut]:
    rows = await repository.members_page(session, scope.tenant_id, paging)
    return page_of(starmap(member_out, rows), paging.limit, lambda member: encode_cursor(member.user_id))


def member_out(membership: Membership, email: str) -> MemberOut:
    return MemberOut(user_id=membership.user_id, email=email, role=membership.role, joined_at=membership.created_at)


async def change_role(
    session: WriteSession, identity: Identity, scope: TenantScope, user_id: UUID, role: Role
) -> MemberOut:
    actor = await lock_for_admin(session, scope)
    membership, email = await _subordinate(session, scope, actor, user_id)
    check_grant(actor, role)
    if role is not Role.OWNER:
        await _keep_an_owner(session, membership)
    membership.role = role
    identity.admission.forget_after_commit(session, user_id)
    return member_out(membership, email)


async def remove_member(session: WriteSession, identity: Identity, scope: TenantScope, user_id: UUID) -> None:
    actor = await lock_for_admin(session, scope)
    membership, _ = await _subordinate(session, scope, actor, user_id)
    await _keep_an_owner(session, membership)
    await repository.remove_member(session, scope.tenant_id, user_id)
    await identity_service.end_logins_in_tenant(session, identity, user_id)


async def lock_for_admin(session: WriteSession, scope: TenantScope) -> Role:
    """Takes the tenant's lock; the caller's role under it, which is admin or owner. Raises `NotAllowed`."""
    await repository.lock_tenant(session, scope.tenant_id)
    role = await repository.role_of(session, scope.tenant_id, scope.principal_id)
    if role is None or not role.at_least(Role.ADMIN):
        raise NotAllowed("You are no admin of this tenant any more.", required_role=Role.ADMIN.value)
    return role


def check_grant(actor: Role, role: Role) -> None:
    if not actor.at_least(role):
        raise NotAllowed(
            f"You can't grant the role {role.value}: yours is {actor.value}. Ask somebody of that role.",
            code="role_above_yours",
            required_role=role.value,
        )


async def _subordinate(session: ReadSession, scope: TenantScope, actor: Role, user_id: UUID) -> tuple[Membership, str]:
    """The member, who is not above the caller."""
    found = await repository.find_member(session, scope.tenant_id, user_id)
    if found is None:
        raise NotFound("There is no such member.", code="member_not_found")
    membership, email = found
    if not actor.at_least(membership.role):
        raise NotAllowed(
            f"This member is {membership.role.value} and you are {actor.value}: you can't change or remove them.",
            code="member_above_you",
            required_role=membership.role.value,
        )
    return membership, email


async def _keep_an_owner(session: ReadSession, membership: Membership) -> None:
    if membership.role is Role.OWNER and await repository.count_owners(session, membership.tenant_id) == 1:
        raise Conflict(
            "This is the last owner, and a tenant needs one. Make somebody else owner first.", code="last_owner"
        )
