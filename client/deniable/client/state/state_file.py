"""Opening the device's state file: creating it, and refusing to trust one that is not the newest.

1. The file is private to its user (0600) and durable: synchronous=FULL, secure_delete on.
2. A file that is damaged is set aside and replaced; it is deleted when consent ends, by purge, or
   after a week: nothing else erases the reports and memo keys in it.
3. Which device it is then, ``identity`` judges, within this opening and by the mark (D5).
4. A file of a schema that this version does not know, or of another program, is not touched.
"""

import logging
import os
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path

from deniable.client.clock import Boot
from deniable.client.state.erasing import erase_remains, set_aside
from deniable.client.state.identity import NewDevice, insert_device, renew_unless_newest
from deniable.client.state.mark import Mark

__all__ = ["UnknownSchema", "open_in_memory", "open_state_file"]

_LOG = logging.getLogger("deniable")
_SCHEMA_VERSION = 2
_SOUND_DEVICE = """
    SELECT count(*) FROM device WHERE typeof(secret) = 'blob' AND length(secret) = 32
    AND typeof(mark) = 'text' AND typeof(generation) = 'integer'
    AND typeof(ledger_time) || typeof(looked_at) || typeof(lived) = 'integerintegerinteger'
    AND typeof(fresh_from) || typeof(unsure) || typeof(remains) = 'integerintegerinteger'
    AND typeof(boot) || typeof(boot_seconds) = 'textreal'
"""
_APPLICATION_ID = 0x64656E69  # "deni"
_BUSY_SECONDS = 5.0
_TOUCHING = threading.Lock()


class UnknownSchema(OSError):
    """The file is no state that this version of deniable may touch."""


def open_state_file(
    path: Path, consent: str, now: int, boot: Boot | None = None
) -> sqlite3.Connection:
    """Open the state, creating or replacing it as the rules at the head of this module say.

    Args:
        path: the file; its folder is created if missing.
        consent: the initial consent of a state that is created.
        now: Unix seconds.
        boot: the machine's boot and its seconds, if it has such a clock.

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
        _LOG.warning("the state is damaged: it is set aside, and no begun epoch is decided")
        set_aside(path, now)
        _touch(path)
        connection, created = _connect(path), False
    try:
        if not created:
            _create(connection, path, now, NewDevice.after(mark, consent, now), boot)
        renew_unless_newest(connection, path, now, boot)
        # Bytes that were erased just before a crash would live on.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with suppress(sqlite3.OperationalError):  # a full disk: tried again
            erase_remains(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_in_memory(consent: str, now: int, boot: Boot | None = None) -> sqlite3.Connection:
    """Return a state that forgets all decisions when closed: for tests and demonstrations."""
    connection = _connect(Path(":memory:"))
    _create(connection, None, now, NewDevice(consent), boot)
    return connection


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


def _create(
    connection: sqlite3.Connection,
    path: Path | None,
    now: int,
    device: NewDevice,
    boot: Boot | None,
) -> None:
    """Create the tables, unless another process is faster; the mark is written before the commit.

    So whoever sees the state sees its mark as well, and does not take it for a stranger's.
    """
    from deniable.client.state.schema import SCHEMA  # only a new state needs it

    try:
        connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA}")
        insert_device(connection, device, now, boot)
        connection.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
        connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
        if path is not None:
            Mark.of(connection).write(path)
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
        if version not in (0, _SCHEMA_VERSION):
            raise UnknownSchema(
                "the state was written by a newer version of deniable; upgrade"
                if version > _SCHEMA_VERSION
                else "the state was written by a version of deniable from before the first release"
            )
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
