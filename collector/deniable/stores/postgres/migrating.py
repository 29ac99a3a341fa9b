"""Bringing a database's schema to this version."""

from importlib.resources import files
from typing import Final

from deniable.stores.errors import UnknownSchema
from deniable.stores.postgres.connections import Connection
from deniable.stores.postgres.driver import LONG_SECONDS
from deniable.stores.statements import LOCK, MIGRATION, MOVE

_MIGRATIONS: Final = tuple(
    files("deniable.stores.postgres").joinpath("migrations", name).read_text("utf-8")
    for name in ("0001_initial.sql",)
)
VERSION: Final = len(_MIGRATIONS)
"""The version of the schema that this version of deniable reads and writes."""
_MARK: Final = "A store of deniable 0.1.0 or newer"
"""The comment on the schema: what was written before 0.1.0 has none."""


async def version(connection: Connection) -> int:
    """Return the version of the schema, 0 if there is none; UnknownSchema if it is none of ours."""
    # Asked of the tables: to_regnamespace would not see what another process made while this one
    # waited for the lock.
    schema = await connection.fetchrow(
        "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'deniable'"
    )
    if schema is None:
        return 0
    if schema[0] != _MARK:
        raise UnknownSchema(
            "the schema `deniable` of the database is another program's, or from before deniable"
            " 0.1.0, and nothing from then is migrated; name another database"
        )
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
    if stored_version < VERSION:
        # Once all that is being written is committed; what comes later reads the new version.
        await connection.execute(LOCK, *MOVE)
    await connection.execute(f"SET LOCAL statement_timeout = '{LONG_SECONDS}s'")
    for number, script in enumerate(_MIGRATIONS[stored_version:], start=stored_version + 1):
        await connection.execute(script, timeout=LONG_SECONDS)
        await connection.execute("INSERT INTO deniable.schema_version VALUES ($1)", number)
    return stored_version
