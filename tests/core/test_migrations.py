"""The migrations make exactly the tables that the models describe, and can be taken back."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Engine, PrimaryKeyConstraint, Table, UniqueConstraint, create_engine, text

import migrations
from app.adapters.embedded.postgres import DatabaseUrls, EmbeddedPostgres
from app.core.schema import SchemaError, migrate
from app.models.base import Base

pytestmark = pytest.mark.filterwarnings("ignore:Can't validate argument 'dialect_options'")  # alembic's own doing
OF_LIBRARIES = ("alembic_version", "checkpoint")
"""LangGraph's checkpointer describes its tables itself."""


@pytest.fixture(scope="module")
async def postgres() -> AsyncIterator[EmbeddedPostgres]:
    with tempfile.TemporaryDirectory(prefix="bg-") as folder:
        started = EmbeddedPostgres(Path(folder) / "postgres")
        await started.start()
        try:
            yield started
        finally:
            await started.stop()


@pytest.fixture(scope="module")
async def urls(postgres: EmbeddedPostgres) -> DatabaseUrls:
    found = await postgres.database("migrations")
    await migrate(found.owner, found.application)
    return found


def is_ours(_: object, name: str | None, kind: str, *__: object) -> bool:
    return kind != "table" or not (name or "").startswith(OF_LIBRARIES)


def engine_of(url: str) -> Engine:
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))


def alembic(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["url"] = url
    return config


def differences(owner_url: str) -> list[Any]:
    engine = engine_of(owner_url)
    try:
        with engine.connect() as connection:
            options = {"include_object": is_ours, "compare_type": True}
            return list(compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata))
    finally:
        engine.dispose()


async def test_the_tables_are_those_of_the_models(urls: DatabaseUrls) -> None:
    assert await asyncio.to_thread(differences, urls.owner) == []


@pytest.mark.parametrize(
    "table", [table for table in Base.metadata.sorted_tables if "tenant_id" in table.columns], ids=str
)
def test_every_table_of_tenants_has_an_index_that_begins_with_the_tenant(table: Table) -> None:
    keys = [index.columns.keys() for index in table.indexes if not index.dialect_kwargs.get("postgresql_where")]
    keys += [
        key.columns.keys() for key in table.constraints if isinstance(key, PrimaryKeyConstraint | UniqueConstraint)
    ]
    of_tenant = [key for key in keys if key[0] == "tenant_id"]
    assert of_tenant
    assert len(of_tenant) == 1 or ["tenant_id"] not in of_tenant, "an index on the tenant alone says nothing more"


async def test_an_owner_that_may_not_make_roles_is_told_how_without_the_password(urls: DatabaseUrls) -> None:
    no_owner, another = urls.application, urls.application.replace("postgresql://", "postgresql://another:hunter2@", 1)
    another = another.replace("hunter2@" + urlsplit(no_owner).netloc, "hunter2@")
    with pytest.raises(SchemaError) as raised:
        await migrate(no_owner, another)
    assert """create role "another" noinherit login password '…';""" in raised.value.detail
    assert "hunter2" not in raised.value.detail


async def test_they_can_be_taken_back_and_made_again(urls: DatabaseUrls) -> None:
    await asyncio.to_thread(command.downgrade, alembic(urls.owner), "base")
    await migrate(urls.owner, urls.application)
    assert await asyncio.to_thread(differences, urls.owner) == []


async def found_after(
    url: str, before: str, statements: Sequence[str], after: str, query: str
) -> list[tuple[Any, ...]]:
    """What a query finds of rows that were there before a migration. They stand alone: the tables of chunks lose their
    foreign keys to what owns them, and the owner of the tables may write and read them."""
    await asyncio.to_thread(command.upgrade, alembic(url), before)
    engine = engine_of(url)
    try:
        with engine.begin() as connection:
            for table in ("chunks", "chunk_edits"):
                keys = f"drop constraint fk_{table}_generations, drop constraint fk_{table}_tenants"
                connection.execute(text(f"alter table {table} {keys}, no force row level security"))
            for statement in statements:
                connection.execute(text(statement))
            for table in ("chunks", "chunk_edits"):
                connection.execute(text(f"alter table {table} force row level security"))
        await asyncio.to_thread(command.upgrade, alembic(url), after)
        with engine.begin() as connection:
            connection.execute(text("alter table chunks no force row level security"))
            return [tuple(row) for row in connection.execute(text(query))]
    finally:
        engine.dispose()


async def test_chunks_that_are_there_keep_the_pages_and_the_box_that_are_known_of_them(
    postgres: EmbeddedPostgres,
) -> None:
    urls = await postgres.database("chunks_before")
    statements = [
        """
        insert into chunks (id, tenant_id, knowledge_base_id, document_id, generation, ordinal, kind, text,
            heading_path, section, page, page_starts, bbox, start_offset, end_offset, token_count, text_hash)
        select id, id, id, id, 1, 0, 'text', 'words', '{}', 0, 3, '[[40, 4]]', '{"left": 1}', 0, 80, 9, ''
        from gen_random_uuid() as id
        """,
    ]
    found = await found_after(urls.owner, "0010", statements, "0011", "select provenance from chunks")
    assert found == [([{"start": 0, "page": 3, "bbox": {"left": 1}}, {"start": 40, "page": 4, "bbox": None}],)]


async def test_the_original_of_a_chunk_that_was_edited_before_is_known_from_its_history(
    postgres: EmbeddedPostgres,
) -> None:
    urls = await postgres.database("edits_before")
    statements = [
        """
        insert into chunks (id, tenant_id, knowledge_base_id, document_id, generation, ordinal, kind, text,
            heading_path, section, start_offset, end_offset, token_count, text_hash, edited_at)
        select id, id, id, id, 1, 0, 'text', text, '{}', 0, 0, 80, 9, '', edited_at
        from (values (gen_random_uuid(), 'third', now()), (gen_random_uuid(), 'plain', null))
            as made (id, text, edited_at)
        """,
        """
        insert into chunk_edits (id, tenant_id, document_id, generation, chunk_id, text_before, text_after,
            enabled, edited_by)
        select lpad(number, 32, '0')::uuid, id, id, 1, id, before, after, found, id
        from chunks, (values ('1', null, null, false), ('2', 'first', 'second', null),
            ('3', 'second', 'third', null)) as edits (number, before, after, found)
        where text = 'third'
        """,
    ]
    query = "select text, original_text from chunks order by text"
    found = await found_after(urls.owner, "0012", statements, "0013", query)
    assert found == [("plain", None), ("third", "first")]
