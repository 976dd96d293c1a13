"""What looking at operations keeps for the life of one application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, cast

from fastapi import Depends, FastAPI, Request

from app.core.slots import Places

STREAMS_EACH = 16
"""Of operations that one person follows: each asks Postgres twice a second, and all tenants share that."""


@asynccontextmanager
async def followers_lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Lifespan of the router."""
    app.state.followers = Places(STREAMS_EACH, "streams")
    yield


async def _followers(request: Request) -> Places:
    return cast(Places, request.app.state.followers)


Followers = Annotated[Places, Depends(_followers)]
