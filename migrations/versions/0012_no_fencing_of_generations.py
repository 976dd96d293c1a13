"""Generations without a fencing number of their own, which nothing has ever written.

A generation has one ingestion, and whatever that commits, the switch to the generation included, is refused by the
operation's row where its lease was lost.
"""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("alter table generations drop column fencing")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("alter table generations add column fencing bigint not null default 0")
