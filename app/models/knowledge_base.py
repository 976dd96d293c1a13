from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, HasId, OfTenant, Timestamps


class KnowledgeBase(HasId, OfTenant, Timestamps, Base):
    """A named set of documents with one set of settings (`app.knowledge_bases.settings`)."""

    __tablename__ = "knowledge_bases"
    __table_args__ = (
        UniqueConstraint("tenant_id", "id"),
        Index("uq_knowledge_bases_name", "tenant_id", "name", unique=True, postgresql_where="deleted_at is null"),
        CheckConstraint("length(name) between 1 and 200", name="name_length"),
    )

    name: Mapped[str]
    description: Mapped[str] = mapped_column(default="")
    settings: Mapped[dict[str, Any]]
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    deleted_at: Mapped[datetime | None]
