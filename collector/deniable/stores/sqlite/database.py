"""A collector's SQLite file, opened by one thread: transactions, migrations, errors, its log.

``store.py`` has the rules S1 to S7. A commit that changed nothing would synchronise nothing, so
each writing transaction changes something (S1).
"""

import asyncio
import re
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from deniable import sqlite_files
from deniable.stores.rules import (
    LOCK,
    Insertion,
    ManyTimes,
    Request,
    Result,
    Rows,
    Rule,
    Statement,
    counting,
    operating,
)
from deniable.stores.values import MIGRATED, StoreError, StoreFull, StoreLocked, UnknownSchema

_NOTHING: Final = {LOCK, counting.FOLD, operating.TOUCH}
"""The one writer adds to the counts directly, and always touches the state."""
_FORMS: Final = {
    # Counted here: SQLite would sort all receipts to group them.
    counting.KEPT: "SELECT issuer, response FROM receipts WHERE survey = $1 AND epoch = $2",
}


def follow(connection: sqlite3.Connection, rule: Rule[Result]) -> Result:
    """Follow a rule; return its result."""
    try:
        request = next(rule)
        while True:
            request = rule.send(_answer(connection, request))
    except StopIteration as done:
        result: Result = done.value
        return result


def _answer(connection: sqlite3.Connection, request: Request) -> Rows:
    match request:
        case Statement(sql, values):
            if sql in _NOTHING:
                return ()
            text, order = in_sqlite(sql)
            cursor = connection.execute(text, [values[place] for place in order])
            if sql == counting.KEPT:
                return [(*cell, receipts) for cell, receipts in Counter(cursor).items()]
            return cursor.fetchall()
        case ManyTimes(sql, rows):
            text, order = in_sqlite(sql)
            connection.executemany(text, ([row[place] for place in order] for row in rows))
        case Insertion(table, columns, records):
            places = ", ".join("?" * len(columns))
            connection.executemany(
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})",  # noqa: S608
                records,
            )
    return ()


@cache
def in_sqlite(sql: str) -> tuple[str, tuple[int, ...]]:
    """Return a rule's statement in SQLite's form, and each placeholder's index of its value."""
    text = _FORMS.get(sql, sql)
    for theirs, ours in (
        ("deniable.counted", "counts"),
        ("deniable.", ""),
        (" FOR NO KEY UPDATE", ""),
        (" FOR UPDATE", ""),
    ):
        text = text.replace(theirs, ours)
    order = tuple(int(number) - 1 for number in re.findall(r"\$(\d)", text))
    return re.sub(r"\$\d", "?", text), order


_SECONDS = 10.0
"""Seconds for which the log keeps written data. Under load SQLite empties it more often."""


class WalTruncation:
    """The emptying of a store's log; used inside one running event loop.

    ``empty`` empties the log, and returns False if the log has a reader.
    """

    def __init__(self, empty: Callable[[], Awaitable[bool]]) -> None:
        self._empty = empty
        self._written = False
        self._emptying: asyncio.Task[None] | None = None

    def written(self) -> None:
        """Schedule the emptying of the log soon, after a write."""
        self._written = True
        if self._emptying is None:
            self._emptying = asyncio.create_task(self._until_empty())

    async def finish(self) -> None:
        """Empty the log, if anything was written, and never again."""
        if self._emptying is not None:
            self._emptying.cancel()
            await asyncio.wait({self._emptying})
        if self._written:
            await self._try()

    async def _until_empty(self) -> None:
        try:
            while self._written:
                await asyncio.sleep(_SECONDS)
                await self._try()
        finally:
            self._emptying = None

    async def _try(self) -> None:
        # Emptying may miss writes that happen meanwhile; they are left for the next time.
        self._written = False
        try:
            emptied = await self._empty()
        except StoreError:  # whoever stores a report gets the error
            emptied = False
        self._written = self._written or not emptied


# With millions of receipts nearly every insert is in another page, which is read, logged and later
# copied into the table. Measured with 10 million, in processor time beyond that of an empty store:
_PAGE_BYTES: Final = 2_048
"""Page size of a new file. A fifth less time than 4,096; 1,024 would lose half as much again."""
_LOG_BYTES: Final = 64 << 20
"""The log's length before it is copied: a third less time than with SQLite's 1,000 pages.

Copying then takes up to half a second. Four times as much would save another sixth.
"""
_TRUNCATE_MILLISECONDS: Final = 200
"""Milliseconds for which readers may prevent emptying the log; nothing is committed meanwhile."""
_CACHE_KIBIBYTES: Final = 32 << 10
"""Cache of each connection: enough for the tree's upper levels with 100 million receipts."""


_APPLICATION_ID: Final = 0x64656E73  # "dens"
_MIGRATIONS: Final = (sqlite_files.migration_script("deniable.stores.sqlite", "0001_initial.sql"),)
VERSION: Final = len(_MIGRATIONS)
"""The version of the schema that this version of deniable reads and writes."""


def version(connection: sqlite3.Connection) -> int:
    """Return the schema's version, 0 if there is none; UnknownSchema for a foreign schema."""
    try:
        return sqlite_files.schema_version(connection, VERSION, _APPLICATION_ID)
    except sqlite_files.UnknownFile as error:
        _, _, file = connection.execute("PRAGMA database_list").fetchone()
        raise UnknownSchema(f"{file} {error}") from error


@contextmanager
def read_only(path: Path, *, at_rest: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a file for reading, whichever version wrote it, without changing it.

    A file ``at_rest`` has no writers: no file is created beside it, and its folder may be
    read-only. Every SQLite error, also while using the connection, is a StoreError.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro" + ("&immutable=1" if at_rest else "")
    try:
        with closing(
            sqlite3.connect(
                uri, uri=True, timeout=10.0, isolation_level=None, check_same_thread=False
            )
        ) as connection:
            yield connection
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be read: {error}") from error


class SqliteDatabase:
    """A collector's store in one SQLite file.

    Args:
        path: the file.
        migrate: create a missing file, and migrate an older schema to this version; otherwise the
            store must exist with this version's schema.
        patience: seconds for which another process may prevent this one from writing.
        settle: make writes of a killed process durable. One of several connections is enough. If
            the store is not writable, this is skipped, since each answer to a report makes a write
            of its own.

    Raises:
        UnknownSchema: if a different version of deniable wrote the file, or it has no store.
    """

    def __init__(
        self, path: Path, *, migrate: bool = True, patience: float = 10.0, settle: bool = True
    ) -> None:
        self.path = path
        self._patience = patience
        if not migrate:
            _check_schema(path)
        try:
            sqlite_files.create_private(path)
            self._connection = sqlite_files.connect(path, patience, version, page_size=_PAGE_BYTES)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{path} cannot be opened: {error}") from error
        try:
            self._place = sqlite_files.file_identity(path)
            self._connection.execute("PRAGMA foreign_keys=ON")
            self._connection.execute(f"PRAGMA cache_size=-{_CACHE_KIBIBYTES}")
            (page,) = self._connection.execute("PRAGMA page_size").fetchone()
            self._connection.execute(f"PRAGMA wal_autocheckpoint={_LOG_BYTES // page}")
            # The version of the schema when opened; 0 if the file was new.
            self.found_version = sqlite_files.migrate(
                self._connection, _MIGRATIONS, _APPLICATION_ID
            )
            if settle:
                with suppress(sqlite3.Error):
                    sqlite_files.make_durable(self._connection, patience)
        except sqlite_files.UnknownFile as error:
            self.close()
            raise UnknownSchema(f"{path} {error}") from error
        except sqlite3.Error as error:
            self.close()
            raise StoreError(f"{path} cannot be opened: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the store's only writing transaction; commit it at the end, or undo it.

        The transaction makes a durable write even if it changes nothing (S1).

        Raises:
            UnknownSchema: if a different version of deniable has migrated the store meanwhile.
        """
        with self.reading() as connection:
            self._check_place()
            with sqlite_files.writing(connection, self._patience):
                if connection.execute("PRAGMA user_version").fetchone() != (VERSION,):
                    raise UnknownSchema(MIGRATED)
                # Always: SQLite writes no page for an update that changes nothing.
                connection.execute("UPDATE state SET touched = 1 - touched")
                yield connection

    def truncate_log(self) -> bool:
        """Copy the log into the file and empty it; return False if it still has a reader.

        Until then the log is a diary: it has the pages that each commit wrote, in order, and data
        erased since (S5, S6).
        """
        with self.reading() as connection:
            self._check_place()
            connection.execute(f"PRAGMA busy_timeout={_TRUNCATE_MILLISECONDS}")
            try:
                return sqlite_files.truncate_log(connection)
            finally:
                connection.execute(f"PRAGMA busy_timeout={round(self._patience * 1000)}")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection; its errors become the store's."""
        try:
            yield self._connection
        except sqlite3.Error as error:
            code = sqlite_files.primary_code(error)
            if code == sqlite3.SQLITE_BUSY:
                raise StoreLocked(f"another program has locked the store: {error}") from error
            kind = StoreFull if code == sqlite3.SQLITE_FULL else StoreError
            raise kind(f"the store failed: {error}") from error

    def _check_place(self) -> None:
        # Writes to a deleted file are not durable.
        if self._place != sqlite_files.file_identity(self.path):
            raise StoreError(f"{self.path} was deleted or replaced while it was open; restart")


def faults(path: Path, *, at_rest: bool = False) -> list[str]:
    """Return a line for each fault of a file, all as of one moment."""
    with read_only(path, at_rest=at_rest) as connection:
        connection.execute("BEGIN")
        # If a file's pages are damaged, nothing else can be checked.
        pages = [line for (line,) in connection.execute("PRAGMA integrity_check") if line != "ok"]
        if pages:
            return [f"the file is damaged: {line}" for line in pages]
        astray = Counter(table for table, *_ in connection.execute("PRAGMA foreign_key_check"))
        return [
            *(
                f"{table}: the survey or the issuer of {rows} rows is not in the store"
                for table, rows in astray.items()
            ),
            *follow(connection, counting.faults()),
        ]


def _check_schema(path: Path) -> None:
    with read_only(path) as connection:
        stored_version = version(connection)
    if stored_version == 0:
        raise UnknownSchema(f"there is no store in {path}; create one with: deniable store migrate")
    if stored_version < VERSION:
        raise UnknownSchema(
            "the store is from an older version of deniable; back it up (deniable store backup "
            "FILE), then run: deniable store migrate"
        )
