"""Sessions over Postgres: read-only or read-write, always inside one tenant or inside the system role.

Row-level security does the confining. The first statement of every transaction sets `app.tenant_id` for it; without
that, every tenant table looks empty. `system()` transactions take the role `biggraph_system` instead, which policies
admit to the few tables that must be found before a tenant is known (credentials, outbox, operations).
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from sqlalchemy import Connection, event, text
from sqlalchemy.engine.interfaces import AdaptedConnection
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session, SessionTransaction

from app.core.errors import OutOfSpace, Unavailable
from app.core.scope import TenantScope

SYSTEM_ROLE = "biggraph_system"
DISK_FULL = "53100"
INSUFFICIENT_RESOURCES = "53"
OPERATOR_INTERVENTION = "57P"
TRANSACTION_ROLLBACK = "40"
"""Deadlocks and failures of serialization."""
AfterCommit = Callable[[], Awaitable[None]]
SessionType = TypeVar("SessionType", bound="ReadSession")


class _ConfinedSession(Session):
    """The synchronous session behind the async ones; `info` holds `tenant_id`, `system` and `read_only`."""


@event.listens_for(_ConfinedSession, "after_begin")
def _confine(session: Session, _transaction: SessionTransaction, connection: Connection) -> None:
    """One round trip sets what holds for this transaction alone (`set_config(..., is_local => true)`)."""
    settings = {"app.tenant_id": session.info.get("tenant_id", "")}
    if session.info.get("system"):
        settings["role"] = SYSTEM_ROLE
    if session.info["read_only"]:
        settings["transaction_read_only"] = "on"
    calls = ", ".join(f"set_config(:n{i}, :v{i}, true)" for i in range(len(settings)))
    parameters = {f"n{i}": name for i, name in enumerate(settings)}
    parameters |= {f"v{i}": value for i, value in enumerate(settings.values())}
    connection.execute(text(f"select {calls}"), parameters)


class ReadSession(AsyncSession):
    """A transaction that can't write. Hand this type to what only reads."""

    sync_session_class = _ConfinedSession


class WriteSession(ReadSession):
    """A transaction that may write. It is committed once, by whoever opened it: request, task or command."""

    def after_commit(self, action: AfterCommit) -> None:
        """Runs `action` once this transaction has committed, never if it has not."""
        self.info.setdefault("after_commit", []).append(action)


def _refuse_closed(connection: AdaptedConnection, _record: object, _proxy: object) -> None:
    """Lets the pool replace a connection whose server went away. asyncpg knows that without a ping, a round trip."""
    if connection.driver_connection.is_closed():
        raise DisconnectionError


class Database:
    """The pool of one process and the sessions made from it."""

    def __init__(self, url: str, *, pool_size: int = 10, connect_timeout_seconds: float = 5.0) -> None:
        self._engine: AsyncEngine = create_async_engine(
            url,
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_timeout=10,
            hide_parameters=True,  # errors are logged, and parameters are passwords' hashes and documents
            connect_args={"timeout": connect_timeout_seconds, "server_settings": {"timezone": "UTC"}},
        )
        event.listen(self._engine.sync_engine, "checkout", _refuse_closed)

    @property
    def engine(self) -> AsyncEngine:
        return self._engine

    @asynccontextmanager
    async def read(self, scope: TenantScope) -> AsyncIterator[ReadSession]:
        """A read-only transaction inside the scope's tenant."""
        async with self._session(ReadSession, tenant_id=str(scope.tenant_id), read_only=True) as session:
            yield session

    @asynccontextmanager
    async def write(self, scope: TenantScope) -> AsyncIterator[WriteSession]:
        """A transaction inside the scope's tenant, committed when the block ends and rolled back when it raises."""
        async with self._session(WriteSession, tenant_id=str(scope.tenant_id), read_only=False) as session:
            async with session.begin():
                yield session
            await _run_after_commit(session)

    @asynccontextmanager
    async def system(self) -> AsyncIterator[WriteSession]:
        """A transaction as the system role, for what comes before a tenant is known and for what sweeps all of them."""
        async with self._session(WriteSession, system=True, read_only=False) as session:
            async with session.begin():
                yield session
            await _run_after_commit(session)

    @asynccontextmanager
    async def _session(self, kind: type[SessionType], **info: object) -> AsyncIterator[SessionType]:
        session = kind(self._engine, expire_on_commit=False, info=info)
        try:
            async with session:
                yield session
        except (OperationalError, InterfaceError, PoolTimeout, OSError, TimeoutError) as error:
            raise _unavailable() from error
        except DBAPIError as error:
            if (expected := _expected(error)) is None:
                raise
            raise expected from error

    async def check(self) -> None:
        """Returns if Postgres answers, raises `Unavailable` if not."""
        try:
            async with self._engine.connect() as connection:
                await connection.execute(text("select 1"))
        except (DBAPIError, PoolTimeout, OSError, TimeoutError) as error:
            raise _unavailable() from error

    async def close(self) -> None:
        await self._engine.dispose()


def _unavailable() -> Unavailable:
    return Unavailable(
        "The database does not answer. Nothing was written; try again in a moment.", code="database_unavailable"
    )


def _expected(error: DBAPIError) -> Unavailable | None:
    """What may happen to any statement and passes; by class of SQLSTATE (PostgreSQL documentation, appendix A)."""
    state = str(getattr(error.orig, "sqlstate", None) or "")
    if state == DISK_FULL:
        return OutOfSpace("The database has no room left on its disk. Nothing was written; free some, then try again.")
    if error.connection_invalidated or state.startswith((INSUFFICIENT_RESOURCES, OPERATOR_INTERVENTION)):
        return _unavailable()
    if state.startswith(TRANSACTION_ROLLBACK):
        return Unavailable("Somebody else changed the same at the same moment. Try again.", code="contended")
    return None


async def _run_after_commit(session: WriteSession) -> None:
    for action in session.info.pop("after_commit", []):
        await action()
