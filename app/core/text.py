"""Text that callers send, as far as it can be stored, encoded and shown again."""

import re
from typing import Annotated

from pydantic import AfterValidator

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(value: str) -> str:
    """Raises `ValueError` for what neither Postgres nor UTF-8 takes, so that no stored text can hold it."""
    if _NOT_STORABLE.search(value):
        raise ValueError("holds a NUL character or half of a surrogate pair")
    return value


StorableText = Annotated[str, AfterValidator(storable)]


def encodable(value: str) -> str:
    """The same text with a sign in the place of halves of surrogate pairs, for answers that quote what was sent."""
    return value.encode("utf-8", "replace").decode()
