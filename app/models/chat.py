from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, ForeignKeyConstraint, Index, UniqueConstraint, func
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, HasId, OfTenant, Timestamps, status_column


class ChatSession(HasId, OfTenant, Timestamps, Base):
    """A conversation of one person; nobody else sees it."""

    __tablename__ = "chat_sessions"
    __table_args__ = (
        UniqueConstraint("tenant_id", "id"),
        Index("ix_chat_sessions_list", "tenant_id", "user_id", "id", postgresql_where="deleted_at is null"),
    )

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    title: Mapped[str] = mapped_column(default="")
    knowledge_base_ids: Mapped[list[UUID]] = mapped_column(ARRAY(PG_UUID(as_uuid=True)))
    deleted_at: Mapped[datetime | None]


class MessageRole(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


class Message(HasId, OfTenant, Base):
    __tablename__ = "messages"
    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "session_id"], ["chat_sessions.tenant_id", "chat_sessions.id"], ondelete="CASCADE"
        ),
        Index("ix_messages_session", "session_id", "id"),
    )

    session_id: Mapped[UUID]
    role: Mapped[MessageRole] = mapped_column(status_column(MessageRole, "role"))
    content: Mapped[str]
    citations: Mapped[list[Any]] = mapped_column(default=list)
    trace: Mapped[list[Any]] = mapped_column(default=list)
    model: Mapped[str | None]
    """None where no model took part."""
    usage: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
