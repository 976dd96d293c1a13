"""No language model: answers are extractive, and say so."""

from collections.abc import AsyncIterator, Sequence

from app.core.errors import EngineUnavailable, NotFound
from app.ports.chat_models import ChatDelta, ChatMessage


class NoChatModels:
    """A `ChatModels` without models, and without the second that the client of real ones takes to import."""

    names: tuple[str, ...] = ()

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def check(self) -> dict[str, str | None]:
        return {}

    async def stream(self, messages: Sequence[ChatMessage], *, model: str | None = None) -> AsyncIterator[ChatDelta]:
        if model is not None:
            raise NotFound(f"There is no model named {model!r}.", code="model_not_found")
        raise EngineUnavailable("No chat model is configured.", code="no_chat_model", retry_after=None)
        yield  # what makes this a stream, like that of real models
