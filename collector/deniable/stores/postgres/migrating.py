"""Bringing a database's schema to this version."""

from importlib.resources import files
from typing import Final

from deniable.stores.errors import UnknownSchema
from deniable.stores.postgres.connections import Connection
from deniable.stores.postgres.driver import LONG_SECONDS
from deniable.stores.statements import LOCK, MIGRATION

_MIGRATIONS: Final = (
    "0001_initial.sql",
    "0002_growth.sql",
    "0003_sharing.sql",
    "0004_notes.sql",
    "0005_log.sql",
)

VERSION: Final = len(_MIGRATIONS)
"""The version of the schema that this version of deniable reads and writes."""


async def version(connection: Connection) -> int:
    """Return the version of the schema, 0 if there is none; UnknownSchema if it is none of ours."""
    # Asked of the tables: to_regnamespace would not see what another process made while this one
    # waited for the lock.
    if not await connection.fetchval(
        "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'deniable')"
    ):
        return 0
    if not await connection.fetchval(
        "SELECT EXISTS (SELECT FROM pg_tables"
        " WHERE schemaname = 'deniable' AND tablename = 'schema_version')"
    ):
        raise UnknownSchema("the schema `deniable` of the database was not made by deniable")
    stored_version = int(
        await connection.fetchval("SELECT max(version) FROM deniable.schema_version") or 0
    )
    if stored_version > VERSION:
        raise UnknownSchema("the store was written by a newer version of deniable; upgrade")
    return stored_version


async def migrate(connection: Connection) -> int:
    """Bring the schema to VERSION, within a transaction; return which version it had.

    Any number of processes may do so at once.
    """
    await connection.execute(LOCK, *MIGRATION)
    stored_version = await version(connection)
    await connection.execute(f"SET LOCAL statement_timeout = '{LONG_SECONDS}s'")
    for number, name in enumerate(_MIGRATIONS[stored_version:], start=stored_version + 1):
        script = files("deniable.stores.postgres").joinpath("migrations", name).read_text("utf-8")
        await connection.execute(script, timeout=LONG_SECONDS)
        await connection.execute("INSERT INTO deniable.schema_version VALUES ($1)", number)
    return stored_version
