"""The migrations make exactly the tables that the models describe, and can be taken back."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import PrimaryKeyConstraint, Table, UniqueConstraint, create_engine

import migrations
from app.adapters.embedded.postgres import DatabaseUrls, EmbeddedPostgres
from app.core.schema import migrate
from app.models.base import Base

pytestmark = pytest.mark.filterwarnings("ignore:Can't validate argument 'dialect_options'")  # alembic's own doing
OF_LIBRARIES = ("alembic_version", "checkpoint")
"""LangGraph's checkpointer describes its tables itself."""


@pytest.fixture(scope="module")
async def urls() -> AsyncIterator[DatabaseUrls]:
    with tempfile.TemporaryDirectory(prefix="bg-") as folder:
        postgres = EmbeddedPostgres(Path(folder) / "postgres")
        await postgres.start()
        try:
            found = await postgres.database("migrations")
            await migrate(found.owner, found.application)
            yield found
        finally:
            await postgres.stop()


def is_ours(_: object, name: str | None, kind: str, *__: object) -> bool:
    return kind != "table" or not (name or "").startswith(OF_LIBRARIES)


def differences(owner_url: str) -> list[Any]:
    engine = create_engine(owner_url.replace("postgresql://", "postgresql+psycopg://", 1))
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


async def test_they_can_be_taken_back_and_made_again(urls: DatabaseUrls) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["url"] = urls.owner
    await asyncio.to_thread(command.downgrade, config, "base")
    await migrate(urls.owner, urls.application)
    assert await asyncio.to_thread(differences, urls.owner) == []
