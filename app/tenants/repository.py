"""SQL of a tenant, its members and its invitations.

Every statement names the tenant: accepting an invitation runs in the system role, where row-level security does not.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Row, Select, delete, func, select, update

from app.core.database import ReadSession, WriteSession
from app.core.ids import new_id
from app.core.pagination import PageRequest
from app.core.scope import Role
from app.models import Invitation, Membership, Tenant, User


async def find_tenant(session: ReadSession, tenant_id: UUID) -> Tenant | None:
    return await session.get(Tenant, tenant_id)


async def lock_tenant(session: WriteSession, tenant_id: UUID) -> None:
    """Changes to members and invitations of a tenant take turns, so that rules about all of them hold."""
    await session.execute(select(Tenant.id).where(Tenant.id == tenant_id).with_for_update(key_share=True))


async def rename_tenant(session: WriteSession, tenant_id: UUID, name: str) -> Tenant | None:
    renamed: Tenant | None = await session.scalar(
        update(Tenant).where(Tenant.id == tenant_id).values(name=name).returning(Tenant)
    )
    return renamed


def _members(tenant_id: UUID) -> Select[Membership, str]:
    return (
        select(Membership, User.email)
        .join(User, User.id == Membership.user_id)
        .where(Membership.tenant_id == tenant_id)
        .order_by(Membership.user_id)
    )


async def members_page(session: ReadSession, tenant_id: UUID, request: PageRequest) -> Sequence[Row[Membership, str]]:
    """Members with their e-mail; one row more than asked for, where there is one."""
    query = _members(tenant_id)
    if request.after is not None:
        query = query.where(Membership.user_id > request.after)
    return (await session.execute(query.limit(request.limit + 1))).all()


async def find_member(session: ReadSession, tenant_id: UUID, user_id: UUID) -> Row[Membership, str] | None:
    return (await session.execute(_members(tenant_id).where(Membership.user_id == user_id))).one_or_none()


async def is_member_by_email(session: ReadSession, tenant_id: UUID, email: str) -> bool:
    return (await session.execute(_members(tenant_id).where(User.email == email))).one_or_none() is not None


async def role_of(session: ReadSession, tenant_id: UUID, user_id: UUID) -> Role | None:
    role: Role | None = await session.scalar(
        select(Membership.role).where(Membership.tenant_id == tenant_id, Membership.user_id == user_id)
    )
    return role


async def count_owners(session: ReadSession, tenant_id: UUID) -> int:
    query = select(func.count()).where(Membership.tenant_id == tenant_id, Membership.role == Role.OWNER)
    return (await session.execute(query)).scalar_one()


async def remove_member(session: WriteSession, tenant_id: UUID, user_id: UUID) -> None:
    await session.execute(delete(Membership).where(Membership.tenant_id == tenant_id, Membership.user_id == user_id))


async def add_invitation(
    session: WriteSession,
    *,
    tenant_id: UUID,
    email: str,
    role: Role,
    token_hash: bytes,
    invited_by: UUID,
    lifetime: timedelta,
) -> Invitation:
    invitation = Invitation(
        id=new_id(),
        tenant_id=tenant_id,
        email=email,
        role=role,
        token_hash=token_hash,
        invited_by=invited_by,
        expires_at=func.now() + lifetime,
    )
    session.add(invitation)
    await session.flush()
    await session.refresh(invitation)
    return invitation


async def invitations_page(session: ReadSession, tenant_id: UUID, request: PageRequest) -> list[Invitation]:
    """One row more than asked for, where there is one."""
    query = select(Invitation).where(Invitation.tenant_id == tenant_id).order_by(Invitation.id)
    if request.after is not None:
        query = query.where(Invitation.id > request.after)
    return list(await session.scalars(query.limit(request.limit + 1)))


async def find_invitation(session: ReadSession, tenant_id: UUID, invitation_id: UUID) -> Invitation | None:
    found: Invitation | None = await session.scalar(
        select(Invitation).where(Invitation.tenant_id == tenant_id, Invitation.id == invitation_id)
    )
    return found


async def find_invitation_by_token(session: ReadSession, token_hash: bytes) -> Invitation | None:
    """In the system role: of any tenant. As it is now, whatever this session has seen of it before."""
    query = select(Invitation).where(Invitation.token_hash == token_hash)
    found: Invitation | None = await session.scalar(query.execution_options(populate_existing=True))
    return found


async def revoke_open_invitations(session: WriteSession, tenant_id: UUID, email: str) -> None:
    await session.execute(
        update(Invitation)
        .where(
            Invitation.tenant_id == tenant_id,
            Invitation.email == email,
            Invitation.accepted_at.is_(None),
            Invitation.revoked_at.is_(None),
        )
        .values(revoked_at=func.now())
    )
