"""Opening the device's state file: creating it, and refusing to trust one that is not the newest.

1. The file is private to its user and durable, as every ``sqlite_files``.
2. A file that is damaged is set aside and replaced; it is deleted when consent ends, by purge, or
   after a week: nothing else erases the reports and memo keys in it.
3. Which device it is then, ``identity`` judges, within this opening and by the mark (D5).
4. A file of a schema that this version does not know, or of another program, is not touched; one of
   an earlier version is brought to this one by ``sqlite_files``.
"""

import os
import sqlite3
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from deniable.client.errors import warn
from deniable.client.state.consents import claimed, give, names_of
from deniable.client.state.erasing import erase_remains, record_event, set_aside
from deniable.client.state.identity import Beginning, insert_device, renew_unless_newest
from deniable.client.state.mark import Mark
from deniable.sqlite_files import (
    UnknownFile,
    connect,
    create_private,
    migrate,
    once_free,
    run_script,
    schema_version,
    truncate_log,
    writing,
)

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
            raise UnknownFile("is no state of deniable; name another file") from error
        warn("the state is damaged: it is set aside, and no begun epoch is decided")
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
            erase_remains(connection, patience, partial(once_free, patience))
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


def keep_refusal(state: Path) -> None:
    """Keep a refusal durably beside a state of a newer schema, which this version cannot write.

    It must outlive the process: every version obeys the file, before anything else in the state.
    """
    path = _refusal(state)
    create_private(path)
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def is_refused(state: Path) -> bool:
    """Tell whether a refusal waits to be obeyed."""
    return _refusal(state).exists()


def forget_refusal(state: Path) -> None:
    """Forget a refusal that was stored in the state."""
    _refusal(state).unlink(missing_ok=True)


def _refusal(state: Path) -> Path:
    return state.with_name(f"{state.name}.refused")
