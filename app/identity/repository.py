"""SQL of people, their memberships and their logins.

Most of it runs in the system role, before a tenant is known; what runs in a tenant's session says so.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Row, delete, exists, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.core.database import ReadSession, WriteSession
from app.core.ids import new_id
from app.core.scope import Role
from app.identity.tokens import Principal
from app.models import Membership, RefreshToken, Tenant, User

KEEP_EXPIRED = timedelta(days=1)


async def admitted_role(session: ReadSession, principal: Principal) -> Role | None:
    """In the tenant's session: the person's role, None where they are no member, disabled, or logged out."""
    login_lives = exists().where(
        RefreshToken.family_id == principal.login_id,
        RefreshToken.user_id == principal.user_id,
        RefreshToken.tenant_id == principal.tenant_id,
        RefreshToken.revoked_at.is_(None),
    )
    query = (
        select(Membership.role)
        .join(User, User.id == Membership.user_id)
        .where(
            Membership.tenant_id == principal.tenant_id,
            Membership.user_id == principal.user_id,
            User.disabled_at.is_(None),
            login_lives,
        )
    )
    role: Role | None = await session.scalar(query)
    return role


async def find_user(session: ReadSession, user_id: UUID) -> User | None:
    return await session.get(User, user_id)


async def find_user_by_email(session: ReadSession, email: str) -> User | None:
    found: User | None = await session.scalar(select(User).where(User.email == email))
    return found


async def lock_user(session: WriteSession, user_id: UUID) -> User | None:
    """The person as they are now. Every change to their logins goes through this lock, so all of them are in turn."""
    query = select(User).where(User.id == user_id).with_for_update(key_share=True)
    found: User | None = await session.scalar(query.execution_options(populate_existing=True))
    return found


async def add_user(session: WriteSession, email: str, password_hash: str) -> User | None:
    """None where somebody has this e-mail already."""
    statement = (
        insert(User)
        .values(id=new_id(), email=email, password_hash=password_hash)
        .on_conflict_do_nothing(index_elements=[User.email])
        .returning(User)
    )
    added: User | None = await session.scalar(statement)
    return added


async def add_tenant(session: WriteSession, name: str) -> Tenant:
    tenant = Tenant(id=new_id(), name=name)
    session.add(tenant)
    await session.flush()
    return tenant


async def add_membership(session: WriteSession, tenant_id: UUID, user_id: UUID, role: Role) -> bool:
    """False where the person is a member already."""
    statement = (
        insert(Membership)
        .values(tenant_id=tenant_id, user_id=user_id, role=role)
        .on_conflict_do_nothing(index_elements=[Membership.tenant_id, Membership.user_id])
        .returning(Membership.user_id)
    )
    return await session.scalar(statement) is not None


async def tenants_of(session: ReadSession, user_id: UUID) -> Sequence[Row[Tenant, Role]]:
    """The tenants of a person with their role in each, in the order of joining."""
    query = (
        select(Tenant, Membership.role)
        .join(Membership, Membership.tenant_id == Tenant.id)
        .where(Membership.user_id == user_id)
        .order_by(Membership.created_at, Tenant.id)
    )
    return (await session.execute(query)).all()


async def find_tenant(session: ReadSession, tenant_id: UUID) -> Tenant | None:
    return await session.get(Tenant, tenant_id)


async def is_member(session: ReadSession, tenant_id: UUID, user_id: UUID) -> bool:
    return await session.get(Membership, (tenant_id, user_id)) is not None


async def find_refresh_token(session: ReadSession, token_hash: bytes) -> RefreshToken | None:
    """As it is now, whatever this session has seen of it before."""
    query = select(RefreshToken).where(RefreshToken.token_hash == token_hash)
    found: RefreshToken | None = await session.scalar(query.execution_options(populate_existing=True))
    return found


async def add_refresh_token(
    session: WriteSession, principal: Principal, token_hash: bytes, lifetime: timedelta
) -> None:
    statement = insert(RefreshToken).values(
        id=new_id(),
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        family_id=principal.login_id,
        token_hash=token_hash,
        expires_at=func.now() + lifetime,
    )
    await session.execute(statement)


async def mark_used(session: WriteSession, token_id: UUID) -> None:
    await session.execute(update(RefreshToken).where(RefreshToken.id == token_id).values(used_at=func.now()))


async def revoke_login(session: WriteSession, login_id: UUID) -> None:
    await session.execute(
        update(RefreshToken)
        .where(RefreshToken.family_id == login_id, RefreshToken.revoked_at.is_(None))
        .values(revoked_at=func.now())
    )


async def revoke_logins_of(session: WriteSession, user_id: UUID, *, but: UUID | None = None) -> None:
    """All logins of a person that the session sees: in a tenant's session those of this tenant."""
    statement = update(RefreshToken).where(RefreshToken.user_id == user_id, RefreshToken.revoked_at.is_(None))
    if but is not None:
        statement = statement.where(RefreshToken.family_id != but)
    await session.execute(statement.values(revoked_at=func.now()))


async def forget_expired_logins(session: WriteSession, user_id: UUID) -> None:
    """A day late, so that an access token never outlives the row by which it is known."""
    await session.execute(
        delete(RefreshToken).where(RefreshToken.user_id == user_id, RefreshToken.expires_at < func.now() - KEEP_EXPIRED)
    )


async def now(session: ReadSession) -> datetime:
    """The database's clock, which set what is compared with it."""
    return (await session.execute(select(func.now()))).scalar_one()
