from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from app.ports.parts import Parts
from tests.conftest import Person

FromAddress = Callable[[str], httpx.AsyncClient]


@pytest.fixture
async def from_address(platform: FastAPI) -> AsyncIterator[FromAddress]:
    """Makes a client that connects from an address of its own, so that limits by address don't meet."""
    async with AsyncExitStack() as stack:
        clients: list[httpx.AsyncClient] = []

        def make(address: str) -> httpx.AsyncClient:
            transport = httpx.ASGITransport(platform, raise_app_exceptions=False, client=(address, 50_000))
            clients.append(httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60))
            stack.push_async_callback(clients[-1].aclose)
            return clients[-1]

        yield make


async def set_column(parts: Parts, person: Person, assignment: str, **values: object) -> None:
    """Changes a person's row behind the application's back, as an operator or an import would."""
    async with parts.database.system() as session:
        statement = text(f"update users set {assignment} where id = :id")  # noqa: S608 - the test's own text
        await session.execute(statement, {"id": person.user_id, **values})


async def column(parts: Parts, person: Person, name: str) -> object:
    async with parts.database.system() as session:
        statement = text(f"select {name} from users where id = :id")  # noqa: S608 - the test's own text
        return await session.scalar(statement, {"id": person.user_id})
