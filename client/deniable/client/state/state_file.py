"""Opening the device's state file: creating it, and refusing to trust one that is not the newest.

1. The file is private to its user and durable, as every ``sqlite_files``.
2. A file that is damaged is set aside and replaced; it is deleted when consent ends, by purge, or
   after a week: nothing else erases the reports and memo keys in it.
3. A file of a schema that this version does not know, or of another program, is not touched; one of
   an earlier version is brought to this one by ``sqlite_files``.

Which device it is then, its mark tells (D5): the one that it was, a new one, or one in another's
place.

4. Whatever replaces another state, or is a copy or an old backup of one, decides no epoch that has
   begun by the latest instant seen, draws a new device secret and has no memo keys. What its mark
   tells to be spent and it does not know of is spent.
5. It decides nothing at all before a collector told the date: its own clock may have been put back
   with the rest.
6. Who takes over from a lost or damaged state keeps to the user's last decision, which the mark
   tells. A copy, an old backup, and a state without its mark are strangers: they have no consent
   and no reports, for nobody knows what the user has withdrawn or had erased since.
7. What a kill between the mark and its commit leaves, a state that is one change behind its genuine
   mark, keeps to the mark's consent, has its reports unless that change erased them, and trusts its
   clock. A backup from before the last change is not told from it, nor need it be.
8. A mark under which nothing was ever stored, left by a kill while the state was created, is none.
9. A new state for which nobody was asked, since an app claims consent or it is in memory, is like
   one that took over from a lost one: a container without a disk makes one at each start.
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
    erase_damaged,
    erase_remains,
    erase_reports,
    record_event,
    set_aside,
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

    consent: str  # for what is declared
    now: int
    boot: Boot | None
    declared: Callable[[], Declared]
    user_asked: bool  # else the epochs that run count as decided


def insert_device(connection: sqlite3.Connection, mark: Mark | None, beginning: Beginning) -> None:
    """Insert the one row of a new device, or of one whose mark is all that is left."""
    if mark is not None and mark.genuine and mark.instant == NEVER:
        mark = None  # rule 8
    consent, now, boot, _, user_asked = beginning
    decided_by, fresh_from, lived = CLAIMED, NEVER if user_asked else now, 0
    if mark is not None:
        consent = mark.consent if mark.genuine else "unset"  # where nobody knows, ask
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
        ahead = None  # by how many changes the mark is ahead of the state
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
    warn("the state is a copy or a backup: it is a new device from the next epoch on")
    ledger_time, lived = connection.execute("SELECT ledger_time, lived FROM device").fetchone()
    connection.execute(
        "UPDATE device SET secret = :secret, mark = :mark, ledger_time = :seen,"
        " fresh_from = max(fresh_from, :seen), unsure = max(unsure, :unsure),"
        # No time of use passes with it: what passed since the backup, the mark has counted.
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
        # What this state carries may have been merged after an old mark was written.
        today = max(mark.lived // DAY, lived // DAY)
        _carry(connection, unknown(mark.spent, spent_by_day(connection), today))
    # A key that two devices hold would give both the same responses.
    connection.execute("UPDATE memos SET key = NULL")
    # The keys that issuers vouched for were those of the former secret.
    connection.execute("UPDATE credentials SET credential = NULL")
    connection.execute("DELETE FROM previews")
    # Who waits for the collector's time need not wait for the day of its last answer.
    connection.execute("UPDATE refreshes SET due = 0, failures = 0")
    if mark is not None and interrupted:
        consent, erases = mark.consent, mark.erases
        connection.execute("UPDATE device SET consent = ?", (consent,))
        if not mark.claimed:  # the change that was interrupted may be the user's first decision
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
        erase_damaged(path)
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
"""How long other processes are waited for, unless a caller has less time."""


def open_state(
    path: Path | None, beginning: Beginning, patience: float = BUSY_SECONDS
) -> sqlite3.Connection:
    """Open the state, creating or replacing it as the rules at the head of this module say.

    None as the path is a state that forgets all decisions when closed. Other processes are waited
    for ``patience`` seconds. Raises ``UnknownFile`` for a file of a newer schema or another
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
        # (SQLite quotes a damaged schema in its errors, in whatever bytes it has become.)
        if isinstance(error, sqlite3.OperationalError):  # a lock or a full disk is no damage
            raise
        if mark is None:  # never a state of ours: somebody named the wrong file
            raise UnknownFile("is not a state file of deniable; name a different one") from error
        warn("the state is damaged: it is set aside, and no epoch already begun is decided")
        set_aside(path, beginning.now)
        create_private(path)
        connection, created = _connect(path, patience), False
    try:
        if not created:
            _create(connection, path, mark, beginning)
        elif _version(connection) < _SCHEMA_VERSION:
            migrate(connection, _migrations(), _APPLICATION_ID)
        renew_unless_newest(connection, path, beginning.now, beginning.boot)
        _claim(connection, path, beginning)
        truncate_log(connection)  # bytes that were erased just before a crash would live on
        with suppress(sqlite3.OperationalError):  # a full disk: tried again
            erase_remains(connection, patience)
        connection.execute("PRAGMA busy_timeout=0")  # from now on each call waits for itself
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, patience: float | None = None) -> sqlite3.Connection:
    # What VACUUM copies is for no other file.
    seconds = BUSY_SECONDS if patience is None else patience
    return connect(path, seconds, _version, temp_store="MEMORY")


def _version(connection: sqlite3.Connection) -> int:
    """Return the version of the schema, 0 for a new file; UnknownFile if it is not ours."""
    return schema_version(connection, _SCHEMA_VERSION, _APPLICATION_ID)


def _create(
    connection: sqlite3.Connection, path: Path | None, mark: Mark | None, beginning: Beginning
) -> None:
    """Create the tables, unless another process is faster; the mark is written before the commit.

    So whoever sees the state sees its mark as well, and does not take it for a stranger's.
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
    from deniable.client.state.schema import MIGRATIONS  # only a new or an old state needs it

    return MIGRATIONS


def _claim(connection: sqlite3.Connection, path: Path | None, beginning: Beginning) -> None:
    """Let ON cover what the app declares where nobody is to be asked for it: see ``claimed``.

    A kill between the mark and the commit does no harm: the next opening claims the same.
    """
    if not claimed(connection, beginning.consent, beginning.declared):
        return
    with writing(connection):
        scopes = claimed(connection, beginning.consent, beginning.declared)
        if not scopes:  # another process was faster
            return
        give(connection, scopes)
        names = ", ".join(names_of(scopes))
        record_event(connection, beginning.now, "consent", f"on, as the app has it, for {names}")
        if path is not None:
            Mark.of(connection).write(path)


def _check(connection: sqlite3.Connection) -> bool:
    """Tell whether the state was created: a file's creation may not have been committed."""
    try:
        # One snapshot: what another process is creating meanwhile must not look damaged.
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
