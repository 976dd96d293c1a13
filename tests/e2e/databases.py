"""A database of one's own on a server that tests may use."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
from psycopg import sql


@contextmanager
def own_database(admin_url: str, address: str = "") -> Iterator[tuple[str, str]]:
    """The URLs of a new database, for its owner and for the application's role; dropped afterwards.

    `address` is a host and port to reach it by, where that is not the one of `admin_url`.
    """
    name = f"biggraph_{secrets.token_hex(4)}"
    owner, password = f"{name}_owner", secrets.token_hex(8)
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("create role {} login createrole password {}").format(sql.Identifier(owner), sql.Literal(password))
        )
        connection.execute(sql.SQL("create database {} owner {}").format(sql.Identifier(name), sql.Identifier(owner)))
    where = urlsplit(admin_url)
    address = address or f"{where.hostname}:{where.port or 5432}"
    try:
        yield (
            f"postgresql://{owner}:{password}@{address}/{name}",
            f"postgresql://{name}_app:{password}@{address}/{name}",
        )
    finally:
        with psycopg.connect(admin_url, autocommit=True) as connection:
            connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))
            for role in (f"{name}_app", owner):
                connection.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(role)))
