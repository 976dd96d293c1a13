"""Chunks that describe a table are of a kind of their own: they are found, but no words of the document."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _allow("text", "table", "table_summary", "code")


def downgrade() -> None:
    op.execute("update chunks set kind = 'table' where kind = 'table_summary'")
    _allow("text", "table", "code")


def _allow(*kinds: str) -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("alter table chunks drop constraint ck_chunks_kind")
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    op.execute(f"alter table chunks add constraint ck_chunks_kind check (kind in ({listed}))")
