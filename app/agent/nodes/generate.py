"""Lets a language model answer from the passages."""

import secrets
from collections.abc import Sequence
from typing import Any

import structlog
from langgraph.runtime import Runtime

from app.agent import events
from app.agent.markers import MarkerFilter
from app.agent.notices import Notice
from app.agent.passages import Passage
from app.agent.prompts import prompt
from app.agent.rendering import unmarked
from app.agent.state import AgentState, Turn
from app.core.errors import EngineRejected, EngineUnavailable
from app.models import AnswerKind
from app.ports.chat_models import ChatMessage
from app.ports.embedder import TokenCounter

log = structlog.get_logger()

SOURCE_TOKENS = 6_000
"""Of all sources together, as the embedding model counts; what is beyond is left out, the best come first."""


async def generate(state: AgentState, runtime: Runtime[Turn]) -> dict[str, Any]:
    """Streams the answer of the first model that works. Leaves `kind` unset where none gave anything."""
    turn, draft = runtime.context, runtime.context.draft
    given = within_budget(list(turn.passages.values()), turn.parts.embedder.tokens)
    markers = MarkerFilter({passage.number for passage in given})
    messages = build_messages(state["question"], given, turn.history)

    def say(text: str) -> None:
        said = draft.say(text if draft.content else text.lstrip())
        if said:
            runtime.stream_writer(events.delta(said))

    notice: Notice | None = None
    try:
        async for piece in turn.parts.chat_models.stream(messages, model=state["model"]):
            draft.model = piece.model
            draft.usage = piece.usage or draft.usage
            say(markers.feed(piece.text))
    except (EngineUnavailable, EngineRejected) as failure:
        log.warning("answer_model_failed", detail=failure.detail, begun=bool(draft.content))
        notice = Notice.CUT_SHORT
    say(markers.finish())
    if not draft.content:
        draft.model = None
        return {"notice": Notice.MODELS_FAILED.value}
    draft.kind, draft.notice = AnswerKind.GENERATED, notice
    if notice:
        runtime.stream_writer(events.error(notice.value, "The language model broke off in the middle of the answer."))
    return {"kind": draft.kind.value, "notice": draft.notice}


def within_budget(passages: list[Passage], tokens: TokenCounter, budget: int = SOURCE_TOKENS) -> list[Passage]:
    """The first passages that fit together; the very first even if it does not."""
    kept: list[Passage] = []
    for passage in passages:
        budget -= tokens.count(passage.text)
        if budget < 0 and kept:
            break
        kept.append(passage)
    return kept


def build_messages(question: str, passages: list[Passage], history: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The instructions, what was said before, and the question under its sources.

    The lines around a source carry a key made for this prompt alone, so that no text of a document can end its source
    and speak from outside of it.
    """
    key = secrets.token_hex(8)
    sources = "\n\n".join(_source(passage, key) for passage in passages) or "(none was found)"
    asked = prompt("sources").format(key=key, sources=sources, question=question)
    return [ChatMessage("system", prompt("answer")), *history, ChatMessage("user", asked)]


def _source(passage: Passage, key: str) -> str:
    about = [f"document: {passage.document_name}"]
    if passage.page is not None:
        about.append(f"page: {passage.page}")
    if passage.heading_path:
        about.append(f"section: {' > '.join(passage.heading_path)}")
    return (
        f"<<<SOURCE [{passage.number}] {key}>>>\n" + "\n".join(about) + f"\n\n{unmarked(passage.text)}\n"
        f"<<<END [{passage.number}] {key}>>>"
    )
