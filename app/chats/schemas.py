"""Bodies of questions, sessions and messages."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from app.agent.rendering import Citation
from app.core.text import Storable
from app.models import AnswerKind, MessageRole, MessageStatus
from app.retrieval.schemas import Query

Title = Annotated[str, Storable(strip_whitespace=True, min_length=1, max_length=200)]
ModelName = Annotated[str, Storable(max_length=200)]
KnowledgeBaseIds = Annotated[list[UUID], Field(max_length=50, description="Empty: all that you may read.")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class MessageIn(_Body):
    question: Query
    top_k: Annotated[int, Field(ge=1, le=50, description="How many passages are read at most.")] = 8
    model: Annotated[ModelName | None, Field(description="A configured chat model; else the first.")] = None


class AskIn(MessageIn):
    knowledge_base_ids: KnowledgeBaseIds = []


class SessionIn(_Body):
    knowledge_base_ids: KnowledgeBaseIds = []
    title: Annotated[Title | None, Field(description="Left out, the first question becomes the title.")] = None


class SessionPatch(_Body):
    """Only what is given is changed."""

    title: Title | None = None
    knowledge_base_ids: KnowledgeBaseIds | None = None


class SessionOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    title: str
    knowledge_base_ids: list[UUID]
    created_at: datetime
    updated_at: datetime


class _Answer(BaseModel):
    kind: AnswerKind | None = Field(None, description="How it came about; null of questions.")
    status: MessageStatus = MessageStatus.COMPLETE
    notice: str | None = Field(
        None, description="Code of what to know about it: no_model, models_failed, not_found, uncited, cut_short."
    )
    citations: list[Citation] = []
    model: str | None = Field(None, description="Null where no model took part.")
    usage: dict[str, Any] = {}
    steps: list[dict[str, Any]] = []


class AnswerOut(_Answer):
    """The answer to one question. Markers like `[1]` in `answer` name citations by their `number`."""

    answer: str
    degraded: list[str] = Field([], description="Parts that failed or were late while it was made.")


class MessageOut(_Answer):
    id: UUID
    session_id: UUID
    role: MessageRole
    content: str
    created_at: datetime
