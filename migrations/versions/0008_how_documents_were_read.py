"""Generations, and documents for their active one, tell how their file was read: parser, warnings, page modes.

Of what was read before, nothing is told until it is uploaded again.
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for table in ("generations", "documents"):  # a constant as default: no row is rewritten
        op.execute(f"alter table {table} add column reading jsonb not null default '{{}}'")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for table in ("documents", "generations"):
        op.execute(f"alter table {table} drop column reading")
