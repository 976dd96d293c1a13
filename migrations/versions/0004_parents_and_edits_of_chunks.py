"""Parents of chunks, which are read but not searched, and texts that people have changed, with their history."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TENANT = "(select nullif(current_setting('app.tenant_id', true), '')::uuid)"


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    # Constants as defaults: no row is rewritten.
    op.execute(
        "alter table chunks "
        "add column level smallint not null default 0, "
        "add column parent_id uuid, "
        "add column child_count integer not null default 0, "
        "add column always_read boolean not null default false, "
        "add column outdated boolean not null default false, "
        "add column pending_text varchar, "
        "add column edited_at timestamptz, "
        "add column edited_by uuid, "
        "add constraint ck_chunks_level check (level >= 0) not valid"  # holds by the default: no scan under the lock
    )
    op.execute("create index ix_chunks_edited on chunks (document_id) where edited_at is not null")
    op.execute(
        """
        create table chunk_edits (
            id uuid not null,
            tenant_id uuid not null,
            document_id uuid not null,
            generation integer not null,
            chunk_id uuid not null,
            text_before varchar,
            text_after varchar,
            enabled boolean,
            edited_by uuid not null,
            edited_at timestamptz not null default now(),
            constraint pk_chunk_edits primary key (id),
            constraint fk_chunk_edits_tenants foreign key (tenant_id) references tenants (id) on delete cascade,
            constraint fk_chunk_edits_generations foreign key (tenant_id, document_id, generation)
                references generations (tenant_id, document_id, generation) on delete cascade,
            constraint ck_chunk_edits_something check (text_after is not null or enabled is not null)
        )
        """
    )
    op.execute("create index ix_chunk_edits_tenant_id on chunk_edits (tenant_id)")
    op.execute("create index ix_chunk_edits_chunk on chunk_edits (chunk_id, id)")
    op.execute("create index ix_chunk_edits_generation on chunk_edits (tenant_id, document_id, generation)")
    op.execute("alter table chunk_edits enable row level security")
    op.execute("alter table chunk_edits force row level security")
    condition = f"tenant_id = {TENANT}"
    op.execute(f"create policy tenant_isolation on chunk_edits using ({condition}) with check ({condition})")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("drop table chunk_edits")
    op.execute("delete from chunks where level > 0")
    op.execute(
        "alter table chunks drop column level, drop column parent_id, drop column child_count, "
        "drop column always_read, drop column outdated, drop column pending_text, drop column edited_at, "
        "drop column edited_by"
    )
