"""The two shapes to run the same tests on. What a shape needs and this machine lacks skips it, and says what."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.databases import own_database
from tests.e2e.lines import Line
from tests.e2e.people import Person, register
from tests.e2e.shapes import REPOSITORY, SHARED, Servers, Service, embedded, on_servers
from tests.peers.qdrant import QdrantPeer, running_peer


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of one shape run in one process, which then starts that shape once."""
    for item in items:
        shape = getattr(item, "callspec", None)
        if shape is not None and "service" in shape.params:
            item.add_marker(pytest.mark.xdist_group(f"e2e-{shape.params['service']}"))


def needed(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        pytest.skip(f"the shape on servers needs {name}: see .ci/run, which starts them")
    return value


@pytest.fixture(scope="session")
def qdrant_peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantPeer]:
    """A peer of Qdrant which fails when it is told to."""
    with running_peer(tmp_path_factory.mktemp("qdrant")) as peer:
        yield peer


@pytest.fixture(scope="session")
def lines(request: pytest.FixtureRequest) -> Iterator[dict[str, Line]]:
    """A line to each server, so that tests can take it away from the service. Qdrant: a real one, or else the peer."""
    addresses = {
        "postgres": needed("BIGGRAPH_TEST_DATABASE_URL"),
        "redis": needed("BIGGRAPH_TEST_REDIS_URL"),
        "elasticsearch": needed("BIGGRAPH_TEST_ELASTICSEARCH_URL"),
    }
    qdrant = os.environ.get("BIGGRAPH_TEST_QDRANT_URL")
    addresses["qdrant"] = qdrant or request.getfixturevalue("qdrant_peer").url
    with ExitStack() as stack:
        yield {name: stack.enter_context(closing(Line(url))) for name, url in addresses.items()}


@pytest.fixture(scope="session")
def servers(lines: dict[str, Line]) -> Iterator[Servers]:
    """Servers with a database of our own, made with an owner and an application role, and dropped afterwards."""
    admin_url = needed("BIGGRAPH_TEST_DATABASE_URL")
    where = urlsplit(lines["postgres"].url)
    with own_database(admin_url, f"{where.hostname}:{where.port}") as (owner_url, application_url):
        yield Servers(
            database_owner_url=owner_url,
            database_url=application_url,
            redis_url=lines["redis"].url,
            elasticsearch_url=lines["elasticsearch"].url,
            qdrant_url=lines["qdrant"].url,
        )


@pytest.fixture(scope="session", params=["embedded", "servers"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    """A running platform in one of the two shapes."""
    failed_before = request.session.testsfailed
    folder = Path(tempfile.mkdtemp(prefix=f"bg-e2e-{request.param}-"))  # pytest would close its own to Postgres's user
    is_embedded = request.param == "embedded"
    made = embedded(folder) if is_embedded else on_servers(folder, request.getfixturevalue("servers"))
    try:
        start(made)
        yield made
        made.stop()
        if request.session.testsfailed == failed_before:  # else its logs may tell why
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        made.destroy()


def start(service: Service) -> None:
    """Migrates where that is a command of its own, then starts API and workers and waits until it is ready."""
    if service.shape == "servers":
        environment = {**os.environ, **service.environment}
        subprocess.run(
            [sys.executable, "-m", "app.cli", "migrate"], cwd=REPOSITORY, env=environment, check=True, timeout=120
        )
    for process in service.processes.values():
        process.start()
    service.wait_ready()


@pytest.fixture(scope="session")
def owner(service: Service) -> Iterator[Person]:
    with register(service.url) as person:
        yield person


@pytest.fixture(scope="session")
def stranger(service: Service) -> Iterator[Person]:
    """The owner of another tenant."""
    with register(service.url) as person:
        yield person


@pytest.fixture(scope="session")
def shared_files() -> Path:
    folder = SHARED / "files"
    if not folder.exists():
        pytest.skip("the folder shared/files with real documents is not beside the repository")
    return folder
