"""Workers ask whose turn it is: an index of what waits, by tenant."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("create index ix_operations_waiting on operations (tenant_id, due_at) where state = 'queued'")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("drop index ix_operations_waiting")
