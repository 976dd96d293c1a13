"""`/healthz`, `/readyz`, `/metrics`, and the way from `/` to the documentation."""

from fastapi import APIRouter
from fastapi.responses import RedirectResponse
from pydantic import BaseModel

from app.identity.access import Public

router = APIRouter(tags=["health"], dependencies=[Public])


class Alive(BaseModel):
    status: str = "alive"


@router.get("/", include_in_schema=False)
async def documentation() -> RedirectResponse:
    return RedirectResponse("/docs")


@router.get("/healthz")
async def alive() -> Alive:
    """The process answers. Says nothing about what stands behind it: see `/readyz`."""
    return Alive()
