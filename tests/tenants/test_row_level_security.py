"""Postgres itself keeps tenants apart: the catalog is walked, and raw SQL in a scoped session tried."""

from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, ProgrammingError

from app.core.database import SYSTEM_ROLE, Database
from app.core.schema import SYSTEM_TABLES
from app.core.scope import Role, TenantScope
from app.ports.parts import Parts
from tests.conftest import Person

WITHOUT_TENANT = {"alembic_version"}
"""Tables that hold nothing of any tenant. A new table is in here, or has a tenant and policies."""

TABLES = """
select c.oid::regclass::text as name, c.relrowsecurity as enabled, c.relforcerowsecurity as forced,
       exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and a.attnum > 0
               and not a.attisdropped) as of_tenant
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and n.nspname !~ '^(pg_|information_schema$)'
order by 1
"""
POLICIES = """
select tablename as table, policyname as name, permissive, roles::text[] as roles, cmd, qual, with_check
from pg_policies where schemaname !~ '^(pg_|information_schema$)'
"""


@dataclass(frozen=True)
class Policy:
    table: str
    name: str
    permissive: str
    roles: list[str]
    cmd: str
    qual: str | None
    with_check: str | None


@pytest.fixture(scope="module")
async def policies(parts: Parts) -> list[Policy]:
    async with parts.database.engine.connect() as connection:
        return [Policy(**row) for row in (await connection.execute(text(POLICIES))).mappings()]


@pytest.fixture(scope="module")
async def tenant_tables(parts: Parts) -> list[str]:
    async with parts.database.engine.connect() as connection:
        rows = (await connection.execute(text(TABLES))).all()
    return [row.name for row in rows if row.of_tenant]


def scope_of(person: Person) -> TenantScope:
    return TenantScope(UUID(person.tenant_id), UUID(person.user_id), Role.OWNER)


async def run(parts: Parts, person: Person, *statements: str, **values: object) -> None:
    """Raw SQL in one writing transaction of the person's tenant."""
    async with parts.database.write(scope_of(person)) as session:
        for statement in statements:
            used = {name: value for name, value in values.items() if f":{name}" in statement}
            await session.execute(text(statement), used)


KNOWLEDGE_BASE = """
insert into knowledge_bases (id, tenant_id, name, description, settings)
values (:id, :tenant, gen_random_uuid(), '', '{}')
"""


async def test_every_table_is_enabled_and_forced(parts: Parts) -> None:
    async with parts.database.engine.connect() as connection:
        rows = (await connection.execute(text(TABLES))).all()
    assert {"tenants", "users", "memberships", "documents", "chunks"} <= {row.name for row in rows}
    loose = [row.name for row in rows if row.name not in WITHOUT_TENANT and not (row.enabled and row.forced)]
    assert loose == []
    nobodys = {row.name for row in rows if not row.of_tenant}
    assert nobodys == WITHOUT_TENANT | {"tenants", "users"}


async def test_every_table_is_confined_in_reading_and_writing(policies: list[Policy], tenant_tables: list[str]) -> None:
    for table in [*tenant_tables, "tenants", "users"]:
        for_everybody = [policy for policy in policies if policy.table == table and policy.roles == ["public"]]
        assert [policy.name for policy in for_everybody] == ["tenant_isolation"], table
        policy = for_everybody[0]
        assert (policy.permissive, policy.cmd) == ("PERMISSIVE", "ALL")
        assert policy.qual, table
        assert policy.qual == policy.with_check, table
        confining = "memberships" if table == "users" else "current_setting('app.tenant_id'::text, true)"
        assert confining in policy.qual, table


async def test_only_the_system_role_is_let_past_and_only_where_it_must(policies: list[Policy]) -> None:
    others = [policy for policy in policies if policy.name != "tenant_isolation"]
    assert {policy.table for policy in others} == set(SYSTEM_TABLES)
    assert all(policy.roles == [SYSTEM_ROLE] for policy in others)


async def test_the_roles_have_no_power_of_their_own(parts: Parts) -> None:
    query = text(
        "select rolname, rolsuper, rolbypassrls, rolinherit, rolcreaterole, rolcreatedb, rolreplication, rolcanlogin "
        "from pg_roles where rolname in (current_user, :system)"
    )
    owned = text(
        "select (select count(*) from pg_class where relowner = r.oid)"
        " + (select count(*) from pg_proc where proowner = r.oid)"
        " + (select count(*) from pg_namespace where nspowner = r.oid)"
        " + (select count(*) from pg_database where datdba = r.oid) from pg_roles r where rolname = :role"
    )
    memberships = text(
        "select g.rolname from pg_auth_members m join pg_roles g on g.oid = m.roleid "
        "join pg_roles r on r.oid = m.member where r.rolname = :role"
    )
    async with parts.database.engine.connect() as connection:
        user = await connection.scalar(text("select current_user"))
        roles = {row.rolname: row for row in await connection.execute(query, {"system": SYSTEM_ROLE})}
        assert set(roles) == {user, SYSTEM_ROLE}
        for name, row in roles.items():
            assert not any(row[1:7]), f"{name}: {row}"
            assert await connection.scalar(owned, {"role": name}) == 0, name
        assert not roles[SYSTEM_ROLE].rolcanlogin
        assert (await connection.scalars(memberships, {"role": user})).all() == [SYSTEM_ROLE]
        assert (await connection.scalars(memberships, {"role": SYSTEM_ROLE})).all() == []


async def test_a_session_without_a_tenant_sees_and_adds_nothing(
    parts: Parts, owner: Person, tenant_tables: list[str]
) -> None:
    async with parts.database.engine.connect() as connection:
        for table in [*tenant_tables, "tenants", "users"]:
            assert await connection.scalar(text(f"select count(*) from {table}")) == 0, table  # noqa: S608
        with pytest.raises(ProgrammingError, match="row-level security"):
            await connection.execute(text("insert into tenants (id, name) values (:id, 'x')"), {"id": owner.tenant_id})


async def test_what_a_transaction_may_do_ends_with_it(parts: Parts, owner: Person) -> None:
    """The pool hands the same connection to other tenants."""
    settings = text(
        "select pg_backend_pid(), current_setting('app.tenant_id', true), current_user = session_user, "
        "current_setting('transaction_read_only')"
    )
    database = Database(parts.settings.sqlalchemy_url(parts.database_url), pool_size=1)
    async with database.read(scope_of(owner)) as session:
        pid = await session.scalar(text("select pg_backend_pid()"))
    async with database.system() as session:
        assert await session.scalar(text("select current_user")) == SYSTEM_ROLE
    async with database.engine.connect() as connection:
        found = (await connection.execute(settings)).one()
    await database.close()
    assert tuple(found) in {(pid, None, True, "off"), (pid, "", True, "off")}


@pytest.fixture(scope="module")
async def knowledge_base(parts: Parts, stranger: Person) -> UUID:
    """A row of another tenant, beside its person, membership and login."""
    kb_id = uuid4()
    await run(parts, stranger, KNOWLEDGE_BASE, id=kb_id, tenant=stranger.tenant_id)
    return kb_id


@pytest.mark.usefixtures("knowledge_base")
async def test_raw_sql_reads_changes_and_deletes_nothing_of_others(
    parts: Parts, owner: Person, stranger: Person, tenant_tables: list[str]
) -> None:
    other = {"other": stranger.tenant_id}
    async with parts.database.write(scope_of(stranger)) as session:
        theirs = {
            table: await session.scalar(text(f"select count(*) from {table}"))  # noqa: S608
            for table in tenant_tables
        }
    assert min(theirs["knowledge_bases"], theirs["memberships"]) >= 1, "there is nothing to be seen by others"
    async with parts.database.write(scope_of(owner)) as session:
        for table in tenant_tables:
            for statement in (
                f"select 1 from {table} where tenant_id = :other",  # noqa: S608
                f"update {table} set tenant_id = default where tenant_id = :other returning 1",  # noqa: S608
                f"delete from {table} where tenant_id = :other returning 1",  # noqa: S608
            ):
                assert (await session.execute(text(statement), other)).all() == [], statement
            seen = await session.scalars(text(f"select distinct tenant_id from {table}"))  # noqa: S608
            assert set(seen) <= {UUID(owner.tenant_id)}, table
        people = (await session.scalars(text("select id from users"))).all()
        assert UUID(owner.user_id) in people
        assert UUID(stranger.user_id) not in people
        assert (await session.scalars(text("select id from tenants"))).all() == [UUID(owner.tenant_id)]
    async with parts.database.write(scope_of(stranger)) as session:
        for table, count in theirs.items():
            assert await session.scalar(text(f"select count(*) from {table}")) == count, table  # noqa: S608


@pytest.mark.parametrize(
    "statement",
    [
        KNOWLEDGE_BASE,
        "update knowledge_bases set tenant_id = :other where tenant_id = :own",
        "insert into memberships (tenant_id, user_id, role) values (:other, :user, 'owner')",
        "update memberships set tenant_id = :other where tenant_id = :own",
        "insert into tenants (id, name) values (:id, 'z')",
        "insert into users (id, email, password_hash) values (:id, 'z@example.com', '')",
    ],
)
async def test_raw_sql_puts_nothing_into_other_tenants(
    parts: Parts, owner: Person, stranger: Person, statement: str
) -> None:
    await run(parts, owner, KNOWLEDGE_BASE, id=uuid4(), tenant=owner.tenant_id)
    with pytest.raises(ProgrammingError, match="row-level security"):
        await run(
            parts,
            owner,
            statement,
            id=uuid4(),
            tenant=stranger.tenant_id,
            own=owner.tenant_id,
            other=stranger.tenant_id,
            user=owner.user_id,
        )


async def test_a_foreign_key_does_not_reach_into_other_tenants(
    parts: Parts, owner: Person, knowledge_base: UUID
) -> None:
    """Checks of foreign keys ignore row-level security, so the keys hold the tenant."""
    with pytest.raises(DBAPIError, match="violates foreign key constraint"):
        async with parts.database.write(scope_of(owner)) as session:
            await session.execute(
                text(
                    "insert into documents (id, tenant_id, knowledge_base_id, name, size_bytes, sha256, metadata, tags,"
                    " status, latest_generation, chunk_count) "
                    "values (:id, :own, :kb, 'x', 0, '', '{}', '{}', 'queued', 1, 0)"
                ),
                {"id": uuid4(), "own": owner.tenant_id, "kb": knowledge_base},
            )


async def test_a_reading_session_does_not_write(parts: Parts, owner: Person) -> None:
    with pytest.raises(DBAPIError, match="read-only transaction"):
        async with parts.database.read(scope_of(owner)) as session:
            await session.execute(text("update tenants set name = 'x'"))


async def test_another_tenant_may_not_hide_behind_an_empty_or_odd_setting(parts: Parts, owner: Person) -> None:
    async with parts.database.write(scope_of(owner)) as session:
        await session.execute(text("select set_config('app.tenant_id', '', true)"))
        assert await session.scalar(text("select count(*) from memberships")) == 0
    odd = "select set_config('app.tenant_id', '%', true)"
    with pytest.raises(DBAPIError, match="invalid input syntax for type uuid"):
        await run(parts, owner, odd, "select count(*) from memberships")
