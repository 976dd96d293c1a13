from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKeyConstraint, Index, LargeBinary, PrimaryKeyConstraint, UniqueConstraint, func, true
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TEXT
from sqlalchemy.orm import Mapped, mapped_column

from app.chunking.chunk import ChunkKind
from app.models.base import Base, OfTenant, status_column


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
    page_starts: Mapped[list[tuple[int, int]]] = mapped_column(JSONB, server_default="[]")
    """As `DraftChunk.page_starts`."""
    bbox: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    token_count: Mapped[int]
    text_hash: Mapped[bytes] = mapped_column(LargeBinary(32))
    """SHA-256 of the embedded text: key of its vector in `embeddings`."""
    enabled: Mapped[bool] = mapped_column(server_default=true())


class Embedding(OfTenant, Base):
    """Vectors by model and text, so that what was embedded once is not embedded again by a retry or a new version."""

    __tablename__ = "embeddings"
    __table_args__ = (PrimaryKeyConstraint("tenant_id", "space", "text_hash"),)

    space: Mapped[str]
    text_hash: Mapped[bytes] = mapped_column(LargeBinary(32))
    vector: Mapped[bytes]
    """float32, little endian."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
