"""Backups: SQLite files of ours, whatever kind of store they come from or go to."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from deniable.stores.copying import CopyableStore
from deniable.stores.sqlite import SqliteStore
from deniable.stores.store import StoreError

__all__ = ["back_up", "restore"]

_OWNER_ONLY: Final = 0o600


async def back_up(store: CopyableStore, file: Path) -> None:
    """Write all of a store, as of one moment, into a new file, while others use the store.

    The file appears when it is whole and was checked; it is readable by its owner alone.

    Args:
        store: what to copy.
        file: where to; never overwritten.

    Raises:
        FileExistsError: if there is something already.
        StoreError: if the store cannot be read, or the copy is not in order.
        OSError: if the file cannot be written, or its directory is not there.
    """
    if not file.parent.is_dir():
        raise NotADirectoryError(f"{file.parent} is no directory; make it first")
    with _reserved(file), tempfile.TemporaryDirectory(dir=file.parent, prefix=".backup-") as place:
        copy = Path(place) / "store.sqlite"
        if isinstance(store, SqliteStore):
            await store.copy_to(copy)
        else:
            await _copy(store, copy)
        await _check(copy, "the store is not in order; deniable store check says more")
        copy.chmod(_OWNER_ONLY)
        await asyncio.to_thread(_synchronise, copy)
        copy.replace(file)
        await asyncio.to_thread(_synchronise, file.parent)


async def restore(store: CopyableStore, file: Path) -> None:
    """Fill an empty store with what a backup holds, all of it or nothing.

    Args:
        store: what to fill.
        file: what :func:`back_up` wrote, by this version of deniable or an older one; only read.

    Raises:
        NotEmpty: if the store holds anything.
        UnknownSchema: if a newer version wrote the backup.
        StoreError: if the backup is not in order, or the store cannot be written.
        OSError: if the backup cannot be read.
    """
    if file.with_name(f"{file.name}-wal").exists():
        raise StoreError(f"{file} is a store that is in use, and no backup")
    with tempfile.TemporaryDirectory(prefix="deniable-restore-") as place:
        # Opening would write into it: a log, and the migrations since it was written.
        copy = Path(place) / "store.sqlite"
        await asyncio.to_thread(shutil.copyfile, file, copy)
        source = await _opened(copy, file)
        try:
            if not await source.surveys():
                raise StoreError(f"{file} holds no survey")
            await store.fill(source.rows())
        finally:
            await source.close()


async def _opened(copy: Path, file: Path) -> SqliteStore:
    """Check and open the copy of a backup.

    Raises:
        StoreError: naming the file that was copied, of which alone the caller knows.
    """
    try:
        await _check(copy, f"{file} is not in order")
        return await SqliteStore.open(copy)
    except StoreError as error:
        told = str(error).replace(str(copy), str(file))
        raise type(error)(told) from None


async def _copy(store: CopyableStore, file: Path) -> None:
    copy = await SqliteStore.open(file)
    try:
        await copy.fill(store.rows())
    finally:
        await copy.close()


async def _check(file: Path, otherwise: str) -> None:
    copy = await SqliteStore.open(file)
    try:
        faults = await copy.check()
    finally:
        await copy.close()
    if faults:
        raise StoreError(f"{otherwise}: {faults[0]}")


@contextmanager
def _reserved(file: Path) -> Iterator[None]:
    """Take a name that nobody has; give it back unless something came of it."""
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY))
    try:
        yield
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _synchronise(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
