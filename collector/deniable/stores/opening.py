"""The opening of a store by its place: a SQLite file, or a PostgreSQL database's address."""

import asyncio
from contextlib import closing
from pathlib import Path

from deniable.stores.sqlite import SqliteStore
from deniable.stores.sqlite.database import VERSION, SqliteDatabase
from deniable.stores.store import Store


def is_postgresql(target: Path | str) -> bool:
    """Return whether a target is the address of a PostgreSQL database rather than a file's path."""
    return isinstance(target, str) and target.startswith(("postgresql://", "postgres://"))


async def open_store(
    target: Path | str,
    *,
    create: bool = False,
    migrate: bool = False,
    most_connections: int = 4,
    patience: float | None = None,
) -> Store:
    """Open a store.

    Args:
        target: ``postgresql://…``, or the path of a SQLite file.
        create: create the store if it does not exist; a SQLite file of an older schema is migrated.
        migrate: bring a SQLite file to this version. (A PostgreSQL database may have other
            collectors: only :func:`migrate_store` migrates it.)
        most_connections: the limit for a PostgreSQL database.
        patience: seconds for which work is retried while other processes, or an unavailable server,
            prevent it; the default is that of a serving collector.

    Raises:
        UnknownSchema: if a different version of deniable wrote the store.
    """
    patient = {} if patience is None else {"patience": patience}
    if is_postgresql(target):
        from deniable.stores.postgres import PostgresStore

        return await PostgresStore.open(
            str(target), create=create, most_connections=most_connections, **patient
        )
    return await SqliteStore.open(Path(target), migrate=create or migrate, **patient)


async def migrate_store(target: Path | str) -> tuple[int, int]:
    """Migrate a store's schema to this version; return the version before (0: none) and after.

    Raises:
        UnknownSchema: if a newer version of deniable wrote the store.
    """
    if is_postgresql(target):
        from deniable.stores.postgres import PostgresStore

        return await PostgresStore.migrate(str(target))
    with closing(await asyncio.to_thread(SqliteDatabase, Path(target))) as database:
        return database.found_version, VERSION
