"""The graph's checkpoints in Postgres, inside one tenant.

Their tables are made by a migration; row-level security on them compares the tenant in `thread_id` with
`app.tenant_id`, which every transaction here sets first.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg import AsyncConnection, AsyncCursor, InterfaceError, OperationalError
from psycopg.errors import ForeignKeyViolation
from psycopg.rows import DictRow, dict_row

from app.core.errors import NotFound, Unavailable
from app.core.scope import TenantScope


class TenantCheckpoints(AsyncPostgresSaver):
    """A saver for the runs of one tenant. It holds a connection only while it reads or writes."""

    def __init__(self, database_url: str, scope: TenantScope) -> None:
        # State is plain JSON, so nothing but plain values is ever made from what is stored.
        serde = JsonPlusSerializer(allowed_msgpack_modules=None)
        super().__init__(cast(Any, None), serde=serde)  # `conn` is only used by the method that is overridden below
        self._url = database_url
        self._tenant_id = str(scope.tenant_id)

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        """One transaction on a connection of its own."""
        try:
            async with (
                await AsyncConnection.connect(self._url, connect_timeout=5) as connection,
                connection.transaction(),
                connection.cursor(binary=True, row_factory=dict_row) as cursor,
            ):
                await cursor.execute("select set_config('app.tenant_id', %s, true)", (self._tenant_id,))
                yield cursor
        except ForeignKeyViolation as error:
            raise NotFound("The session was deleted meanwhile.", code="session_not_found") from error
        except (OperationalError, InterfaceError) as error:
            raise Unavailable(
                "The database does not answer. Try again in a moment.", code="database_unavailable"
            ) from error
