"""Language models by name, tried in order."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class TokenUsage:
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChatDelta:
    """A piece of an answer. `usage` comes with the last one where the server tells it."""

    text: str
    model: str
    usage: TokenUsage | None = None


class ChatModels(Protocol):
    names: tuple[str, ...]
    """In the order in which they are tried. Empty where none is configured."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def check(self) -> dict[str, str | None]:
        """Per model None if it answers, else what is wrong, in a sentence."""

    def stream(self, messages: Sequence[ChatMessage], *, model: str | None = None) -> AsyncIterator[ChatDelta]:
        """The answer as it is made, by `model` or else the first that works.

        Falls back to the next model only while nothing has been yielded. `NotFound` for an unknown name;
        `EngineUnavailable` when all fail, when none is configured, or when the stream breaks.
        """
