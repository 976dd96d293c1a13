"""The sweeper removes the idempotency keys of all tenants whose time is over, and finds them by their age."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("create index ix_idempotency_keys_created_at on idempotency_keys (created_at)")
    op.execute("create policy system_access on idempotency_keys to biggraph_system using (true) with check (true)")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("drop policy system_access on idempotency_keys")
    op.execute("drop index ix_idempotency_keys_created_at")
