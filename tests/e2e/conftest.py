"""The two shapes to run the same tests on. What a shape needs and this machine lacks skips it, and says what."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from tests.e2e.people import Person, register
from tests.e2e.shapes import REPOSITORY, Servers, Service, embedded, free_port, on_servers


def _needed(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        pytest.skip(f"the shape on servers needs {name}: see .ci/run, which starts them")
    return value


@pytest.fixture(scope="session")
def qdrant_peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Qdrant server: a real one where `BIGGRAPH_TEST_QDRANT_URL` names it, else the peer."""
    if url := os.environ.get("BIGGRAPH_TEST_QDRANT_URL"):
        yield url
        return
    port, folder = free_port(), tmp_path_factory.mktemp("qdrant")
    command = [sys.executable, "-m", "tests.peers.qdrant", "--port", str(port), "--path", str(folder)]
    process = subprocess.Popen(command, cwd=REPOSITORY)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="session")
def servers(qdrant_peer: str) -> Iterator[Servers]:
    """Servers with a database of our own, made with an owner and an application role, and dropped afterwards."""
    admin_url = _needed("BIGGRAPH_TEST_DATABASE_URL")
    redis_url = _needed("BIGGRAPH_TEST_REDIS_URL")
    elasticsearch_url = _needed("BIGGRAPH_TEST_ELASTICSEARCH_URL")
    name = f"biggraph_{secrets.token_hex(4)}"
    owner, password = f"{name}_owner", secrets.token_hex(8)
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("create role {} login createrole password {}").format(sql.Identifier(owner), sql.Literal(password))
        )
        connection.execute(sql.SQL("create database {} owner {}").format(sql.Identifier(name), sql.Identifier(owner)))
    where = urlsplit(admin_url)
    address = f"{where.hostname}:{where.port or 5432}/{name}"
    yield Servers(
        database_owner_url=f"postgresql://{owner}:{password}@{address}",
        database_url=f"postgresql://{name}_app:{password}@{address}",
        redis_url=redis_url,
        elasticsearch_url=elasticsearch_url,
        qdrant_url=qdrant_peer,
    )
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))
        for role in (f"{name}_app", owner):
            connection.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(role)))


@pytest.fixture(scope="session", params=["embedded", "servers"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running platform in one of the two shapes."""
    folder: Path = tmp_path_factory.mktemp(f"e2e-{request.param}")
    if request.param == "embedded":
        made = embedded(folder)
    else:
        made = on_servers(folder, request.getfixturevalue("servers"))
    try:
        start(made)
        yield made
        made.stop()
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
