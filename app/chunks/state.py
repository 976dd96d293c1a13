"""What looking into documents keeps for the life of one application: turns for what takes memory and processor."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, FastAPI, Request

from app.chunks.parsed import ParsedForms
from app.chunks.preview import Previews
from app.ports.parts import Parts


@dataclass(frozen=True, slots=True)
class Workshop:
    previews: Previews
    parsed: ParsedForms


@asynccontextmanager
async def workshop_lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Lifespan of the router; FastAPI enters it after the application's own, which sets `app.state.parts`."""
    parts = cast(Parts, app.state.parts)
    app.state.workshop = Workshop(Previews(parts), ParsedForms(parts))
    yield


async def _workshop(request: Request) -> Workshop:
    return cast(Workshop, request.app.state.workshop)


WorkshopDep = Annotated[Workshop, Depends(_workshop)]
