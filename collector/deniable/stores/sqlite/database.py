"""A collector's SQLite file, as one thread has it open: transactions, migrations, errors.

What is done in it stands in the modules beside this one; the rules S1 to S8 in ``store.py``.
SQLite's write-ahead log with synchronous=FULL makes a commit durable before it returns, and with it
all that the log held before: a process that opens the file finds there what one that was killed had
written and not synchronised. A commit that changed nothing would synchronise nothing (S1).
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from deniable.stores.sqlite import migrating
from deniable.stores.sqlite.read_only import read_only
from deniable.stores.store import StoreError, StoreFull, StoreMoved, UnknownSchema

__all__ = ["SqliteDatabase", "StoredSurvey"]

_RETRY_SECONDS = 0.001
"""How often whoever wants to write asks again.

SQLite itself asks after ever longer pauses: of two busy processes one was seen to wait for seconds
while the other wrote hundreds of times.
"""
# With millions of receipts nearly every insert is in another page, which is read, logged and later
# copied into the table. Measured with 10 million, in processor time beyond that of an empty store:
_PAGE_BYTES = 2_048
"""Of a new file. A fifth less than with 4,096; half as much again would be lost with 1,024."""
_LOG_BYTES = 64 << 20
"""How long the log gets before it is copied: a third less than with SQLite's 1,000 pages.

The copying takes up to half a second then. Four times as much would save another sixth.
"""
_TRUNCATE_MILLISECONDS = 200
"""How long readers may keep the log from being emptied: so long nothing is committed."""
_CACHE_KIBIBYTES = 32 << 10
"""Of each connection: the upper levels of the tree fit for some hundred million receipts."""


class StoredSurvey(NamedTuple):
    """What the store itself must know of a survey.

    Attributes:
        number: short for its id, in this file only.
        minimum: in steps of how many reports its figures advance, at least 1.
    """

    number: int
    minimum: int


class SqliteDatabase:
    """A collector's store in one SQLite file.

    Args:
        path: the file.
        migrate: create it if there is none, and bring an older schema to this version; else the
            store must be there as this version of deniable knows it.
        patience: for how many seconds another process may keep this one from writing, also one
            that is frozen.

    Attributes:
        found_version: the version of the schema that it had; 0 if it was new.

    Raises:
        UnknownSchema: if another version of deniable wrote it, or there is no store in it.
        StoreError: if it cannot be opened.
    """

    def __init__(self, path: Path, *, migrate: bool = True, patience: float = 10.0) -> None:
        self._path = path
        self._patience = patience
        self._surveys: dict[bytes, StoredSurvey] = {}
        self._opened = ExitStack()
        try:
            if not migrate:
                _check_schema(path)
            elif not path.exists():
                path.touch(0o600)  # before anything is in it
            self._connection = self._opened.enter_context(closing(_connect(path, patience)))
            self._connection.execute(f"PRAGMA page_size={_PAGE_BYTES}")
            self._insist("PRAGMA journal_mode=WAL")
            self._place = _identity(path)
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.execute("PRAGMA foreign_keys=ON")
            self._connection.execute("PRAGMA secure_delete=ON")  # what is erased is overwritten
            self._connection.execute(f"PRAGMA cache_size=-{_CACHE_KIBIBYTES}")
            (page,) = self._connection.execute("PRAGMA page_size").fetchone()
            self._connection.execute(f"PRAGMA wal_autocheckpoint={_LOG_BYTES // page}")
            self.found_version = migrating.migrate(self._connection)
            with self.transaction(though_moved=True):
                """What a killed process had written is durable before anything rests on it."""
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise StoreError(f"{path} cannot be opened: {error}") from error
        except StoreError:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """Return the file."""
        return self._path

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    def survey(self, survey_id: bytes) -> StoredSurvey:
        """Return what is known of a survey; it is looked up once, since it never changes.

        Raises:
            StoreError: if it is not in this store.
        """
        known = self._surveys.get(survey_id)
        if known is None:
            row = self._connection.execute(
                "SELECT survey, max(1, minimum) FROM surveys WHERE survey_id = ?", (survey_id,)
            ).fetchone()
            if row is None:
                raise StoreError("the survey is not in this store")
            known = self._surveys[survey_id] = StoredSurvey(*row)
        return known

    @contextmanager
    def transaction(self, *, though_moved: bool = False) -> Iterator[sqlite3.Connection]:
        """Hold the store's one writing transaction; it is committed at the end, or did not happen.

        If nothing is changed in it, it makes a durable write all the same (S1).

        Args:
            though_moved: write also into a store that was moved away.

        Raises:
            StoreFull: if the disk takes no more.
            StoreMoved: if the store was moved away (S8).
            StoreError: if it cannot be written, or was deleted or replaced.
        """
        with self.reading() as connection:
            self._check_place()
            with self._waiting(0):
                self._insist("BEGIN IMMEDIATE")
            try:
                (moved_to,) = connection.execute("SELECT moved_to FROM state").fetchone()
                if moved_to is not None and not though_moved:
                    raise StoreMoved(f"the store was moved to {moved_to}; set `store` to that")
                before = connection.total_changes
                yield connection
                if connection.total_changes == before:
                    connection.execute("UPDATE state SET touched = 1 - touched")
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def truncate_log(self) -> bool:
        """Copy the log into the file and empty it; return False if somebody still reads from it.

        Until then the log is a diary: it has the pages that each commit wrote, in their order, and
        what was erased since (S5, S6).

        Raises:
            StoreFull: if the disk takes no more.
            StoreError: if it cannot be written, or was deleted or replaced.
        """
        with self.reading() as connection, self._waiting(_TRUNCATE_MILLISECONDS):
            self._check_place()
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the connection, whose errors become the store's.

        Raises:
            StoreFull: if the disk takes no more.
            StoreError: for every other error of SQLite.
        """
        try:
            yield self._connection
        except sqlite3.Error as error:
            full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            kind = StoreFull if full else StoreError
            raise kind(f"the store failed: {error}") from error

    @contextmanager
    def _waiting(self, milliseconds: int) -> Iterator[None]:
        """Have SQLite itself wait so long for others."""
        self._connection.execute(f"PRAGMA busy_timeout={milliseconds}")
        try:
            yield
        finally:
            self._connection.execute(f"PRAGMA busy_timeout={round(self._patience * 1000)}")

    def _insist(self, statement: str) -> None:
        """Execute a statement for which SQLite does not wait: it may be refused as long as that.

        The busy timeout does not hold for the switch to write-ahead logging.
        """
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._connection.execute(statement)
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() >= deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                return

    def _check_place(self) -> None:
        """Check that the open file is the one at its path: into a deleted one nothing is durable.

        Raises:
            StoreError: if it was deleted or replaced.
        """
        if self._place != _identity(self._path):
            raise StoreError(f"{self._path} was deleted or replaced while it was open; restart")


def _check_schema(path: Path) -> None:
    """Check that there is a store of this version, without writing anything.

    Raises:
        UnknownSchema: if another version wrote it, or there is none.
        StoreError: if it cannot be read.
    """
    with read_only(path) as connection:
        found = migrating.version(connection)
    if found == 0:
        raise UnknownSchema(f"there is no store in {path}; make one with: deniable store migrate")
    if found < migrating.VERSION:
        raise UnknownSchema(
            "an older version of deniable wrote the store; back it up (deniable store backup FILE),"
            " then: deniable store migrate"
        )


def _connect(path: Path, patience: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
