"""What a run of the graph knows: the part that is kept in checkpoints, and the part that is not.

A checkpoint holds plain JSON: the question, ids, decisions. Text of documents and the answer's words stay in `Turn`,
which ends with the run, so that a deleted document leaves no copy behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict

from app.agent.neutral import NeutralQuestion
from app.agent.notices import Notice
from app.agent.passages import Passage
from app.agent.rendering import CitationReference, without_places
from app.core.scope import TenantScope
from app.models import AnswerKind
from app.ports.chat_models import ChatMessage, TokenUsage
from app.ports.parts import Parts
from app.retrieval.service import Retriever


class SourceState(TypedDict):
    number: int
    chunk_id: str
    document_id: str


class AgentState(TypedDict):
    """JSON values only. Every run starts with all keys set, so nothing of the run before is carried on."""

    question: str
    knowledge_base_ids: list[str]
    top_k: int
    model: str | None
    query: str
    """What was searched for."""
    sources: list[SourceState]
    relevance: str
    """Of the best source, see `app.agent.relevance`."""
    kind: str | None
    """`AnswerKind` once an answer was made."""
    notice: str | None
    citations: list[CitationReference]


@dataclass(slots=True)
class Draft:
    """An answer as far as it has been made. What is stored when the caller goes away is this."""

    kind: AnswerKind | None = None
    content: str = ""
    """With places instead of quotes, see `app.agent.rendering`."""
    citations: list[CitationReference] = field(default_factory=list)
    notice: str | None = None
    model: str | None = None
    usage: TokenUsage | None = None
    degraded: list[str] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_cut_short(self) -> bool:
        """Whether the model broke off in the middle: what was said is shown, as an answer that failed."""
        return self.notice == Notice.CUT_SHORT

    def say(self, text: str) -> str:
        """Adds words of the answer; what has been added."""
        said = without_places(text)
        self.content += said
        return said


@dataclass(slots=True)
class Turn:
    """What one run works with: where from, for whom, and the words."""

    parts: Parts
    retriever: Retriever
    scope: TenantScope
    history: Sequence[ChatMessage] = ()
    """What was said before, the oldest first; without citation markers, which count anew in every turn."""
    neutral_question: NeutralQuestion | None = None
    """Of what was searched for; None where its vector could not be had."""
    passages: dict[int, Passage] = field(default_factory=dict)
    draft: Draft = field(default_factory=Draft)

    @property
    def previous_question(self) -> str | None:
        return next((message.content for message in reversed(self.history) if message.role == "user"), None)
