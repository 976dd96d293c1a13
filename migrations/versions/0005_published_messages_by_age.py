"""Every sweep removes messages that were published long ago: without an index it reads all of a day's."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("create index ix_outbox_published on outbox (published_at) where state = 'published'")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("drop index ix_outbox_published")
