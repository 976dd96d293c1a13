from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKeyConstraint, Index, Sequence, UniqueConstraint, func
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, HasId, OfTenant, status_column

FENCING = Sequence("fencing_numbers", metadata=Base.metadata)
"""Grows with every lease that is taken, so a later holder always has the higher number."""


class OperationKind(StrEnum):
    INGEST = "ingest"
    PURGE = "purge"
    """Remove retired generations, or everything of a deleted document, from all stores."""
    REINDEX = "reindex"
    """Write changed tags, metadata and texts of a document into both indexes."""


class OperationState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Operation(HasId, OfTenant, Base):
    """A job in the ledger. Whoever holds the unexpired lease with the highest fencing number may write its results."""

    __tablename__ = "operations"
    __table_args__ = (
        UniqueConstraint("tenant_id", "id"),
        Index("ix_operations_document", "tenant_id", "document_id"),
        Index("ix_operations_due", "state", "due_at", postgresql_where="state in ('queued', 'running')"),
        Index("ix_operations_waiting", "tenant_id", "turn_at", "id", postgresql_where="state = 'queued'"),
    )

    kind: Mapped[OperationKind] = mapped_column(status_column(OperationKind, "kind"))
    state: Mapped[OperationState] = mapped_column(status_column(OperationState, "state"), default=OperationState.QUEUED)
    knowledge_base_id: Mapped[UUID | None]
    document_id: Mapped[UUID | None]
    generation: Mapped[int | None]
    stage: Mapped[str | None]
    """The stage it is in, or failed in."""
    percent: Mapped[int] = mapped_column(default=0)
    counts: Mapped[dict[str, Any]] = mapped_column(default=dict)
    attempts: Mapped[int] = mapped_column(default=0)
    max_attempts: Mapped[int]
    due_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """Queued: when it may start. Running: when its lease expires."""
    turn_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """Orders the operations of a tenant: when it was asked for, later the longer it is expected to take."""
    lease_holder: Mapped[str | None]
    fencing: Mapped[int] = mapped_column(BigInteger, default=0)
    cancel_requested_at: Mapped[datetime | None]
    error_code: Mapped[str | None]
    error_detail: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class OperationStage(HasId, OfTenant, Base):
    """One run of one stage of an operation, kept for good."""

    __tablename__ = "operation_stages"
    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "operation_id"], ["operations.tenant_id", "operations.id"], ondelete="CASCADE"
        ),
        Index("ix_operation_stages_operation", "tenant_id", "operation_id", "id"),
    )

    operation_id: Mapped[UUID]
    attempt: Mapped[int]
    stage: Mapped[str]
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int | None]
    error_code: Mapped[str | None]
    started_at: Mapped[datetime] = mapped_column(server_default=func.now())
    finished_at: Mapped[datetime | None]
