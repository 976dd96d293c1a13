"""Text that callers send, as far as it can be stored, encoded and shown again."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from annotated_types import GroupedMetadata
from pydantic import BeforeValidator, StringConstraints

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(value: str) -> str:
    """Raises `ValueError` for what neither Postgres nor UTF-8 takes, so that no stored text can hold it."""
    if _NOT_STORABLE.search(value):
        raise ValueError("holds a NUL character or half of a surrogate pair")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Storable(GroupedMetadata):
    """Annotates the `str` of a field: `Annotated[str, Storable(max_length=200)]`. Lengths are in characters.

    What can't be stored is refused first: to the constraints, text that is no Unicode is no string at all. They can't
    follow a validator, though, as pydantic would then count "items": hence the one annotation for both.
    """

    min_length: int | None = None
    max_length: int
    strip_whitespace: bool = False

    def __iter__(self) -> Iterator[object]:
        yield from StringConstraints(
            min_length=self.min_length, max_length=self.max_length, strip_whitespace=self.strip_whitespace
        )
        yield BeforeValidator(lambda value: storable(value) if isinstance(value, str) else value)


def encodable(value: str) -> str:
    """The same text with a sign in the place of halves of surrogate pairs, for answers that quote what was sent."""
    return value.encode("utf-8", "replace").decode()
