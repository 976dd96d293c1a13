"""Indexes on the tenant alone are gone where another begins with it; those of messages and stages begin with it."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

REDUNDANT = (
    "chat_sessions",
    "chunk_edits",
    "chunks",
    "documents",
    "embeddings",
    "generations",
    "idempotency_keys",
    "knowledge_bases",
    "memberships",
    "messages",
    "operation_stages",
    "operations",
)
WIDENED = (
    ("ix_messages_session", "messages", "session_id"),
    ("ix_operation_stages_operation", "operation_stages", "operation_id"),
)


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for name, table, column in WIDENED:
        op.execute(f"drop index {name}")
        op.execute(f"create index {name} on {table} (tenant_id, {column}, id)")
    for table in REDUNDANT:
        op.execute(f"drop index ix_{table}_tenant_id")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for table in REDUNDANT:
        op.execute(f"create index ix_{table}_tenant_id on {table} (tenant_id)")
    for name, table, column in WIDENED:
        op.execute(f"drop index {name}")
        op.execute(f"create index {name} on {table} ({column}, id)")
