"""Cursor pagination: `?cursor=&limit=`, answered by `{items, next_cursor}`. Rows are in the order of their UUIDv7."""

import base64
import binascii
from collections.abc import Callable, Iterable
from typing import Annotated, Generic, Protocol, TypeVar
from uuid import UUID

from fastapi import Depends, Query

from app.core.described import ApiModel
from app.core.errors import InvalidInput

Item = TypeVar("Item")


class Page(ApiModel, Generic[Item]):
    items: list[Item]
    next_cursor: str | None = None
    """Give it as `cursor` to get what follows; None at the end."""


class PageRequest(ApiModel):
    """Rows after the id `after`, at most `limit`."""

    after: UUID | None
    limit: int


async def _page_request(
    cursor: Annotated[str | None, Query(max_length=64, description="`next_cursor` of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="How many items are given at most")] = 50,
) -> PageRequest:
    return PageRequest(after=decode_cursor(cursor) if cursor else None, limit=limit)


Paging = Annotated[PageRequest, Depends(_page_request)]


class Identified(Protocol):
    @property
    def id(self) -> UUID: ...


def by_id(item: Identified) -> str:
    """The cursor of a list in the order of its items' ids."""
    return encode_cursor(item.id)


def page_of(items: Iterable[Item], limit: int, cursor: Callable[[Item], str]) -> Page[Item]:
    """The first `limit` of the items. One more than that says that another page follows."""
    found = list(items)
    return page_before(found[:limit], cursor, more=len(found) > limit)


def page_before(items: list[Item], cursor: Callable[[Item], str], *, more: bool) -> Page[Item]:
    """All of the items, at least one where `more` follow."""
    return Page(items=items, next_cursor=cursor(items[-1]) if more else None)


def encode_cursor(row_id: UUID) -> str:
    return base64.urlsafe_b64encode(row_id.bytes).decode().rstrip("=")


def decode_cursor(cursor: str) -> UUID:
    try:
        return UUID(bytes=base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(
            "`cursor` is not one that this list gave. Leave it out to begin.", code="bad_cursor"
        ) from error
