"""Opening the device's state file: creating it, and refusing to trust one that is not the newest.

1. The file is private to its user (0600) and durable: synchronous=FULL, secure_delete on.
2. A file that is damaged is set aside and replaced; it is deleted when consent ends, by purge, or
   after a week: nothing else erases the reports and memo keys in it.
3. Whatever replaces another state, or is a copy or an old backup of one, decides no epoch that has
   begun by the latest instant seen, draws a new device secret, has no memo keys, and keeps to the
   user's last consent and to what was reserved of the lifetime budget (D5). Without consent it has
   no reports either.
4. A file of a schema that this version does not know, or of another program, is not touched.
"""

import glob
import logging
import os
import re
import sqlite3
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deniable.client.state.events import record_event
from deniable.client.state.mark import Mark, machine_digest
from deniable.client.state.tallies import reserved_in_all
from deniable.client.survey import DAY

__all__ = [
    "UnknownSchema",
    "erase_damaged",
    "erase_remains",
    "erase_reports",
    "open_in_memory",
    "open_state_file",
]

_LOG = logging.getLogger("deniable")
_SCHEMA_VERSION = 1
_SOUND_DEVICE = """
    SELECT count(*) FROM device WHERE typeof(secret) = 'blob' AND length(secret) = 32
    AND typeof(mark) = 'text' AND typeof(generation) = 'integer'
    AND typeof(ledger_time) || typeof(looked_at) || typeof(lived) = 'integerintegerinteger'
    AND typeof(fresh_from) || typeof(carried) = 'integerinteger'
    AND typeof(erased) || typeof(remains) = 'integerinteger'
"""
_APPLICATION_ID = 0x64656E69  # "deni"
_NEVER = -(2**62)
_BUSY_SECONDS = 5.0
_ASIDE = re.compile(r"\.damaged-(-?[0-9]+)(-wal|-shm)?", re.ASCII)
_ASIDE_SECONDS = 7 * DAY
_TOUCHING = threading.Lock()


class UnknownSchema(OSError):
    """The file is no state that this version of deniable may touch."""


def open_state_file(path: Path, consent: str, now: int) -> sqlite3.Connection:
    """Open the state, creating or replacing it as the rules at the head of this module say.

    Args:
        path: the file; its folder is created if missing.
        consent: the initial consent of a state that is created.
        now: Unix seconds.

    Raises:
        UnknownSchema: for a file of a newer schema, or of another program.
        OSError, sqlite3.Error: if the disk does not allow it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _touch(path)
    mark = Mark.read(path)
    try:
        connection = _connect(path)
        created = _check(connection)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        # (SQLite quotes a damaged schema in its errors, in whatever bytes it has become.)
        if isinstance(error, sqlite3.OperationalError):  # a lock or a full disk is no damage
            raise
        if mark is None:  # never a state of ours: somebody named the wrong file
            raise UnknownSchema("the file is no state of deniable; name another") from error
        _set_aside(path, now)
        _touch(path)
        connection, created = _connect(path), False
    try:
        if not created:
            device = _NewDevice(consent)
            if mark is not None:
                # What the user decided last holds; where nobody knows, they are asked again.
                consent = mark.consent if mark.genuine else "unset"
                fresh_from, erased = max(now, mark.instant), min(mark.erased, 1)
                device = _NewDevice(consent, fresh_from, mark.reserved, erased, replaces=True)
            _create(connection, path, now, device)
        _check_newest(connection, path, now)
        # Bytes that were erased just before a crash would live on.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with suppress(sqlite3.OperationalError):  # a full disk: tried again
            erase_remains(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_in_memory(consent: str, now: int) -> sqlite3.Connection:
    """Return a state that forgets all decisions when closed: for tests and demonstrations."""
    connection = _connect(Path(":memory:"))
    _create(connection, None, now, _NewDevice(consent))
    return connection


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


def _touch(path: Path) -> None:
    """Create the file, empty and private, if there is none.

    A file that exists must not be opened here: closing it again would drop the locks that SQLite
    holds on it for another client of this process. For the same reason no other client may open a
    new one before it is closed here.
    """
    with _TOUCHING, suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        _use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA temp_store=MEMORY")  # what VACUUM copies is for no other file
    except (sqlite3.Error, UnicodeDecodeError):
        connection.close()
        raise
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    # SQLite itself waits for a lock everywhere but here, where two processes that create the state
    # could wait for each other.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.002)
        else:
            return


@dataclass(frozen=True, slots=True)
class _NewDevice:
    """What a state starts with: nothing, or what is known of the one that it replaces."""

    consent: str
    fresh_from: int = _NEVER
    carried: int = 0
    erased: int = 0
    replaces: bool = False


def _create(
    connection: sqlite3.Connection, path: Path | None, now: int, device: _NewDevice
) -> None:
    """Create the tables, unless another process is faster; the mark is written before the commit.

    So whoever sees the state sees its mark as well, and does not take it for a copy.
    """
    from importlib.resources import files  # 6 ms that only a new state pays

    schema = files("deniable.client.state").joinpath("schema.sql").read_text("utf-8")
    consent, fresh_from = device.consent, device.fresh_from
    token = os.urandom(16).hex() + machine_digest()
    mark = Mark(token, 0, fresh_from, consent, device.carried, device.erased)
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {schema}")
        connection.execute(
            "INSERT INTO device VALUES (1, ?, ?, 0, ?, ?, 0, ?, ?, 0, ?, ?, ?, 'initial')",
            (
                os.urandom(32),
                mark.token,
                fresh_from,
                now,
                fresh_from,
                device.erased,
                device.carried,
                consent,
                now,
            ),
        )
        if device.replaces:
            record_event(connection, now, "state-replaced", "the state before was lost or damaged")
        connection.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
        connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
        if path is not None:
            mark.write(path)
        connection.execute("COMMIT")
    except (sqlite3.OperationalError, OSError) as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if isinstance(error, OSError) or _schema_version(connection) == 0:
            raise
        # Another process was faster.


def _check(connection: sqlite3.Connection) -> bool:
    """Tell whether the state was created; False for a file whose creation has not been committed.

    Raises:
        UnknownSchema: if a newer version or another program wrote it.
        sqlite3.DatabaseError: if it is damaged.
    """
    try:
        # One snapshot: what another process is creating meanwhile must not look damaged.
        connection.execute("BEGIN")
        version = _schema_version(connection)
        if version > _SCHEMA_VERSION:
            raise UnknownSchema("the state was written by a newer version of deniable; upgrade")
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        created = version != 0 or tables != 0 or verdict != "ok"
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if created and application != _APPLICATION_ID:
            raise UnknownSchema("the file is another program's database; name another")
        rows = connection.execute(_SOUND_DEVICE).fetchone() if version else (0,)
        if created and (verdict != "ok" or rows != (1,)):
            raise sqlite3.DatabaseError("the state is damaged")
        connection.execute("COMMIT")
    except (sqlite3.Error, UnicodeDecodeError, UnknownSchema):
        connection.close()
        raise
    return created


def _schema_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _check_newest(connection: sqlite3.Connection, path: Path, now: int) -> None:
    """Turn a state that is a copy or an old backup into a new device, from the next epoch on."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        mark = Mark.read(path)
        token, generation, ledger_time, consent, erased = connection.execute(
            "SELECT mark, generation, ledger_time, consent, erased FROM device"
        ).fetchone()
        reserved = reserved_in_all(connection)
        newest = (
            mark is not None
            and mark.genuine
            and mark.token == token
            and mark.generation <= generation
            and token.endswith(machine_digest())
        )
        if not newest:
            _LOG.warning("the state is a copy or a backup: a new device from the next epoch on")
            seen = max(now, ledger_time, mark.instant if mark else 0)
            # What the user had erased since stays erased, whatever they decided afterwards. Another
            # state's mark is that of a later one, whose generations are its own.
            here = generation if mark is not None and mark.token == token else 0
            unwanted = mark is not None and mark.erased > here
            generation = max(generation, mark.generation if mark else 0)
            if mark is not None and mark.token == token:
                # The mark is newer than the state, or both were put back from a backup.
                consent = mark.consent if mark.genuine else "unset"
            elif mark is not None and mark.genuine and mark.consent != "on":
                # A backup from before a loss: what was withdrawn since stays withdrawn.
                consent = mark.consent
            carried = max(0, mark.reserved - reserved) if mark else 0
            token = os.urandom(16).hex() + machine_digest()
            erased = max(erased, mark.erased if mark else 0)
            renewed = Mark(token, generation, seen, consent, reserved + carried, erased)
            connection.execute(
                "UPDATE device SET secret = ?, mark = ?, generation = ?, ledger_time = ?,"
                " fresh_from = max(fresh_from, ?), consent = ?, carried = carried + ?,"
                " erased = ?",
                (os.urandom(32), token, generation, seen, seen, consent, carried, erased),
            )
            # A key that two devices hold would give both the same responses.
            connection.execute("UPDATE memos SET key = NULL")
            # The keys that issuers vouched for were those of the former secret.
            connection.execute("UPDATE credentials SET credential = NULL")
            connection.execute("DELETE FROM previews")
            if consent != "on" or unwanted:
                known = {"on": "purged", "unset": "state-doubted"}.get(consent, "consent-withdrawn")
                erase_reports(connection, known, now)
                erase_damaged(path)
            record_event(connection, now, "new-device", "the state was a copy or a backup")
            renewed.write(path)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _set_aside(path: Path, now: int) -> None:
    _LOG.warning("the state is damaged: it is set aside, and no epoch that has begun is decided")
    for suffix in ("", "-wal", "-shm"):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.replace(path.with_name(f"{path.name}.damaged-{now}{suffix}"))
