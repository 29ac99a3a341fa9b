"""Erasing bytes from the state, and from what its file, its log and damaged states keep of them."""

import glob
import re
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from deniable.client.survey import DAY

__all__ = ["erase_damaged", "erase_remains", "erase_reports", "set_aside"]

_ASIDE: Final = re.compile(r"\.damaged-(-?[0-9]+)(-wal|-shm)?", re.ASCII)
_ASIDE_SECONDS: Final = 7 * DAY


def erase_reports(connection: sqlite3.Connection, verdict: str, now: float) -> None:
    """Erase all reports' bytes, certificates and memo keys, inside a transaction.

    What waited is dropped.
    """
    connection.execute(
        "UPDATE decisions SET status = 'dropped', verdict = ?, settled = ?"
        " WHERE status = 'pending'",
        (verdict, int(now)),
    )
    connection.execute("UPDATE decisions SET envelope = NULL")
    connection.execute("UPDATE memos SET key = NULL")
    connection.execute("UPDATE credentials SET credential = NULL")


def erase_remains(connection: sqlite3.Connection) -> None:
    """Rebuild the file and truncate its log, if copies of erased bytes may stand there.

    Does nothing where there are none; what another process keeps from being done is still to do.

    Raises:
        sqlite3.Error: if the disk does not allow it.
    """
    (remains,) = connection.execute("SELECT remains FROM device").fetchone()
    if not remains:
        return
    connection.execute("VACUUM")
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if not busy:  # and what was erased meanwhile is not done with
        connection.execute("UPDATE device SET remains = 0 WHERE remains = ?", (remains,))


def set_aside(path: Path, now: int) -> None:
    """Keep a damaged state under another name, for a week."""
    for suffix in ("", "-wal", "-shm"):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.replace(path.with_name(f"{path.name}.damaged-{now}{suffix}"))


def erase_damaged(path: Path, now: float | None = None) -> None:
    """Delete the states that were set aside, which hold signed bytes and memo keys too.

    Args:
        path: of the state.
        now: Unix seconds; delete only those that were set aside a week before. By default all.
    """
    for damaged in path.parent.glob(f"{glob.escape(path.name)}.damaged-*"):
        aside = _ASIDE.fullmatch(damaged.name[len(path.name) :])
        if now is None or (aside is not None and now - int(aside[1]) >= _ASIDE_SECONDS):
            with suppress(OSError):
                damaged.unlink()
