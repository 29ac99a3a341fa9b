"""Opening the device's state file: creating it, and distrusting a file that is not the newest.

1. The file is private to its user and durable, as all ``sqlite_files`` are.
2. A damaged file is deleted, with its reports and memo keys, and replaced.
3. A file of another program, or with a schema that this version does not know, is not changed. One
   of an earlier version is migrated by ``sqlite_files``.

The mark then determines the device's identity (D5): the same device, a new one, or a replacement.

4. A state that replaces another, or is a copy or an old backup, decides no epoch that began by the
   latest instant seen. It draws a new device secret and has no memo keys. Spending that is recorded
   only in its mark counts as spent.
5. It decides nothing before a collector gives the date: its own clock may have been set back.
6. A state that replaces a lost or damaged one keeps the user's last decision from the mark. Copies,
   old backups, and states without their mark have no consent and no reports, since nobody knows
   what the user has withdrawn or had erased since.
7. A kill between the mark and its commit leaves a state one change behind its genuine mark. Such a
   state keeps the mark's consent, keeps its reports unless that change erased them, and trusts its
   clock. A backup from before the last change looks the same, and need not be distinguished.
8. If a kill during creation leaves a mark under which nothing was ever stored, the mark is ignored.
9. If an app claims consent, or the state is in memory, no user is asked for a new state. It is
   treated like a replacement for a lost one, since a container without a disk creates one at each
   start.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from deniable.client.clock import Boot
from deniable.client.consent import CLAIMED, DOUBTED, Declared, claimed, give, names_of, refusals
from deniable.client.state.erasing import (
    delete_damaged,
    erase_remains,
    erase_reports,
    record_event,
)
from deniable.client.state.mark import NEVER, Mark, new_token, spent_by_day, unknown
from deniable.client.survey import DAY
from deniable.client.threads import warn
from deniable.sqlite_files import (
    UnknownFile,
    connect,
    create_private,
    migrate,
    run_script,
    schema_version,
    truncate_log,
    writing,
)

_REPLACED: Final = "state-replaced"


class Beginning(NamedTuple):
    """The beginning of a state that is created or replaced now."""

    consent: str  # for the declared surveys
    now: int
    boot: Boot | None
    declared: Callable[[], Declared]
    user_asked: bool  # otherwise the current epochs count as decided


def insert_device(connection: sqlite3.Connection, mark: Mark | None, beginning: Beginning) -> None:
    """Insert the row of a new device, or of a device of which only the mark is left."""
    if mark is not None and mark.genuine and mark.instant == NEVER:
        mark = None  # rule 8
    consent, now, boot, _, user_asked = beginning
    decided_by, fresh_from, lived = CLAIMED, NEVER if user_asked else now, 0
    if mark is not None:
        consent = mark.consent if mark.genuine else "unset"  # unknown: ask the user
        fresh_from, lived = max(now, mark.instant), mark.lived
        if not (mark.genuine and mark.claimed):
            decided_by = _REPLACED
    connection.execute(
        "INSERT INTO device VALUES (1, :secret, :mark, 0, :fresh_from, :now, :lived, :fresh_from,"
        " 0, :unsure, :boot, :boot_seconds, :consent, :now, :decided_by)",
        {
            "secret": os.urandom(32),
            "mark": new_token(),
            "fresh_from": fresh_from,
            "now": now,
            "lived": lived,
            "unsure": mark is not None or not user_asked,
            "consent": consent,
            "decided_by": decided_by,
            **_columns(boot),
        },
    )
    if mark is not None:
        give(connection, mark.consents if consent == "on" else refusals(mark.consents))
        _carry(connection, mark.spent)
        record_event(connection, now, "state-replaced", "the previous state was lost or damaged")


def renew_unless_newest(
    connection: sqlite3.Connection, path: Path, now: int, boot: Boot | None
) -> None:
    """Turn a state that is not the newest of this device into a new device."""
    with writing(connection):
        mark = Mark.read(path)
        token, generation = connection.execute("SELECT mark, generation FROM device").fetchone()
        ahead = None  # how many changes the mark is ahead of the state
        if mark is not None and mark.genuine and mark.token == token:
            ahead = mark.generation - generation
        if ahead is None or ahead > 0:
            _renew(connection, path, mark, now, boot, interrupted=ahead == 1)


def _renew(
    connection: sqlite3.Connection,
    path: Path,
    mark: Mark | None,
    now: int,
    boot: Boot | None,
    *,
    interrupted: bool,
) -> None:
    warn("the state is a copy or a backup: it counts as a new device, starting with the next epoch")
    ledger_time, lived = connection.execute("SELECT ledger_time, lived FROM device").fetchone()
    connection.execute(
        "UPDATE device SET secret = :secret, mark = :mark, ledger_time = :seen,"
        " fresh_from = max(fresh_from, :seen), unsure = max(unsure, :unsure),"
        # This adds no time of use: the mark has counted the time since the backup.
        " lived = max(lived, :lived), looked_at = max(looked_at, :now), boot = :boot,"
        " boot_seconds = :boot_seconds",
        {
            "secret": os.urandom(32),
            "mark": new_token(),
            "seen": max(now, ledger_time, mark.instant if mark else 0),
            "unsure": not interrupted,
            "lived": mark.lived if mark and mark.genuine else 0,
            "now": now,
            **_columns(boot),
        },
    )
    if mark is not None:
        # The spending in this state may have been merged after an old mark was written.
        today = max(mark.lived // DAY, lived // DAY)
        _carry(connection, unknown(mark.spent, spent_by_day(connection), today))
    # A key on two devices would give both the same responses.
    connection.execute("UPDATE memos SET key = NULL")
    # Issuers vouched for the keys of the former secret.
    connection.execute("UPDATE credentials SET credential = NULL")
    # A state that waits for the collector's date need not wait for the day after its last answer.
    connection.execute("UPDATE refreshes SET due = 0, failures = 0")
    if mark is not None and interrupted:
        consent, erases = mark.consent, mark.erases
        connection.execute("UPDATE device SET consent = ?", (consent,))
        if not mark.claimed:  # the interrupted change may be the user's first decision
            connection.execute(
                "UPDATE device SET consent_from = ? WHERE consent_from = ?", (_REPLACED, CLAIMED)
            )
        connection.execute("DELETE FROM consents")
        give(connection, mark.consents if consent == "on" else refusals(mark.consents))
        for refused in refusals(mark.consents):
            erase_reports(connection, "consent-withdrawn", now, refused.survey)
    else:
        consent, erases = "unset", True
        connection.execute(
            "UPDATE device SET consent = 'unset', consent_at = ?, consent_from = ?",
            (now, DOUBTED),
        )
        give(connection, refusals(mark.consents) if mark else ())
    if erases:
        known = {"on": "purged", "unset": DOUBTED}.get(consent, "consent-withdrawn")
        erase_reports(connection, known, now)
    record_event(connection, now, "new-device", "the state was a copy or a backup")
    Mark.of(connection).write(path)


def _carry(connection: sqlite3.Connection, spent: Mapping[int, int]) -> None:
    connection.executemany(
        "INSERT INTO carried VALUES (?, ?)"
        " ON CONFLICT (lived) DO UPDATE SET cost = cost + excluded.cost",
        [(day * DAY, cost) for day, cost in spent.items()],
    )


def _columns(boot: Boot | None) -> dict[str, object]:
    return dict(zip(("boot", "boot_seconds"), boot or ("", 0.0), strict=True))


_SCHEMA_VERSION: Final = 1
_SOUND_DEVICE: Final = """
    SELECT count(*) FROM device WHERE typeof(secret) = 'blob' AND length(secret) = 32
    AND typeof(mark) = 'text' AND typeof(generation) = 'integer'
    AND typeof(ledger_time) || typeof(looked_at) || typeof(lived) = 'integerintegerinteger'
    AND typeof(fresh_from) || typeof(unsure) || typeof(remains) = 'integerintegerinteger'
    AND typeof(boot) || typeof(boot_seconds) = 'textreal'
"""
_APPLICATION_ID: Final = 0x64656E64  # "dend"
BUSY_SECONDS = 5.0
"""How long to wait for other processes, unless a caller has less time."""


def open_state(
    path: Path | None, beginning: Beginning, patience: float = BUSY_SECONDS
) -> sqlite3.Connection:
    """Open the state, creating or replacing it according to the rules at the head of this module.

    With None as the path, the state is in memory and lost when closed. It waits ``patience``
    seconds for other processes. Raises ``UnknownFile`` for a file of a newer schema or another
    program, and ``OSError`` and ``sqlite3.Error`` if the disk does not allow it.
    """
    if path is None:
        connection = _connect(Path(":memory:"))
        _create(connection, None, None, beginning)
        _claim(connection, None, beginning)
        return connection
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    create_private(path)
    mark = Mark.read(path)
    try:
        connection = _connect(path, patience)
        created = _check(connection)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        # (SQLite quotes a damaged schema in its errors, whatever bytes it contains.)
        if isinstance(error, sqlite3.OperationalError):  # a lock or a full disk is not damage
            raise
        if mark is None:  # never a device's state: somebody named the wrong file
            raise UnknownFile("is not a state file of deniable; give a different path") from error
        warn(
            "the state was damaged and has been replaced; no epoch that has already begun will be "
            "decided"
        )
        delete_damaged(path)
        create_private(path)
        connection, created = _connect(path, patience), False
    try:
        if not created:
            _create(connection, path, mark, beginning)
        elif _version(connection) < _SCHEMA_VERSION:
            migrate(connection, _migrations(), _APPLICATION_ID)
        renew_unless_newest(connection, path, beginning.now, beginning.boot)
        _claim(connection, path, beginning)
        truncate_log(connection)  # bytes erased just before a crash would otherwise remain
        with suppress(sqlite3.OperationalError):  # if the disk is full, it is tried again
            erase_remains(connection, patience)
        connection.execute("PRAGMA busy_timeout=0")  # from now on, each call does its own waiting
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, patience: float | None = None) -> sqlite3.Connection:
    # VACUUM's copy must not reach any other file.
    seconds = BUSY_SECONDS if patience is None else patience
    return connect(path, seconds, _version, temp_store="MEMORY")


def _version(connection: sqlite3.Connection) -> int:
    """Return the schema's version, 0 for a new file; UnknownFile for another program's file."""
    return schema_version(connection, _SCHEMA_VERSION, _APPLICATION_ID)


def _create(
    connection: sqlite3.Connection, path: Path | None, mark: Mark | None, beginning: Beginning
) -> None:
    """Create the tables, unless another process is faster; the mark is written before the commit.

    So every process that sees the state also sees its mark, and recognises it.
    """
    with writing(connection):
        if _version(connection):
            return
        for script in _migrations():
            run_script(connection, script)
        connection.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
        insert_device(connection, mark, beginning)
        connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
        if path is not None:
            Mark.of(connection).write(path)


def _migrations() -> tuple[str, ...]:
    from deniable.client.state.schema import MIGRATIONS  # needed only by a new or an old state

    return MIGRATIONS


def _claim(connection: sqlite3.Connection, path: Path | None, beginning: Beginning) -> None:
    """Let ON cover the declared surveys where nobody is to be asked: see ``claimed``.

    A kill between the mark and the commit is harmless: the next opening claims the same.
    """
    if not claimed(connection, beginning.consent, beginning.declared):
        return
    with writing(connection):
        scopes = claimed(connection, beginning.consent, beginning.declared)
        if not scopes:  # another process was faster
            return
        give(connection, scopes)
        names = ", ".join(names_of(scopes)[0])
        record_event(connection, beginning.now, "consent", f"on, as set by the app, for {names}")
        if path is not None:
            Mark.of(connection).write(path)


def _check(connection: sqlite3.Connection) -> bool:
    """Return whether the state was created; a file's creation may not have been committed."""
    try:
        # Use one snapshot: a state that another process is creating must not look damaged.
        connection.execute("BEGIN")
        version = _version(connection)
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        sound = _SOUND_DEVICE if version else "SELECT count(*) = 0 FROM sqlite_master"
        if verdict != "ok" or connection.execute(sound).fetchone() != (1,):
            raise sqlite3.DatabaseError("the state is damaged")
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return version != 0
