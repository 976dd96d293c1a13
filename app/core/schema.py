"""Migrations and roles: what the owner of the tables does before the application, which owns nothing, may start."""

import asyncio
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import Connection, text

import migrations
from app.core.database import SYSTEM_ROLE, Database
from app.core.errors import BigGraphError

SYSTEM_TABLES = (
    "tenants",
    "users",
    "memberships",
    "invitations",
    "refresh_tokens",
    "outbox",
    "operations",
    "operation_stages",
    "idempotency_keys",
)
"""What the system role may touch: credentials that name a tenant, and what is swept for all of them."""


class SchemaError(BigGraphError):
    code = "schema_error"
    status = 500


def _alembic(owner_url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["url"] = owner_url
    return config


async def migrate(owner_url: str, application_url: str) -> None:
    """Makes the roles that are missing, brings the tables to the newest revision, grants what the application needs.

    Both addresses are `postgresql://`. May be run while the application runs, and again.
    """
    await asyncio.to_thread(_migrate, owner_url, application_url)


def _migrate(owner_url: str, application_url: str) -> None:
    application = urlsplit(application_url)
    role = unquote(application.username or "")
    if not role or role == urlsplit(owner_url).username:
        raise SchemaError(
            "The application needs a database role of its own, other than the owner of the tables: row-level security "
            "does not hold for an owner. Give DATABASE_URL another user than DATABASE_OWNER_URL."
        )
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(hashtext('biggraph.migrate'))")
        _ensure_roles(connection, role, unquote(application.password or ""))
        command.upgrade(_alembic(owner_url), "head")
        _grant(connection, role)


def _ensure_roles(connection: psycopg.Connection, role: str, password: str) -> None:
    for name, login in ((SYSTEM_ROLE, False), (role, True)):
        if connection.execute("select 1 from pg_roles where rolname = %s", (name,)).fetchone():
            continue
        statement = told = sql.SQL("create role {} noinherit").format(sql.Identifier(name))
        if login:
            statement += sql.SQL(" login password {}").format(sql.Literal(password))
            told += sql.SQL(" login password '…'")  # what is told ends in logs
        try:
            connection.execute(statement)
        except psycopg.errors.DuplicateObject:
            continue  # another database of the same cluster is being migrated at this moment
        except psycopg.errors.InsufficientPrivilege as error:
            raise SchemaError(
                f"The owner may not create the role {name}. Let an administrator run: {told.as_string()};"
            ) from error


def _grant(connection: psycopg.Connection, role: str) -> None:
    app, system = sql.Identifier(role), sql.Identifier(SYSTEM_ROLE)
    not_yet = connection.execute("select where not pg_has_role(%s, %s, 'member')", (role, SYSTEM_ROLE)).fetchone()
    if not_yet is not None:
        connection.execute(sql.SQL("grant {} to {}").format(system, app))
    rights = sql.SQL("grant select, insert, update, delete on {} to {}")
    connection.execute(sql.SQL("grant usage on schema public to {}, {}").format(app, system))
    connection.execute(rights.format(sql.SQL("all tables in schema public"), app))
    connection.execute(sql.SQL("revoke insert, update, delete on alembic_version from {}").format(app))
    connection.execute(rights.format(sql.SQL(", ").join(map(sql.Identifier, SYSTEM_TABLES)), system))
    connection.execute(sql.SQL("grant usage on all sequences in schema public to {}, {}").format(app, system))


async def verify_schema(database: Database) -> None:
    """Refuses to go on with a role that row-level security does not bind, or with tables of another revision."""
    async with database.engine.connect() as connection:
        unbound = await connection.scalar(
            text(
                "select rolsuper or rolbypassrls or exists (select from pg_class c join pg_namespace n on "
                "n.oid = c.relnamespace where n.nspname = 'public' and c.relowner = r.oid) "
                "from pg_roles r where rolname = current_user"
            )
        )
        if unbound:
            raise SchemaError(
                "The database role of DATABASE_URL is a superuser, bypasses row-level security or owns tables. "
                "Tenants would not be kept apart. Use a plain role; `biggraph migrate` makes one."
            )
        current = await connection.run_sync(_current_revision)
    newest = ScriptDirectory.from_config(_alembic("")).get_current_head()
    if current != newest:
        raise SchemaError(
            f"The database is at revision {current or 'none'} and this version needs {newest}. Run `biggraph migrate`."
        )


def _current_revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
