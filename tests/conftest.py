"""A platform on real embedded engines, one for each test process, and people of two tenants to use it."""

import asyncio
import itertools
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.core.settings import Settings
from app.main import create_app
from app.ports.parts import Parts

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Person:
    """Somebody who has logged in: an HTTP client with their token, and who they are."""

    client: httpx.AsyncClient
    user_id: str
    tenant_id: str
    email: str
    password: str


@pytest.fixture(scope="session")
async def platform() -> AsyncIterator[FastAPI]:
    """The application with embedded engines and its worker, in a folder of its own that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="bg-") as folder:
        settings = Settings(_env_file=None, data_dir=Path(folder), port=0, sweep_seconds=1.0, log_level="WARNING")
        app = create_app(settings)
        async with app.router.lifespan_context(app):
            yield app


@pytest.fixture(scope="session")
def parts(platform: FastAPI) -> Parts:
    found: Parts = platform.state.parts
    return found


@pytest.fixture(scope="session")
async def anonymous(platform: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client without credentials, on the application itself."""
    transport = httpx.ASGITransport(platform, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client:
        yield client


Register = Callable[[], Awaitable[Person]]


@pytest.fixture(scope="session")
async def register(platform: FastAPI) -> AsyncIterator[Register]:
    """Makes a new tenant with an owner, as often as it is called."""
    async with AsyncExitStack() as stack:

        async def make() -> Person:
            number = next(_numbers)
            client = await stack.enter_async_context(
                httpx.AsyncClient(
                    transport=httpx.ASGITransport(platform, raise_app_exceptions=False),
                    base_url="http://test",
                    timeout=60,
                )
            )
            email, password = f"owner{number}@example.com", f"correct horse {number}"
            answer = await client.post(
                "/v1/auth/register", json={"email": email, "password": password, "tenant": f"Tenant {number}"}
            )
            assert answer.status_code == 201, answer.text
            tokens: dict[str, Any] = answer.json()
            client.headers["authorization"] = f"Bearer {tokens['access_token']}"
            me = (await client.get("/v1/auth/me")).json()
            return Person(client, me["user"]["id"], me["tenant"]["id"], email, password)

        yield make


@pytest.fixture(scope="session")
async def owner(register: Register) -> Person:
    return await register()


@pytest.fixture(scope="session")
async def stranger(register: Register) -> Person:
    """The owner of another tenant."""
    return await register()


async def until(condition: Callable[[], Awaitable[Any]], *, seconds: float = 60) -> Any:
    """Polls until the condition gives something true, and returns it; fails the test when time is up."""
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        found = await condition()
        if found:
            return found
        await asyncio.sleep(0.05)
    pytest.fail(f"nothing happened within {seconds:.0f} s")
