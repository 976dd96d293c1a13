"""Alive, ready, and what readiness says when parts are gone."""

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator, Callable, Iterator

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.redis.cache import RedisCache
from app.adapters.rerank.http import HttpReranker
from app.core.database import Database
from app.core.errors import EngineUnavailable
from app.health.readiness import PartStatus, check_all
from app.parsing.converter import find_libreoffice
from app.ports.parts import Parts
from tests.peers.openai import Fault, running_peer

TOLD = {"reranker", "chat_models", "libreoffice"}
"""Parts that are not asked whether they work, or are not there."""
PARTS = {"database", "cache", "vector_index", "text_index", "blobs", "embedder"} | TOLD

Replace = Callable[[Parts], None]


@pytest.fixture
def replace(platform: FastAPI, parts: Parts) -> Iterator[Replace]:
    """Puts other parts in the place of the platform's, until the test ends."""

    def put(other: Parts) -> None:
        platform.state.parts = other

    yield put
    platform.state.parts = parts


@pytest.fixture
async def dead_database() -> AsyncIterator[Database]:
    database = Database("postgresql+asyncpg://secret:hunter2@127.0.0.1:1/nothing", connect_timeout_seconds=0.5)
    yield database
    await database.close()


async def test_alive(anonymous: httpx.AsyncClient) -> None:
    answer = await anonymous.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


async def test_the_root_leads_to_the_documentation(anonymous: httpx.AsyncClient) -> None:
    answer = await anonymous.get("/")
    assert answer.is_redirect
    assert answer.headers["location"] == "/docs"


async def test_the_documentation_needs_no_internet(anonymous: httpx.AsyncClient) -> None:
    page = await anonymous.get("/docs")
    assert page.status_code == 200
    wanted = re.findall(r"""(?:src|href|url)(?:=|: )["']([^"']+)""", page.text)
    assert len(wanted) > 3
    for address in wanted:
        assert address.startswith("/"), address
        assert (await anonymous.get(address)).status_code == 200, address


async def test_ready(anonymous: httpx.AsyncClient) -> None:
    answer = await anonymous.get("/readyz")
    assert answer.status_code == 200
    found = answer.json()
    assert found["status"] == "ready"
    assert set(found["parts"]) == PARTS
    assert {name for name, status in found["parts"].items() if status == "ok"} == PARTS - TOLD
    assert found["parts"]["libreoffice"] == ("installed" if find_libreoffice() else "not_installed")
    assert found["parts"]["reranker"] == found["parts"]["chat_models"] == "not_configured"


async def test_a_lost_part_is_named_and_does_not_stop_service(
    anonymous: httpx.AsyncClient, parts: Parts, replace: Replace
) -> None:
    replace(dataclasses.replace(parts, cache=RedisCache("redis://:hunter2@127.0.0.1:1", timeout_seconds=0.2)))
    answer = await anonymous.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["status"] == "degraded"
    assert [name for name, status in answer.json()["parts"].items() if status == "failing"] == ["cache"]
    assert "hunter2" not in answer.text


async def test_a_reranker_is_asked_where_there_is_one(
    anonymous: httpx.AsyncClient, parts: Parts, replace: Replace
) -> None:
    with running_peer() as peer:
        reranker = HttpReranker(f"{peer.url}/rerank", "cross", parts.embedder.tokens, first_wait=0.01)
        await reranker.open()
        replace(dataclasses.replace(parts, reranker=reranker))
        peer.fail("rerank", Fault(status=503), times=2)
        failing = (await anonymous.get("/readyz")).json()
        assert (failing["status"], failing["parts"]["reranker"]) == ("degraded", "failing")
        answering = (await anonymous.get("/readyz")).json()
        assert (answering["status"], answering["parts"]["reranker"]) == ("ready", "ok")
        await reranker.close()


async def test_without_postgres_it_does_not_serve(
    anonymous: httpx.AsyncClient, parts: Parts, replace: Replace, dead_database: Database
) -> None:
    replace(dataclasses.replace(parts, database=dead_database))
    answer = await anonymous.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["status"] == "unavailable"
    assert answer.json()["parts"]["database"] == "failing"
    assert answer.json()["parts"]["cache"] == "ok"
    assert "hunter2" not in answer.text
    assert (await anonymous.get("/healthz")).status_code == 200


async def test_while_it_stops_it_does_not_serve(anonymous: httpx.AsyncClient, platform: FastAPI) -> None:
    platform.state.ready = False
    try:
        answer = await anonymous.get("/readyz")
    finally:
        platform.state.ready = True
    assert (answer.status_code, answer.json()["status"]) == (503, "stopping")


async def test_checks_run_at_once_and_each_has_its_deadline() -> None:
    both = asyncio.Barrier(2)

    async def meets() -> None:
        await both.wait()  # alone it would wait for ever

    async def hangs() -> None:
        await asyncio.Event().wait()

    async def fails() -> None:
        raise EngineUnavailable("not there")

    async def breaks() -> None:
        raise ZeroDivisionError

    checks = {"a": meets, "b": meets, "late": hangs, "gone": fails, "broken": breaks}
    assert await check_all(checks, deadline_seconds=0.5) == {
        "a": PartStatus.OK,
        "b": PartStatus.OK,
        "late": PartStatus.LATE,
        "gone": PartStatus.FAILING,
        "broken": PartStatus.FAILING,
    }
