"""Where the checkpoints of a session are: the name of its thread, and their tables."""

from uuid import UUID

from sqlalchemy import text

from app.core.database import WriteSession
from app.core.scope import TenantScope

TABLES = ("checkpoint_writes", "checkpoint_blobs", "checkpoints")


def thread_id(scope: TenantScope, session_id: UUID) -> str:
    return f"{scope.tenant_id}:{session_id}"


async def forget(session: WriteSession, session_id: UUID) -> None:
    """Drops a session's checkpoints: a new turn begins with all of its state and needs nothing of the last one's."""
    for table in TABLES:
        await session.execute(text(f"delete from {table} where session_id = :id"), {"id": session_id})  # noqa: S608
