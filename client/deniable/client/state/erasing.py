"""Erasing bytes from the state, its file, its log and damaged states.

It also keeps notes on events of the device other than reports; the oldest are deleted.

Caps of the outbox limit how much may wait. Excess reports are dropped, the oldest first. A drop
removes bytes, but undoes no decision (D4). The choice of dropped reports depends on no response,
let alone an answer: otherwise the remaining reports would be a biased sample.
"""

import glob
import re
import sqlite3
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

from deniable.client.survey import DAY
from deniable.client.threads import warn
from deniable.sqlite_files import once_free, truncate_log

_ASIDE: Final = re.compile(r"\.damaged-(-?[0-9]+)(-wal|-shm)?", re.ASCII)
_ASIDE_SECONDS: Final = 7 * DAY
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


def set_aside(path: Path, now: int) -> None:
    """Keep a damaged state under another name, for a week."""
    for suffix in ("", "-wal", "-shm"):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.replace(path.with_name(f"{path.name}.damaged-{now}{suffix}"))


def erase_damaged(path: Path, now: float | None = None) -> None:
    """Delete the states that were set aside; with ``now``, only those at least a week old."""
    for damaged in path.parent.glob(f"{glob.escape(path.name)}.damaged-*"):
        aside = _ASIDE.fullmatch(damaged.name[len(path.name) :])
        if now is None or (aside is not None and now - int(aside[1]) >= _ASIDE_SECONDS):
            with suppress(OSError):
                damaged.unlink()


_BLOCK: Final = 64
"""Reports are measured in blocks, since a response above 127 takes one byte more."""


@dataclass(frozen=True, slots=True)
class OutboxCaps:
    """The most that may wait to be sent, for all collectors of a state together.

    Envelope bytes are counted, each envelope rounded up to 64. Days are days of use: a period of
    more than a week without use, or a jump of the clock, counts as a week.
    """

    reports: int = 1000
    bytes: int = 1 << 20
    days: int = 180

    def __post_init__(self) -> None:
        if self.reports < 1 or self.bytes < 1024 or self.days < 1:
            raise ValueError("an outbox holds at least one report of 1024 bytes for one day")


def drop_over_caps(connection: sqlite3.Connection, caps: OutboxCaps, lived: int, now: float) -> int:
    """Drop the reports over the caps; return how many. If any, the caller erases the remains."""
    over = connection.execute(
        "SELECT * FROM (SELECT name, epoch, CASE WHEN lived < :oldest THEN 'cap-age'"
        " WHEN row_number() OVER newest > :reports THEN 'cap-number'"
        " WHEN sum((length(envelope) + :block - 1) / :block * :block) OVER newest > :bytes"
        " THEN 'cap-bytes' END AS verdict FROM decisions"
        " WHERE status = 'pending' AND typeof(envelope) = 'blob' AND typeof(lived) = 'integer'"
        " WINDOW newest AS (ORDER BY lived DESC, decided DESC, name DESC, epoch DESC))"
        " WHERE verdict IS NOT NULL",
        {"oldest": lived - caps.days * DAY, "block": _BLOCK, **asdict(caps)},
    ).fetchall()
    if over:
        _drop(connection, over, now)
    return len(over)


def _drop(connection: sqlite3.Connection, over: list[tuple[str, int, str]], now: float) -> None:
    connection.executemany(
        "UPDATE decisions SET status = 'dropped', verdict = ?, settled = ?, envelope = NULL"
        " WHERE name = ? AND epoch = ?",
        [(verdict, int(now), name, epoch) for name, epoch, verdict in over],
    )
    for verdict, count in sorted(Counter(verdict for _, _, verdict in over).items()):
        warn("the oldest reports were dropped: %d by %s", count, verdict)
