"""Runs the answering graph for one question."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from importlib import import_module
from typing import TYPE_CHECKING, cast
from uuid import UUID

from app.agent.citations import settle_citations
from app.agent.events import Event
from app.agent.state import AgentState, Draft, Turn
from app.agent.threads import thread_id
from app.core.errors import NotFound
from app.core.scope import TenantScope
from app.ports.chat_models import ChatMessage
from app.ports.parts import Parts
from app.retrieval.service import Retriever

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

# langgraph and langsmith take two seconds of processor time to import, half of what the platform needs to start. So the
# graph and its checkpoints are imported where they are run, or by `load` once the platform answers.


def load() -> None:
    """Imports the graph, for who has a thread to spare before the first question."""
    import_module("app.agent.graph")
    import_module("app.agent.checkpoints")


class AgentRun:
    """One question on its way to an answer. `events` may be walked once; `turn` shows at any time how far it came."""

    def __init__(
        self,
        parts: Parts,
        scope: TenantScope,
        question: str,
        *,
        knowledge_base_ids: Sequence[UUID],
        top_k: int,
        model: str | None = None,
        history: Sequence[ChatMessage] = (),
        session_id: UUID | None = None,
    ) -> None:
        """Raises `NotFound` for a model that is not configured. Without a session nothing is checkpointed."""
        if model is not None and model not in parts.chat_models.names:
            raise NotFound(f"There is no chat model “{model}”.{_configured(parts)}", code="model_not_found")
        self.turn = Turn(parts, Retriever(parts), scope, history)
        self._session_id = session_id
        self._input = AgentState(
            question=question,
            knowledge_base_ids=[str(kb_id) for kb_id in knowledge_base_ids],
            top_k=top_k,
            model=model,
            query="",
            sources=[],
            relevance="",
            kind=None,
            notice=None,
            citations=[],
        )

    async def events(self) -> AsyncGenerator[Event]:
        """What happens, as it happens. Raises `Unavailable` if nothing can be searched, `NotFound` for unknown ids."""
        stream = self._stream() if self._session_id is None else self._checkpointed_stream(self._session_id)
        async with aclosing(stream):
            async for event in stream:
                yield event

    async def _stream(self) -> AsyncGenerator[Event]:
        from app.agent.graph import answering_graph  # noqa: PLC0415

        async for event in answering_graph().astream(self._input, context=self.turn, stream_mode="custom"):
            yield cast(Event, event)

    async def _checkpointed_stream(self, session_id: UUID) -> AsyncGenerator[Event]:
        from app.agent.checkpoints import TenantCheckpoints  # noqa: PLC0415
        from app.agent.graph import answering_graph  # noqa: PLC0415

        turn = self.turn
        saver = TenantCheckpoints(turn.parts.database_url, turn.scope)
        config: RunnableConfig = {"configurable": {"thread_id": thread_id(turn.scope, session_id)}}
        # "exit": one write a run, at its end. Nothing in this graph is worth resuming half-way yet.
        async for event in answering_graph(saver).astream(
            self._input, config, context=turn, stream_mode="custom", durability="exit"
        ):
            yield cast(Event, event)

    def settled(self) -> Draft:
        """The answer as far as it was made, its citations in order; after the run ended, however it ended."""
        settle_citations(self.turn)
        return self.turn.draft


def _configured(parts: Parts) -> str:
    names = ", ".join(parts.chat_models.names)
    return f" Configured are: {names}." if names else " None is configured."
