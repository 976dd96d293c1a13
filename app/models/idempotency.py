from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Index, PrimaryKeyConstraint, func
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, OfTenant


class IdempotencyKey(OfTenant, Base):
    """The answer that was given to a request with an Idempotency-Key, so that a repeat gets the same one."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (
        PrimaryKeyConstraint("tenant_id", "principal_id", "key"),
        Index("ix_idempotency_keys_created_at", "created_at"),
    )

    principal_id: Mapped[UUID]
    key: Mapped[str]
    fingerprint: Mapped[str]
    """SHA-256 of what was asked; another request under the same key is a conflict."""
    response: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
