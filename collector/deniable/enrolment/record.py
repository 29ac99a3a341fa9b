"""The issuer's record: its contract for every database, and an implementation in SQLite.

R1. First write wins: a slot has one holder for good, whichever processes and threads claim it.
R2. The result of ``claim`` is durable: it survives a power failure.
R3. Forgotten slots are over: after ``forget``, no erased slot can be claimed again, whatever a
    clock shows later. So only the end of forgotten epochs is remembered.
R4. It contains only slots, holders and ends: no accounts, keys, order or times of requests.
"""

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from deniable import sqlite_files
from deniable.key_files import KeyFileError, create_whole, read_private
from deniable.messages import Refusal, RefusalCode

# For its key files there is also :class:`deniable.key_files.KeyFileError`. All other refusals of a
# request are plain ``Refusal``. No message repeats an account or a key.


class IssuerError(Exception):
    """The issuer cannot work with its present setup; the message states the remedy."""


class NotListed(IssuerError):
    """The survey does not list this issuer."""


class RecordError(IssuerError):
    """The record of issues cannot be read or written; nothing was issued."""


class WrongRecordKey(RecordError):
    """The record was kept under a different key: with this one, no account would be found."""


class AnotherKey(Refusal):
    """The account already has a different key for this survey's name and epoch."""

    def __init__(self) -> None:
        super().__init__(
            RefusalCode.NOT_ENROLLED,
            "this account already has another key in this epoch; ask again in the next",
        )


class IssuanceRecord(Protocol):
    """Holders of slots. Every method may raise RecordError; any thread may call them."""

    def claim(self, slot: bytes, holder: bytes, over: int) -> bytes | None:
        """Store the holder unless the slot has one; return the slot's, None if it is forgotten.

        Args:
            slot: 32 bytes, a keyed digest of account, survey name and epoch.
            holder: 32 bytes, a keyed digest of survey id and public key.
            over: Unix seconds from which nothing is issued for the epoch any more; below 2^63.
        """

    def forget(self, before: int) -> None:
        """Erase the slots whose ``over`` is at or before this instant, in Unix seconds."""


# The issuer's record in one SQLite file, following the rules R1 to R4 above. Several processes and
# threads may share it. A commit is durable before it returns.

_APPLICATION_ID: Final = 0x64656E72  # "denr"
_BUSY_SECONDS: Final = 10.0
_RECORD_KEY_BYTES: Final = 32
_MIGRATIONS: Final = (sqlite_files.migration_script("deniable.enrolment", "0001_initial.sql"),)


def _version(connection: sqlite3.Connection) -> int:
    return sqlite_files.schema_version(connection, len(_MIGRATIONS), _APPLICATION_ID)


class SqliteIssuanceRecord:
    """A record in a file, private to the backend, and created if missing.

    Raises:
        RecordError: if it cannot be opened, or is not a record of a known version.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._process = os.getpid()
        self._lock = threading.Lock()
        with self._failing():
            sqlite_files.create_private(path)
            self._connection = sqlite_files.connect(path, _BUSY_SECONDS, _version)
        try:
            self._place = sqlite_files.file_identity(path)
            with self._failing():
                sqlite_files.migrate(self._connection, _MIGRATIONS, _APPLICATION_ID)
                # Readable content is the answer to a claim, and must not be lost afterwards.
                sqlite_files.make_durable(self._connection)
        except RecordError:
            self._connection.close()
            raise

    def claim(self, slot: bytes, holder: bytes, over: int) -> bytes | None:
        """Store the holder unless the slot has one; return the slot's holder."""
        with self._using() as connection, sqlite_files.writing(connection):
            known = "SELECT holder FROM issuances WHERE slot = ?"
            if row := connection.execute(known, (slot,)).fetchone():
                return bytes(row[0])
            gone = "SELECT 1 FROM forgotten WHERE over = ?"
            if connection.execute(gone, (over,)).fetchone():
                return None
            connection.execute("INSERT INTO issuances VALUES (?, ?, ?)", (slot, holder, over))
            return holder

    def forget(self, before: int) -> None:
        """Erase the slots whose ``over`` is at or before this instant, in Unix seconds."""
        with self._using() as connection, sqlite_files.writing(connection):
            connection.execute(
                "INSERT INTO forgotten SELECT DISTINCT over FROM issuances WHERE over <= ?"
                " ON CONFLICT DO NOTHING",
                (before,),
            )
            connection.execute("DELETE FROM issuances WHERE over <= ?", (before,))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> "SqliteIssuanceRecord":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._process:
            # SQLite's locks stay with the parent: a child's commits could be lost.
            raise RecordError("the record was opened before a fork; open it in each process")
        with self._lock, self._failing():
            if self._place != sqlite_files.file_identity(self._path):
                # Other processes use the file that is there now.
                text = "was deleted or replaced while open; restart this process"
                raise RecordError(f"{self._path} {text}")
            yield self._connection

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except sqlite_files.UnknownFile as error:
            raise RecordError(f"{self._path} {error}") from error
        except (OSError, sqlite3.Error) as error:
            raise RecordError(f"{self._path} cannot be used: {error}") from error


def read_record_key(file: Path) -> bytes:
    """Return the 32 bytes of an issuer's record key, which is created at random if missing.

    Raises:
        KeyFileError: if it cannot be read or written, is readable by others, or is invalid.
    """
    if not file.exists():
        try:
            create_whole(file, f"{secrets.token_hex(_RECORD_KEY_BYTES)}\n".encode())
        except OSError as error:
            raise KeyFileError(f"{file} cannot be written: {error.strerror}") from error
    try:
        key = bytes.fromhex(read_private(file).decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _RECORD_KEY_BYTES:
        raise KeyFileError(f"{file} does not contain {_RECORD_KEY_BYTES} bytes in hex digits")
    return key
