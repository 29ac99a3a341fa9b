"""Erasing bytes from the state, its file and its log, and damaged states.

This module also keeps notes on events of the device other than reports; the oldest are deleted.
"""

import sqlite3
from functools import partial
from pathlib import Path
from typing import Final

from deniable.client.survey import DAY
from deniable.sqlite_files import once_free, truncate_log

_MOST_EVENTS: Final = 300


def record_event(connection: sqlite3.Connection, at: float, kind: str, detail: str) -> None:
    """Note an event for the user to see; beyond several hundred notes, delete the oldest."""
    connection.execute(
        "INSERT INTO events (at, kind, detail) VALUES (?, ?, ?)", (int(at), kind, detail)
    )
    connection.execute(
        "DELETE FROM events WHERE number <= (SELECT max(number) FROM events) - ?", (_MOST_EVENTS,)
    )


def record_once(connection: sqlite3.Connection, at: float, kind: str, detail: str) -> None:
    """Note an event that may recur every day, unless its note is still there."""
    known = "SELECT 1 FROM events WHERE kind = ? AND detail = ?"
    if connection.execute(known, (kind, detail)).fetchone() is None:
        record_event(connection, at, kind, detail)


def erase_reports(
    connection: sqlite3.Connection, verdict: str, now: float, name: str | None = None
) -> None:
    """Erase bytes, certificates and memo keys of reports, by name or all; drop waiting ones."""
    of = {"name": name, "verdict": verdict, "now": int(now)}
    connection.execute(
        "UPDATE decisions SET status = 'dropped', verdict = :verdict, settled = :now"
        " WHERE status = 'pending' AND name = coalesce(:name, name)",
        of,
    )
    for erased in (
        "UPDATE decisions SET envelope = NULL WHERE name = coalesce(:name, name)",
        "UPDATE memos SET key = NULL WHERE name = coalesce(:name, name)",
        "UPDATE credentials SET credential = NULL WHERE name = coalesce(:name, name)",
    ):
        connection.execute(erased, of)


def erase_ended(connection: sqlite3.Connection, now: float) -> None:
    """Erase reports past their grace (D9), and the keys and credentials of epochs that are over.

    A report that has waited for another certificate is dropped a day after its grace.
    """
    at = {"now": int(now), "day": DAY}
    for ended in (
        "UPDATE decisions SET envelope = NULL"
        " WHERE status != 'pending' AND closes <= :now AND envelope IS NOT NULL",
        "UPDATE memos SET key = NULL WHERE ends <= :now AND key IS NOT NULL",
        "UPDATE decisions AS d SET status = 'dropped', verdict = 'not-enrolled', settled = :now,"
        " envelope = NULL WHERE d.status = 'pending' AND EXISTS (SELECT 1 FROM credentials c"
        " WHERE c.name = d.name AND c.survey_id = d.survey_id AND c.epoch = d.epoch"
        " AND c.renewal = 1 AND c.closes + :day <= :now)",
        "UPDATE credentials SET credential = NULL WHERE closes <= :now AND credential IS NOT NULL",
    ):
        connection.execute(ended, at)


def erase_remains(connection: sqlite3.Connection, patience: float) -> None:
    """Rebuild the file and truncate its log, if they may contain copies of erased bytes."""
    (remains,) = connection.execute("SELECT remains FROM device").fetchone()
    if remains:
        _rebuild(connection, remains, patience)


def _rebuild(connection: sqlite3.Connection, remains: int, patience: float) -> None:
    once_free(patience, partial(connection.execute, "VACUUM"))
    connection.execute(f"PRAGMA busy_timeout={round(patience * 1000)}")
    try:
        if truncate_log(connection):  # but bytes erased meanwhile are still there
            connection.execute("UPDATE device SET remains = 0 WHERE remains = ?", (remains,))
    finally:
        connection.execute("PRAGMA busy_timeout=0")  # the state's own setting


def delete_damaged(path: Path) -> None:
    """Delete a damaged state and its log, with any reports and keys in them."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
