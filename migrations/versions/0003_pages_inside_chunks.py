"""Where pages begin inside a chunk, so that a citation names the page on which its words stand."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("alter table chunks add column page_starts jsonb not null default '[]'")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("alter table chunks drop column page_starts")
