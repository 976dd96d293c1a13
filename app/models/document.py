from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, ForeignKeyConstraint, Index, PrimaryKeyConstraint, UniqueConstraint, func
from sqlalchemy.dialects.postgresql import ARRAY, TEXT
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, HasId, OfTenant, Timestamps, status_column


class DocumentStatus(StrEnum):
    QUEUED = "queued"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"


class Document(HasId, OfTenant, Timestamps, Base):
    """A document as its users see it. What is searched is its active generation; `deleted_at` is the tombstone."""

    __tablename__ = "documents"
    __table_args__ = (
        UniqueConstraint("tenant_id", "id"),
        ForeignKeyConstraint(
            ["tenant_id", "knowledge_base_id"], ["knowledge_bases.tenant_id", "knowledge_bases.id"], ondelete="CASCADE"
        ),
        Index(
            "uq_documents_external_id",
            "knowledge_base_id",
            "external_id",
            unique=True,
            postgresql_where="external_id is not null and deleted_at is null",
        ),
        Index("ix_documents_list", "knowledge_base_id", "id", postgresql_where="deleted_at is null"),
        Index("ix_documents_sha256", "knowledge_base_id", "sha256", postgresql_where="deleted_at is null"),
        Index("ix_documents_tags", "tags", postgresql_using="gin"),
    )

    knowledge_base_id: Mapped[UUID]
    name: Mapped[str]
    external_id: Mapped[str | None]
    media_type: Mapped[str | None]
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    """Of the newest upload, hexadecimal."""
    doc_metadata: Mapped[dict[str, Any]] = mapped_column("metadata")
    tags: Mapped[list[str]] = mapped_column(ARRAY(TEXT))
    status: Mapped[DocumentStatus] = mapped_column(status_column(DocumentStatus, "status"))
    error_code: Mapped[str | None]
    error_detail: Mapped[str | None]
    active_generation: Mapped[int | None]
    latest_generation: Mapped[int] = mapped_column(default=1)
    page_count: Mapped[int | None]
    reading: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """How the active generation was read: `app.parsing.document.Reading`."""
    chunk_count: Mapped[int] = mapped_column(default=0)
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    deleted_at: Mapped[datetime | None]


class GenerationState(StrEnum):
    BUILDING = "building"
    ACTIVE = "active"
    RETIRED = "retired"
    """Superseded, failed or cancelled: its chunks are to be purged from all stores."""
    PURGED = "purged"


class Generation(OfTenant, Base):
    """One ingestion of one upload of a document; immutable in what it was made from."""

    __tablename__ = "generations"
    __table_args__ = (
        PrimaryKeyConstraint("tenant_id", "document_id", "generation"),
        ForeignKeyConstraint(["tenant_id", "document_id"], ["documents.tenant_id", "documents.id"], ondelete="CASCADE"),
        Index("ix_generations_state", "tenant_id", "state", postgresql_where="state in ('building', 'retired')"),
    )

    document_id: Mapped[UUID]
    generation: Mapped[int]
    state: Mapped[GenerationState] = mapped_column(status_column(GenerationState, "state"))
    sha256: Mapped[str]
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    file_name: Mapped[str]
    blob_key: Mapped[str]
    """Of the original file."""
    settings: Mapped[dict[str, Any]]
    """Chunking and embedding settings that it is made with."""
    media_type: Mapped[str | None]
    parser: Mapped[str | None]
    reading: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """As `Document.reading`; empty until it has been parsed."""
    chunk_count: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    activated_at: Mapped[datetime | None]
    purged_at: Mapped[datetime | None]

    @property
    def title(self) -> str:
        """What the document is called in what is embedded of it; may be nothing."""
        return str(self.settings.get("title") or "")


class DeletionReceipt(HasId, OfTenant, Base):
    """Proof of a deletion: who asked, when everything was gone, and how much it was. Outlives the document."""

    __tablename__ = "deletion_receipts"
    __table_args__ = (Index("ix_deletion_receipts_tenant_id", "tenant_id"),)

    document_id: Mapped[UUID] = mapped_column(unique=True)
    knowledge_base_id: Mapped[UUID]
    document_name: Mapped[str]
    requested_by: Mapped[UUID | None]
    requested_at: Mapped[datetime] = mapped_column(server_default=func.now())
    purged_at: Mapped[datetime | None]
    counts: Mapped[dict[str, Any]]
    """`{"chunks", "vectors", "terms", "blobs"}` removed."""
