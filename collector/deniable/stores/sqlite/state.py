"""What holds of the store as a whole: whether it was moved away, and when it was backed up."""

import os
import tempfile
from pathlib import Path

from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.store import StoreError, StoreMoved

__all__ = ["backed_up_at", "clock", "move_away", "moved_to", "note_backup", "stay"]


def move_away(database: SqliteDatabase, to: str) -> None:
    """Mark the store as moved, unless it was to another place."""
    with database.transaction(though_moved=True) as connection:
        (stands,) = connection.execute(
            "UPDATE state SET moved_to = coalesce(moved_to, ?) RETURNING moved_to", (to,)
        ).fetchone()
        if stands != to:
            raise StoreMoved(f"the store was moved to {stands} before; see deniable store stay")


def stay(database: SqliteDatabase) -> None:
    """Lift the mark."""
    with database.transaction(though_moved=True) as connection:
        connection.execute("UPDATE state SET moved_to = NULL")


def moved_to(database: SqliteDatabase) -> str | None:
    """Return where the store was moved to."""
    with database.reading() as connection:
        (to,) = connection.execute("SELECT moved_to FROM state").fetchone()
    return None if to is None else str(to)


def note_backup(database: SqliteDatabase, now: int) -> None:
    """Note that a backup was made."""
    with database.transaction() as connection:
        connection.execute("UPDATE state SET backed_up_at = ?", (now,))


def backed_up_at(database: SqliteDatabase) -> int | None:
    """Return when the last backup was noted."""
    with database.reading() as connection:
        (at,) = connection.execute("SELECT backed_up_at FROM state").fetchone()
    return None if at is None else int(at)


def clock(file: Path) -> float:
    """Return the time that the file system gives to a file made beside this one.

    Raises:
        StoreError: if none can be made.
    """
    try:
        with tempfile.TemporaryFile(dir=file.parent) as made:
            return os.fstat(made.fileno()).st_mtime
    except OSError as error:
        raise StoreError(f"the file system gives no time: {error}") from error
