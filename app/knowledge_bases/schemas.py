from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field, StringConstraints

from app.core.described import ApiModel
from app.core.text import Storable
from app.knowledge_bases.settings import KnowledgeBaseSettings
from app.parsing.document import Reading

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")
]
Description = Annotated[str, Storable(max_length=2000)]


class KnowledgeBaseIn(ApiModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    description: Description = ""
    settings: KnowledgeBaseSettings = Field(default_factory=KnowledgeBaseSettings)
    """How documents are read, cut and searched. What is left out is the default."""


class KnowledgeBasePatch(ApiModel):
    """Only what is given is changed; `settings` replaces the whole document."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    description: Description | None = None
    settings: KnowledgeBaseSettings | None = None
    """What is left out of them becomes the default."""


class KnowledgeBaseOut(ApiModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    description: str
    settings: KnowledgeBaseSettings
    """How documents are read, cut and searched."""
    created_at: datetime
    updated_at: datetime


class KnowledgeBaseDetail(KnowledgeBaseOut):
    document_count: int
    """Deleted ones left out."""
    ready_count: int
    """Those whose newest upload is ready."""
    chunk_count: int
    """Those that are searched."""


class DocumentProvenance(ApiModel):
    """Where what is found of a document comes from, and what was made of it. Of its active version."""

    model_config = ConfigDict(from_attributes=True)

    document_id: UUID
    name: str
    external_id: str | None
    """Your own id of it."""
    generation: int
    """The version that is found, from 1."""
    file_name: str
    """What the original was called."""
    sha256: str
    """Of the original, hexadecimal."""
    size_bytes: int
    """Of the original."""
    media_type: str | None
    """As told by the content."""
    reading: Reading
    """How it was read: parser, warnings, ways of pages, confidence of OCR."""
    created_by: UUID | None
    """Who uploaded the document first."""
    uploaded_at: datetime
    """When this version was sent."""
    activated_at: datetime | None
    """Since when this version is found."""
    chunks: int
    """That are embedded, disabled ones among them."""
    disabled_chunks: int
    """That no search finds."""
    edited_chunks: int
    """Whose text is a person's, no more the file's."""


class TreeNode(ApiModel):
    """A heading under which chunks stand, and what stands below it."""

    title: str
    page: int | None
    """On which the first of its chunks begins."""
    chunks: int
    """Of its own; those of the headings below it are counted there."""
    children: list["TreeNode"]
    """The headings below it."""


class TreeDocument(ApiModel):
    document_id: UUID
    name: str
    chunks: int
    """Before the first heading."""
    headings: list[TreeNode]
    """The highest ones."""
    truncated: bool
    """The document has more headings than are shown."""
