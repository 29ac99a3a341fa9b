"""The issuer's record in one SQLite file: the rules R1 to R4 stand in ``record.py``.

Several processes and threads may share it. A commit is durable before it returns, since the
write-ahead log is written with synchronous=FULL. Some lines are like those of the collector's store
in SQLite: an issuer is part of an app's backend, and shares only the messages with a collector.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Final

from deniable.enrolment.errors import RecordError

__all__ = ["SqliteIssuanceRecord"]

_MIGRATIONS: Final = ("0001_initial.sql",)
_APPLICATION_ID: Final = 0x64656E72  # "denr"
_BUSY_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 0.01


class SqliteIssuanceRecord:
    """A record in a file, made when it is not there.

    Args:
        path: of the file; private to the backend.

    Raises:
        RecordError: if it cannot be opened, or is not a record that this version knows.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._process = os.getpid()
        self._lock = threading.Lock()
        try:
            _touch(path)
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            raise _failed(path, error) from error
        try:
            self._place = _identity(path)
            _use_wal(self._connection)
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.execute("PRAGMA secure_delete=ON")
            _migrate(self._connection, path)
        except sqlite3.Error as error:
            self._connection.close()
            raise _failed(path, error) from error
        except RecordError:
            self._connection.close()
            raise

    def claim(self, slot: bytes, holder: bytes, over: int) -> bytes | None:
        """Store the holder unless the slot has one; return the slot's holder."""
        with self._using() as connection:
            found = _holder(connection, slot)
            if found is not None:
                return found  # what can be read was committed, and what is committed is durable
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT 1 FROM forgotten WHERE over = ?", (over,)).fetchone():
                connection.execute("ROLLBACK")
                return None
            connection.execute(
                "INSERT INTO issuances VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (slot, holder, over),
            )
            found = _holder(connection, slot)
            connection.execute("COMMIT")
            return found

    def forget(self, before: int) -> None:
        """Erase the slots whose ``over`` is at or before this instant, in Unix seconds."""
        with self._using() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT INTO forgotten SELECT DISTINCT over FROM issuances WHERE over <= ?"
                " ON CONFLICT DO NOTHING",
                (before,),
            )
            connection.execute("DELETE FROM issuances WHERE over <= ?", (before,))
            connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> "SqliteIssuanceRecord":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._process:
            # SQLite's locks stay with the parent: what a child commits could be lost.
            raise RecordError("the record was opened before a fork; open it in each process")
        with self._lock:
            if self._place != _identity(self._path):
                # Other processes look into the file that stands there now.
                raise RecordError(f"{self._path} was deleted or replaced while open; restart")
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise _failed(self._path, error) from error
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")


def _holder(connection: sqlite3.Connection, slot: bytes) -> bytes | None:
    row = connection.execute("SELECT holder FROM issuances WHERE slot = ?", (slot,)).fetchone()
    return None if row is None else bytes(row[0])


def _touch(path: Path) -> None:
    """Create the file, empty and private, if there is none."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return


def _use_wal(connection: sqlite3.Connection) -> None:
    # The one statement for which SQLite itself does not wait while another process opens the file.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")  # one process at a time
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (version or tables) and application != _APPLICATION_ID:
            raise RecordError(f"{path} is another program's database; name another file")
        if version > len(_MIGRATIONS):
            raise RecordError(f"{path} was written by a newer version of deniable; upgrade")
        for name in _MIGRATIONS[version:]:
            script = files("deniable.enrolment").joinpath("migrations", name).read_text("utf-8")
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={len(_MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements(script: str) -> Iterator[str]:
    # executescript() would commit the transaction that it is called in.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _failed(path: Path, error: OSError | sqlite3.Error) -> RecordError:
    return RecordError(f"{path} cannot be used: {error}")
