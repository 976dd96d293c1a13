"""`/healthz`, `/readyz`, `/metrics`, and the way from `/` to the documentation."""

from typing import Literal, cast

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from app.health.metrics import Metrics
from app.health.readiness import Readiness, readiness
from app.identity.access import PartsDep, Public

router = APIRouter(tags=["health"], dependencies=[Public])


class Alive(BaseModel):
    status: Literal["alive"] = "alive"


@router.get("/", include_in_schema=False)
async def documentation() -> RedirectResponse:
    return RedirectResponse("/docs")


@router.get("/healthz")
async def alive() -> Alive:
    """The process answers. Says nothing about what stands behind it: see `/readyz`."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness}})
async def ready(request: Request, response: Response, parts: PartsDep) -> Readiness:
    """Whether this process can serve, and how each part is. 503 where it can't: Postgres is down, or it is stopping."""
    found = await readiness(parts, stopping=not getattr(request.app.state, "ready", False))
    response.status_code = 200 if found.serves else 503
    response.headers["cache-control"] = "no-store"
    return found


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """For Prometheus."""
    found = cast(Metrics, request.app.state.metrics)
    return Response(generate_latest(found.registry), media_type=CONTENT_TYPE_LATEST)
