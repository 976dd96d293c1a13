"""Operations of a tenant take turns by when they were asked for and how long they will take.

Those that are there get one time, and so keep the order of their ids.
"""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("alter table operations add column turn_at timestamptz not null default now()")
    op.execute("drop index ix_operations_waiting")
    op.execute("create index ix_operations_waiting on operations (tenant_id, turn_at, id) where state = 'queued'")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("drop index ix_operations_waiting")
    op.execute("create index ix_operations_waiting on operations (tenant_id, due_at) where state = 'queued'")
    op.execute("alter table operations drop column turn_at")
