from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, PrimaryKeyConstraint, func
from sqlalchemy.orm import Mapped, mapped_column

from app.core.scope import Role
from app.models.base import Base, HasId, OfTenant, Timestamps, status_column


class Tenant(HasId, Timestamps, Base):
    """An organization: the border that nothing crosses. Row-level security shows a tenant its own row alone."""

    __tablename__ = "tenants"
    __table_args__ = (CheckConstraint("length(name) between 1 and 200", name="name_length"),)

    name: Mapped[str]


class Membership(OfTenant, Base):
    """A person's role in a tenant."""

    __tablename__ = "memberships"
    __table_args__ = (PrimaryKeyConstraint("tenant_id", "user_id"),)

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    role: Mapped[Role] = mapped_column(status_column(Role, "role"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Invitation(HasId, OfTenant, Base):
    """An offer to join, redeemed once with the secret whose SHA-256 is kept."""

    __tablename__ = "invitations"
    __table_args__ = (Index("ix_invitations_tenant_id", "tenant_id"),)

    email: Mapped[str] = mapped_column(index=True)
    role: Mapped[Role] = mapped_column(status_column(Role, "role"))
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    invited_by: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime]
    accepted_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
