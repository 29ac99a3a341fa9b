"""Backups: whole copies of a store, of whatever kind."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from deniable.key_files import create_private, synchronise
from deniable.stores.rules.copying import Part
from deniable.stores.sqlite import SqliteStore
from deniable.stores.sqlite.database import VERSION, SqliteDatabase, faults, read_only, version
from deniable.stores.sqlite.sqlite_store import read_rows
from deniable.stores.store import Store
from deniable.stores.values import StoreError


async def back_up(store: Store | Path, file: Path) -> None:
    """Write a whole store, as of one moment, into a new file, while others use the store.

    The file appears once it is complete and checked; only its owner can read it. The copy of a
    SQLite store has the store's schema. If that is older, a migration is also tried.

    Raises:
        StoreError: if the store cannot be read, or the copy is corrupt.
        OSError: if the file cannot be written, or already exists.
    """
    if not file.parent.is_dir():
        raise NotADirectoryError(f"{file.parent} is not a directory; create it first")
    with (
        _reserved(file),
        TemporaryDirectory(prefix=".deniable-backup-", dir=file.parent) as folder,
    ):
        place = Path(folder)
        copy = place / "store.sqlite"
        source = store.path if isinstance(store, SqliteStore) else store
        if isinstance(source, Path):
            await asyncio.to_thread(_copy_file, source, copy)
        else:
            with_rows = await SqliteStore.open(copy)
            try:
                await with_rows.fill(source.rows())
            finally:
                await with_rows.close()
        current = await asyncio.to_thread(_current, copy, place)
        await _check(current, "the store is not in order; run deniable store check for details")
        copy.chmod(0o600)
        await asyncio.to_thread(synchronise, copy)
        copy.replace(file)
        await asyncio.to_thread(synchronise, file.parent)


async def restore(store: Store, file: Path) -> None:
    """Fill an empty store from a backup of this version or an older one, completely or not at all.

    Raises:
        StoreError: if the backup is corrupt, or the store is not empty or cannot be written.
        OSError: if the backup cannot be read.
    """
    if file.with_name(f"{file.name}-wal").exists():
        raise StoreError(f"{file} is a store that is in use, not a backup")
    beside = store.path.parent if isinstance(store, SqliteStore) else None
    with TemporaryDirectory(prefix=".deniable-restore-", dir=beside) as place:
        current = await asyncio.to_thread(_current, file, Path(place))
        await _check(current, f"{file} is not in order")
        await store.fill(_rows(current))


def _current(file: Path, place: Path) -> Path:
    with read_only(file, at_rest=True) as connection:
        stored_version = version(connection)
    if stored_version == 0:
        raise StoreError(f"{file} contains no survey")
    if stored_version == VERSION:
        return file
    copy = place / "migrated.sqlite"
    shutil.copyfile(file, copy)
    try:
        with closing(SqliteDatabase(copy)):
            return copy
    except StoreError as error:
        raise StoreError(f"{file} cannot be migrated to this version: {error}") from error


def _copy_file(source: Path, file: Path) -> None:
    with read_only(source) as connection:
        version(connection)
        # Without the remains of deleted rows, and with pages in the order of their keys.
        connection.execute("VACUUM INTO ?", (str(file),))


async def _rows(file: Path) -> AsyncIterator[Part]:
    with read_only(file, at_rest=True) as connection:
        parts = read_rows(connection)
        first = await asyncio.to_thread(next, parts, None)
        if first is None or first.table != "surveys":
            raise StoreError(f"{file} contains no survey")
        yield first
        while (part := await asyncio.to_thread(next, parts, None)) is not None:
            yield part


async def _check(file: Path, otherwise: str) -> None:
    if lines := await asyncio.to_thread(faults, file, at_rest=True):
        raise StoreError(f"{otherwise}: {lines[0]}")


@contextmanager
def _reserved(file: Path) -> Iterator[None]:
    """Reserve an unused file name; release it unless the file was created."""
    create_private(file, b"")
    try:
        yield
    except BaseException:
        file.unlink(missing_ok=True)
        raise
