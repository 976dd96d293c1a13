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
    """A conversation of one person; nobody else sees it. Deleting it deletes its messages and checkpoints."""

    __tablename__ = "chat_sessions"
    __table_args__ = (
        UniqueConstraint("tenant_id", "id"),
        Index("ix_chat_sessions_list", "tenant_id", "user_id", "id"),
    )

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    title: Mapped[str] = mapped_column(default="")
    knowledge_base_ids: Mapped[list[UUID]] = mapped_column(ARRAY(PG_UUID(as_uuid=True)))
    revision: Mapped[int] = mapped_column(default=0, server_default="0")
    """Grows with every change of the session or its messages: what tells a cached copy from the truth."""
    answering: Mapped[UUID | None]
    """The id of the answer that is being made; at most one at a time."""
    answering_until: Mapped[datetime | None]
    """When whoever makes it must have said that it still lives."""


class MessageRole(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


class MessageStatus(StrEnum):
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    """The caller went away before the end: `content` is what had been made."""
    FAILED = "failed"
    """Something that the answer needs broke; `content` is what had been made, perhaps nothing."""


class AnswerKind(StrEnum):
    GENERATED = "generated"
    EXTRACTIVE = "extractive"
    """Sentences of the documents, no model took part. `content` holds places for them, not their text."""
    NOT_FOUND = "not_found"


class Message(HasId, OfTenant, Base):
    """A question or an answer. Text of documents is never stored here: citations and quotes are ids and spans."""

    __tablename__ = "messages"
    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "session_id"], ["chat_sessions.tenant_id", "chat_sessions.id"], ondelete="CASCADE"
        ),
        Index("ix_messages_session", "tenant_id", "session_id", "id"),
    )

    session_id: Mapped[UUID]
    role: Mapped[MessageRole] = mapped_column(status_column(MessageRole, "role"))
    content: Mapped[str]
    status: Mapped[MessageStatus] = mapped_column(
        status_column(MessageStatus, "status"), default=MessageStatus.COMPLETE, server_default="complete"
    )
    kind: Mapped[AnswerKind | None] = mapped_column(status_column(AnswerKind, "kind"))
    """Of answers."""
    notice: Mapped[str | None]
    """Code of what the reader should know about the answer, such as `no_model`."""
    citations: Mapped[list[Any]] = mapped_column(default=list)
    trace: Mapped[list[Any]] = mapped_column(default=list)
    model: Mapped[str | None]
    """None where no model took part."""
    usage: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
