"""What a run tells while it goes on. Each event is a JSON object with a `type`."""

from typing import Any, Literal

from typing_extensions import TypedDict

from app.agent.rendering import Citation

EventType = Literal["step", "delta", "citation", "usage", "error", "done"]


class Event(TypedDict):
    """`data` holds what is sent beside the type."""

    type: EventType
    data: dict[str, Any]


def step(name: str, **details: object) -> Event:
    return Event(type="step", data={"name": name, **details})


def delta(text: str) -> Event:
    return Event(type="delta", data={"text": text})


def citation(found: Citation) -> Event:
    return Event(type="citation", data=found.model_dump(mode="json"))


def usage(prompt_tokens: int, completion_tokens: int, model: str | None) -> Event:
    return Event(
        type="usage",
        data={"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "model": model},
    )


def error(code: str, detail: str) -> Event:
    return Event(type="error", data={"code": code, "detail": detail})
