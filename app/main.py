"""The API: routers, middleware, error handlers, and the life of everything behind them."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi_offline import FastAPIOffline

from app.agent.service import load as load_agent
from app.chats.router import router as chats
from app.chunks.router import PREVIEWS
from app.chunks.router import router as chunks
from app.core.body_limit import BodyLimitMiddleware
from app.core.problems import PROBLEMS, RequestIdMiddleware, install_problem_handlers, install_problem_media_type
from app.core.settings import Settings
from app.documents.router import UPLOADS
from app.documents.router import router as documents
from app.health.metrics import install_metrics
from app.health.router import router as health
from app.identity.access import policy_of
from app.identity.router import router as identity
from app.ingestion.consistency_router import router as consistency
from app.ingestion.router import router as operations
from app.knowledge_bases.router import router as knowledge_bases
from app.ports.parts import Parts
from app.retrieval.router import router as retrieval
from app.runtime import open_parts
from app.tenants.router import router as tenants
from workers.in_process import worker_thread

ROUTERS = (health, identity, tenants, knowledge_bases, documents, chunks, operations, consistency, retrieval, chats)

DESCRIPTION = """
To begin, `POST /v1/auth/login` (or `/register`) and give its `access_token` to **Authorize**. Make a knowledge base,
upload documents, follow the `operation` that each upload answers with until its `state` is `succeeded`, then ask.

Lists come in pages: give `next_cursor` as `cursor` until it is null. Errors are problem details (RFC 9457): `code` is
stable, `detail` says what to do.
"""

LONG_BODIES = re.compile(f"{UPLOADS.pattern}|{PREVIEWS.pattern}")


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application for a server to run (`uvicorn --factory app.main:create_app`). Engines start when it starts."""
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with run_platform(settings) as parts:
            app.state.parts = parts
            app.state.ready = True
            loading = asyncio.create_task(asyncio.to_thread(load_agent))  # so that the first question need not wait
            yield
            await loading
            app.state.ready = False

    app = FastAPIOffline(  # the docs page without the network
        redoc_url=None,
        static_url="/docs/static",
        title="BigGraph",
        version="0.1.0",
        summary="Multi-tenant knowledge bases: documents in, cited answers out.",
        description=DESCRIPTION,
        lifespan=lifespan,
        redirect_slashes=False,  # it would send a caller to whatever host their request named
        generate_unique_id_function=lambda route: route.name,
        responses=PROBLEMS,
    )
    app.add_middleware(BodyLimitMiddleware, max_file_bytes=settings.max_upload_bytes, uploads=LONG_BODIES)
    install_metrics(app)
    app.add_middleware(RequestIdMiddleware)  # outermost: even a refused body gets its id
    install_problem_handlers(app)
    install_problem_media_type(app)
    for router in ROUTERS:
        for route in router.routes:
            if isinstance(route, APIRoute):  # a route without a declared policy stops the start
                route.openapi_extra = {**(route.openapi_extra or {}), "x-policy": policy_of(route)}
        app.include_router(router)
    return app


@asynccontextmanager
async def run_platform(settings: Settings) -> AsyncIterator[Parts]:
    """Engines, and where they are embedded also the worker, which then has to live in this process."""
    async with open_parts(settings) as parts, worker_thread(parts) if settings.worker_in_process else nullcontext():
        yield parts
