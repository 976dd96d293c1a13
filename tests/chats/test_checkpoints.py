"""Checkpoints are confined to their tenant by Postgres itself."""

from uuid import UUID

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.base import BasePostgresSaver
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import text

from app.agent.checkpoints import TenantCheckpoints
from app.agent.threads import TABLES, thread_id
from app.core.errors import NotFound
from app.core.ids import new_id
from app.core.scope import TenantScope
from app.ports.parts import Parts
from tests.chats.people import shelf_of
from tests.chats.test_sessions import say
from tests.conftest import Person
from tests.retrieval.shelf import Shelf

KNOWN_MIGRATIONS = 10
"""Of langgraph-checkpoint-postgres, as migration 0002 makes their tables."""


def thread_of(scope: TenantScope, session_id: UUID) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id(scope, session_id), "checkpoint_ns": ""}}


def test_the_tables_are_those_of_the_library() -> None:
    """More of them means that a migration of ours must follow."""
    assert len(BasePostgresSaver.MIGRATIONS) == KNOWN_MIGRATIONS


async def test_a_tenant_sees_its_own_checkpoints_only(
    owner: Person, session_id: str, library: Shelf, stranger: Person, parts: Parts
) -> None:
    await say(owner, session_id)
    thread = thread_of(library.scope, UUID(session_id))
    own = await TenantCheckpoints(parts.database_url, library.scope).aget_tuple(thread)
    assert own is not None
    assert own.checkpoint["channel_values"]["kind"] == "extractive"
    foreign = TenantCheckpoints(parts.database_url, shelf_of(parts, stranger).scope)
    assert await foreign.aget_tuple(thread) is None
    assert [found async for found in foreign.alist(None)] == []
    with pytest.raises(InsufficientPrivilege):
        await foreign.aput(thread, empty_checkpoint(), {}, {})


async def test_a_session_that_is_gone_takes_no_checkpoint(library: Shelf, parts: Parts) -> None:
    saver = TenantCheckpoints(parts.database_url, library.scope)
    thread = thread_of(library.scope, new_id())
    with pytest.raises(NotFound):
        await saver.aput(thread, empty_checkpoint(), {}, {})


async def test_row_level_security_is_forced_on_every_table(library: Shelf, parts: Parts) -> None:
    async with parts.database.read(library.scope) as session:
        rows = await session.execute(
            text(
                "select relname, relrowsecurity, relforcerowsecurity, polqual is not null, polwithcheck is not null "
                "from pg_class join pg_policy on polrelid = pg_class.oid where relname = any(:tables)"
            ),
            {"tables": list(TABLES)},
        )
        assert sorted(map(tuple, rows)) == sorted((table, True, True, True, True) for table in TABLES)
