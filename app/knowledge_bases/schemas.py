from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.core.text import Storable
from app.knowledge_bases.settings import KnowledgeBaseSettings

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")
]
Description = Annotated[str, Storable(max_length=2000)]


class KnowledgeBaseIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    description: Description = ""
    settings: KnowledgeBaseSettings = Field(default_factory=KnowledgeBaseSettings)


class KnowledgeBasePatch(BaseModel):
    """Only what is given is changed; `settings` replaces the whole document."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    description: Description | None = None
    settings: KnowledgeBaseSettings | None = None


class KnowledgeBaseOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    description: str
    settings: KnowledgeBaseSettings
    created_at: datetime
    updated_at: datetime


class KnowledgeBaseDetail(KnowledgeBaseOut):
    document_count: int
    ready_count: int
    chunk_count: int
