"""Bodies of questions, sessions and messages."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field

from app.agent.rendering import Citation
from app.core.described import ApiModel
from app.core.text import Storable
from app.models import AnswerKind, MessageRole, MessageStatus
from app.retrieval.schemas import Query

Title = Annotated[str, Storable(strip_whitespace=True, min_length=1, max_length=200)]
ModelName = Annotated[str, Storable(max_length=200)]
KnowledgeBaseIds = Annotated[list[UUID], Field(max_length=50, description="Empty: all that you may read.")]


class _Body(ApiModel):
    model_config = ConfigDict(extra="forbid")


class MessageIn(_Body):
    question: Query
    top_k: int = Field(8, ge=1, le=50)
    """How many passages are read at most."""
    model: ModelName | None = None
    """A configured chat model; else the first."""


class AskIn(MessageIn):
    knowledge_base_ids: KnowledgeBaseIds = Field(default_factory=list)


class SessionIn(_Body):
    knowledge_base_ids: KnowledgeBaseIds = Field(default_factory=list)
    title: Title | None = None
    """Left out, the first question becomes the title."""


class SessionPatch(_Body):
    """Only what is given is changed."""

    title: Title | None = None
    knowledge_base_ids: KnowledgeBaseIds | None = None
    """That are asked from now on; empty: all that you may read."""


class SessionOut(ApiModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    title: str
    """Empty until the first question, which becomes it."""
    knowledge_base_ids: list[UUID]
    """That are asked; empty: all that you may read."""
    created_at: datetime
    updated_at: datetime


class _Answer(ApiModel):
    kind: AnswerKind | None = None
    """How it came about; null of questions."""
    status: MessageStatus = MessageStatus.COMPLETE
    """`interrupted`: you left before its end. `failed`: something that it needs broke. What had been made by then is
    there."""
    notice: str | None = None
    """Code of what to know about it: no_model, models_failed, not_found, uncited, cut_short."""
    citations: list[Citation] = Field(default_factory=list)
    """The passages that it rests on."""
    model: str | None = None
    """Null where no model took part."""
    usage: dict[str, Any] = Field(default_factory=dict)
    """Tokens as the model counts them, `prompt_tokens` and `completion_tokens`, where it tells."""
    steps: list[dict[str, Any]] = Field(default_factory=list)
    """What was done for it, in order, each with its `name`: what was searched for and how many passages were found."""


class AnswerOut(_Answer):
    """The answer to one question. Markers like `[1]` in `answer` name citations by their `number`."""

    answer: str
    """With a marker, such as `[1]`, behind what it cites."""
    degraded: list[str] = Field(default_factory=list)
    """Parts that failed or were late while it was made."""


class MessageOut(_Answer):
    id: UUID
    session_id: UUID
    role: MessageRole
    """`user` of questions, `assistant` of answers."""
    content: str
    """The question, or the answer with a marker, such as `[1]`, behind what it cites."""
    created_at: datetime
