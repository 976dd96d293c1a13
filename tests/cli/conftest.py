"""The command as a person runs it, against the platform behind a real port, with credentials in a folder of its own."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI

from app.cli.main import run
from app.core.ids import new_id
from tests.conftest import Person


class _Server(uvicorn.Server):
    """Leaves the signals to pytest."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@pytest.fixture(scope="session")
async def address(platform: FastAPI) -> AsyncIterator[str]:
    server = _Server(uvicorn.Config(platform, port=0, lifespan="off", log_config=None, access_log=False))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it said with its line breaks taken out: a narrow terminal sets them anywhere."""

    code: int
    out: str
    error: str


@dataclass(frozen=True)
class Terminal:
    capture: pytest.CaptureFixture[str]

    async def run(self, *arguments: str) -> Said:
        self.capture.readouterr()
        code = await asyncio.to_thread(run, list(arguments))
        out, error = self.capture.readouterr()
        return Said(code, " ".join(out.split()), " ".join(error.split()))


@pytest.fixture
def terminal(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    """Nobody is logged in."""
    monkeypatch.setenv("BIGGRAPH_URL", address)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sys.argv", ["biggraph"])
    return Terminal(capsys)


@pytest.fixture
async def logged_in(terminal: Terminal, owner: Person) -> Terminal:
    said = await terminal.run("login", "--email", owner.email, "--password", owner.password)
    assert said.code == 0, said
    return terminal


@pytest.fixture
async def knowledge_base(logged_in: Terminal) -> str:
    """The name of one that is empty."""
    name = f"kb [{new_id()}]"
    assert (await logged_in.run("kb", "create", name)).code == 0
    return name
