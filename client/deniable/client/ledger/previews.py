"""Consent "local": what would have been reported, for the user to see.

A preview has the bytes that a report would sign, and no signature: nobody could send it. Previews
are no spends; they are discarded whenever consent changes.
"""

import sqlite3

from deniable.messages import Manifest, Report

__all__ = ["discard_previews", "has_preview", "store_preview"]


def discard_previews(connection: sqlite3.Connection) -> None:
    """Discard all previews, inside a transaction."""
    connection.execute("DELETE FROM previews")


def has_preview(connection: sqlite3.Connection, name: str, now: float) -> int | None:
    """Return the epoch of the name's preview that stands until its epoch ends, if there is one."""
    row = connection.execute(
        "SELECT epoch FROM previews WHERE name = ? AND ends > ?", (name, int(now))
    ).fetchone()
    return None if row is None else int(row[0])


def store_preview(
    connection: sqlite3.Connection, manifest: Manifest, report: Report, now: float
) -> None:
    """Store what would be signed, inside a transaction."""
    connection.execute(
        "INSERT OR REPLACE INTO previews VALUES (?, ?, ?, ?, ?)",
        (
            manifest.name,
            report.epoch,
            manifest.schedule.epoch_start(report.epoch + 1),
            report.payload,
            int(now),
        ),
    )
