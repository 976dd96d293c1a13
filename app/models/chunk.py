from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    UniqueConstraint,
    false,
    func,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TEXT
from sqlalchemy.orm import Mapped, mapped_column

from app.chunking.chunk import ChunkKind
from app.models.base import Base, HasId, OfTenant, status_column


class Chunk(OfTenant, Base):
    """A piece of one generation of a document: the truth of which both indexes hold projections."""

    __tablename__ = "chunks"
    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "document_id", "generation"],
            ["generations.tenant_id", "generations.document_id", "generations.generation"],
            ondelete="CASCADE",
        ),
        UniqueConstraint("document_id", "generation", "ordinal"),
        Index("ix_chunks_text_hash", "tenant_id", "text_hash"),
        Index("ix_chunks_edited", "document_id", postgresql_where="edited_at is not null"),
        CheckConstraint("level >= 0", name="level"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    knowledge_base_id: Mapped[UUID]
    document_id: Mapped[UUID]
    generation: Mapped[int]
    ordinal: Mapped[int]
    kind: Mapped[ChunkKind] = mapped_column(status_column(ChunkKind, "kind"))
    text: Mapped[str]
    heading_path: Mapped[list[str]] = mapped_column(ARRAY(TEXT))
    section: Mapped[int]
    page: Mapped[int | None]
    page_end: Mapped[int | None]
    provenance: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default="[]")
    """As `DraftChunk.provenance`."""
    bbox: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    token_count: Mapped[int]
    text_hash: Mapped[bytes] = mapped_column(LargeBinary(32))
    """SHA-256 of the embedded text: key of its vector in `embeddings`."""
    enabled: Mapped[bool] = mapped_column(server_default=true())
    level: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    """0: both indexes hold it. Above: none does, and it is read in place of what was found of its children."""
    parent_id: Mapped[UUID | None]
    """Of the same generation, written and removed with it."""
    child_count: Mapped[int] = mapped_column(server_default="0")
    always_read: Mapped[bool] = mapped_column(server_default=false())
    """Of a parent: it is read wherever one of its children is found."""
    outdated: Mapped[bool] = mapped_column(server_default=false())
    """Of a parent: something of it was edited or disabled since, so that its text may not stand for that any more."""
    pending_text: Mapped[str | None]
    """What a person has made of it, until both indexes hold that; then it becomes `text`."""
    original_text: Mapped[str | None]
    """What the file says, where a person has made another text of it."""
    edited_at: Mapped[datetime | None]
    edited_by: Mapped[UUID | None]

    @property
    def wanted_text(self) -> str:
        """What it says as soon as all that people have made of it is in effect."""
        return self.text if self.pending_text is None else self.pending_text


class ChunkEdit(HasId, OfTenant, Base):
    """One change of a chunk by a person: of its text, of whether it is searched, or of both."""

    __tablename__ = "chunk_edits"
    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "document_id", "generation"],
            ["generations.tenant_id", "generations.document_id", "generations.generation"],
            ondelete="CASCADE",
        ),
        Index("ix_chunk_edits_chunk", "chunk_id", "id"),
        Index("ix_chunk_edits_generation", "tenant_id", "document_id", "generation"),
        CheckConstraint("text_after is not null or enabled is not null", name="something"),
    )

    document_id: Mapped[UUID]
    generation: Mapped[int]
    chunk_id: Mapped[UUID]
    text_before: Mapped[str | None]
    text_after: Mapped[str | None]
    """None where the text was left."""
    enabled: Mapped[bool | None]
    """What it was set to; None where that was left."""
    edited_by: Mapped[UUID]
    edited_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Embedding(OfTenant, Base):
    """Vectors by model and text, so that what was embedded once is not embedded again by a retry or a new version."""

    __tablename__ = "embeddings"
    __table_args__ = (PrimaryKeyConstraint("tenant_id", "space", "text_hash"),)

    space: Mapped[str]
    text_hash: Mapped[bytes] = mapped_column(LargeBinary(32))
    vector: Mapped[bytes]
    """float32, little endian."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
