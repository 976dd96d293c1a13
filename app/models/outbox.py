from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Index, func
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, HasId, OfTenant, status_column


class OutboxState(StrEnum):
    PENDING = "pending"
    PUBLISHED = "published"


class OutboxMessage(HasId, OfTenant, Base):
    """A call to make because something committed: a Celery task's name and its arguments (ids and scalars)."""

    __tablename__ = "outbox"
    __table_args__ = (
        Index("ix_outbox_tenant_id", "tenant_id"),
        Index("ix_outbox_pending", "due_at", postgresql_where="state = 'pending'"),
        Index("ix_outbox_published", "published_at", postgresql_where="state = 'published'"),
    )

    task: Mapped[str]
    arguments: Mapped[dict[str, Any]]
    state: Mapped[OutboxState] = mapped_column(status_column(OutboxState, "state"), default=OutboxState.PENDING)
    due_at: Mapped[datetime] = mapped_column(server_default=func.now())
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    published_at: Mapped[datetime | None]
