"""Page and box of every part of a chunk instead of the pages alone, so that a citation leads to where its words stand.

Chunks that are there get what is known of them: the box of their first page. Edited ones get none, as before.
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("alter table chunks no force row level security")  # else an owner that is no superuser changes nothing
    op.execute("alter table chunks add column provenance jsonb not null default '[]'")
    op.execute(
        """
        update chunks set provenance =
            jsonb_build_array(jsonb_build_object('start', 0, 'page', page, 'bbox', bbox)) || coalesce(
                (select jsonb_agg(
                     jsonb_build_object('start', turn -> 0, 'page', turn -> 1, 'bbox', null) order by number)
                 from jsonb_array_elements(page_starts) with ordinality as turns (turn, number)),
                '[]')
        where page is not null and edited_at is null
        """
    )
    op.execute("alter table chunks drop column page_starts")
    op.execute("alter table chunks force row level security")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("alter table chunks no force row level security")
    op.execute("alter table chunks add column page_starts jsonb not null default '[]'")
    op.execute(
        """
        update chunks set page_starts = coalesce(
            (select jsonb_agg(jsonb_build_array(part -> 'start', part -> 'page') order by number)
             from jsonb_array_elements(provenance) with ordinality as parts (part, number)),
            '[]')
        """
    )
    op.execute("alter table chunks drop column provenance")
    op.execute("alter table chunks force row level security")
