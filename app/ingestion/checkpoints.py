"""Named points of the ingestion. Fault tests listen here to end the process exactly there; nothing else does."""

from collections.abc import Callable
from typing import Final

POINTS: Final = (
    "claimed",
    "fetched",
    "parsed",
    "chunked",
    "embedding",
    "embedded",
    "vectors_written",
    "terms_written",
    "verified",
    "activated",
    "purging",
    "purged",
)

listeners: list[Callable[[str], None]] = []


def reached(point: str) -> None:
    for listener in listeners:
        listener(point)
