"""What the file gave a chunk whose text a person has changed: by that a new version finds where the change belongs."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

TABLES = ("chunks", "chunk_edits")


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for table in TABLES:  # else an owner that is no superuser sees and changes nothing
        op.execute(f"alter table {table} no force row level security")
    op.execute("alter table chunks add column original_text varchar")
    op.execute(
        """
        update chunks set original_text = (
            select text_before from chunk_edits
            where chunk_id = chunks.id and text_before is not null order by id limit 1
        )
        where edited_at is not null
        """
    )
    for table in TABLES:
        op.execute(f"alter table {table} force row level security")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("alter table chunks drop column original_text")
