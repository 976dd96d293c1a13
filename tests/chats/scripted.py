"""Chat models that say what a test tells them to, in the pieces and with the faults that it asks for."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from app.core.errors import EngineUnavailable
from app.ports.chat_models import ChatDelta, ChatMessage, TokenUsage


@dataclass
class Pause:
    """Says nothing until the test goes on."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)


class Break:
    """The stream ends with a failure here."""


Line = str | Pause | Break


@dataclass
class ScriptedModels:
    """`ChatModels` by its port: `script` holds the lines of the answers, one list an answer; the last one repeats."""

    script: list[list[Line]]
    names: tuple[str, ...] = ("scripted",)
    asked: list[list[ChatMessage]] = field(default_factory=list)
    ended: int = 0
    """How many streams have ended, whether read to the end or closed."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def check(self) -> dict[str, str | None]:
        return dict.fromkeys(self.names)

    async def stream(self, messages: Sequence[ChatMessage], *, model: str | None = None) -> AsyncIterator[ChatDelta]:
        lines = self.script[min(len(self.asked), len(self.script) - 1)]
        self.asked.append(list(messages))
        try:
            for line in lines:
                if isinstance(line, Break):
                    raise EngineUnavailable("The scripted model breaks off.")
                if isinstance(line, Pause):
                    line.reached.set()
                    await line.go_on.wait()
                else:
                    yield ChatDelta(line, model or self.names[0])
            yield ChatDelta("", model or self.names[0], TokenUsage(100, 20))
        finally:
            self.ended += 1
