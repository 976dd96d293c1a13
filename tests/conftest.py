"""A platform on real embedded engines, one for each test process, and people of two tenants to use it."""

import asyncio
import itertools
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from fastapi import FastAPI

from app.core.settings import Settings
from app.main import create_app
from app.ports.parts import Parts

T = TypeVar("T")
_numbers = itertools.count(1)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes are not part of a test's name: archives made anew each time would tell the test processes apart."""
    return "bytes" if isinstance(val, bytes) else None


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
        settings = Settings(
            _env_file=None,
            data_dir=Path(folder),
            port=0,
            sweep_seconds=1.0,
            log_level="WARNING",
            access_token_minutes=240,  # people of this session stay logged in on a slow machine
        )
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


Connect = Callable[[httpx.Response, str, str], Awaitable[Person]]
Register = Callable[[], Awaitable[Person]]
Member = Callable[..., Awaitable[Person]]


@pytest.fixture(scope="session")
async def connect(platform: FastAPI) -> AsyncIterator[Connect]:
    """Makes a person of an answer that holds tokens, and of the e-mail and password behind it."""
    async with AsyncExitStack() as stack:

        async def make(answer: httpx.Response, email: str, password: str) -> Person:
            assert answer.status_code in (200, 201), answer.text
            transport = httpx.ASGITransport(platform, raise_app_exceptions=False)
            client = httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60)
            client.headers["authorization"] = f"Bearer {answer.json()['access_token']}"
            await stack.enter_async_context(client)
            me = (await client.get("/v1/auth/me")).json()
            return Person(client, me["user"]["id"], me["tenant"]["id"], email, password)

        yield make


@pytest.fixture(scope="session")
def register(anonymous: httpx.AsyncClient, connect: Connect) -> Register:
    """Makes a new tenant with an owner, as often as it is called."""

    async def make() -> Person:
        number = next(_numbers)
        email, password = f"owner{number}@example.com", f"correct horse {number}"
        body = {"email": email, "password": password, "tenant": f"Tenant {number}"}
        return await connect(await anonymous.post("/v1/auth/register", json=body), email, password)

    return make


@pytest.fixture(scope="session")
def member(anonymous: httpx.AsyncClient, connect: Connect, owner: Person) -> Member:
    """Makes a new person with a role in the owner's tenant, or in that of `by`, through an invitation."""

    async def make(role: str, *, by: Person = owner) -> Person:
        number = next(_numbers)
        email, password = f"{role}{number}@example.com", f"correct horse {number}"
        invitation = await by.client.post("/v1/invitations", json={"email": email, "role": role})
        assert invitation.status_code == 201, invitation.text
        body = {"token": invitation.json()["token"], "password": password}
        return await connect(await anonymous.post("/v1/invitations/accept", json=body), email, password)

    return make


@pytest.fixture(scope="session")
async def owner(register: Register) -> Person:
    return await register()


@pytest.fixture(scope="session")
async def stranger(register: Register) -> Person:
    """The owner of another tenant."""
    return await register()


async def until(condition: Callable[[], Awaitable[T]], *, seconds: float = 60) -> T:
    """Polls until the condition gives something true, and returns it; fails the test when time is up."""
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        found = await condition()
        if found:
            return found
        await asyncio.sleep(0.05)
    pytest.fail(f"nothing happened within {seconds:.0f} s")
