"""Checkpoints of the answering graph, one answer at a time in a session, and how an answer came about.

The checkpoint tables are those of langgraph-checkpoint-postgres (`BasePostgresSaver.MIGRATIONS`, up to its number 9),
made here because the application's role may not make tables. Their `thread_id` is `<tenant id>:<session id>`; the two
columns generated from it confine rows to the tenant and remove them together with the session.
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TENANT = "(select nullif(current_setting('app.tenant_id', true), '')::uuid)"
OWNED = """
    tenant_id uuid not null generated always as (split_part(thread_id, ':', 1)::uuid) stored,
    session_id uuid not null generated always as (split_part(thread_id, ':', 2)::uuid) stored,
    constraint fk_{table}_chat_sessions foreign key (tenant_id, session_id)
        references chat_sessions (tenant_id, id) on delete cascade
"""
CHECKPOINT_TABLES = {
    "checkpoints": """
        thread_id text not null,
        checkpoint_ns text not null default '',
        checkpoint_id text not null,
        parent_checkpoint_id text,
        type text,
        checkpoint jsonb not null,
        metadata jsonb not null default '{}',
        constraint pk_checkpoints primary key (thread_id, checkpoint_ns, checkpoint_id)
    """,
    "checkpoint_blobs": """
        thread_id text not null,
        checkpoint_ns text not null default '',
        channel text not null,
        version text not null,
        type text not null,
        blob bytea,
        constraint pk_checkpoint_blobs primary key (thread_id, checkpoint_ns, channel, version)
    """,
    "checkpoint_writes": """
        thread_id text not null,
        checkpoint_ns text not null default '',
        checkpoint_id text not null,
        task_id text not null,
        idx integer not null,
        channel text not null,
        type text,
        blob bytea not null,
        task_path text not null default '',
        constraint pk_checkpoint_writes primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
    """,
}


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for table, columns in CHECKPOINT_TABLES.items():
        op.execute(f"create table {table} ({columns}, {OWNED.format(table=table)})")
        op.execute(f"create index ix_{table}_session on {table} (tenant_id, session_id)")
        op.execute(f"alter table {table} enable row level security")
        op.execute(f"alter table {table} force row level security")
        condition = f"tenant_id = {TENANT}"
        op.execute(f"create policy tenant_isolation on {table} using ({condition}) with check ({condition})")

    op.execute("drop index ix_chat_sessions_list")
    op.execute(
        "alter table chat_sessions drop column deleted_at, add column revision integer not null default 0, "
        "add column answering uuid, add column answering_until timestamptz"
    )
    op.execute("create index ix_chat_sessions_list on chat_sessions (tenant_id, user_id, id)")
    op.execute(
        "alter table messages add column status varchar(32) not null default 'complete' "
        "constraint ck_messages_status check (status in ('complete', 'interrupted', 'failed')), "
        "add column kind varchar(32) "
        "constraint ck_messages_kind check (kind in ('generated', 'extractive', 'not_found')), "
        "add column notice varchar"
    )


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("alter table messages drop column status, drop column kind, drop column notice")
    op.execute("drop index ix_chat_sessions_list")
    op.execute(
        "alter table chat_sessions drop column revision, drop column answering, drop column answering_until, "
        "add column deleted_at timestamptz"
    )
    op.execute("create index ix_chat_sessions_list on chat_sessions (tenant_id, user_id, id) where deleted_at is null")
    for table in CHECKPOINT_TABLES:
        op.execute(f"drop table {table}")
