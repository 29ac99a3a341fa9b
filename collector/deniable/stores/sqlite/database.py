"""A collector's SQLite file, as one thread has it open: transactions, migrations, errors.

The rules S1 to S8 stand in ``store.py``. A commit that changed nothing would synchronise nothing,
so that each writing transaction changes something (S1).
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from deniable import sqlite_files
from deniable.messages.seals import as_counts, counts_digest
from deniable.stores.errors import StoreError, StoreFull, StoreLocked, UnknownSchema
from deniable.stores.rules import checking, operating
from deniable.stores.rules.published_counts import COUNTED
from deniable.stores.rules.surveys import find_survey
from deniable.stores.sqlite.driver import follow, in_sqlite

# With millions of receipts nearly every insert is in another page, which is read, logged and later
# copied into the table. Measured with 10 million, in processor time beyond that of an empty store:
_PAGE_BYTES: Final = 2_048
"""Of a new file. A fifth less than with 4,096; half as much again would be lost with 1,024."""
_LOG_BYTES: Final = 64 << 20
"""How long the log gets before it is copied: a third less than with SQLite's 1,000 pages.

The copying takes up to half a second then. Four times as much would save another sixth.
"""
_TRUNCATE_MILLISECONDS: Final = 200
"""How long readers may keep the log from being emptied: so long nothing is committed."""
_CACHE_KIBIBYTES: Final = 32 << 10
"""Of each connection: the upper levels of the tree fit for some hundred million receipts."""


_script = partial(sqlite_files.migration_script, "deniable.stores.sqlite")


def _to_version_2(connection: sqlite3.Connection) -> None:
    """Give the seals of version 1, too, what a seal vouches for since."""
    _script("0002_life_of_a_survey.sql")(connection)
    seals = connection.execute(
        "SELECT survey, survey_id, epoch FROM seals JOIN surveys USING (survey)"
    ).fetchall()
    for survey, survey_id, epoch in seals:
        rows = connection.execute(in_sqlite(COUNTED)[0], (survey, epoch)).fetchall()
        digest = counts_digest(survey_id, epoch, as_counts(rows))
        connection.execute(
            "UPDATE seals SET reports = ?, digest = ? WHERE survey = ? AND epoch = ?",
            (sum(reports for _, _, reports in rows), digest, survey, epoch),
        )


_MIGRATIONS: Final = (
    _script("0001_initial.sql"),
    _to_version_2,
    _script("0003_state.sql"),
    _script("0004_sharing.sql"),
    _script("0005_notes.sql"),
    _script("0006_log.sql"),
)
VERSION: Final = len(_MIGRATIONS)
"""The version of the schema that this version of deniable reads and writes."""


def version(connection: sqlite3.Connection) -> int:
    """Return the version of the schema, 0 if there is none; UnknownSchema if it is not ours."""
    try:
        stored_version = sqlite_files.schema_version(connection, VERSION)
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if names and "surveys" not in names:  # a store bears no application id
            raise sqlite_files.UnknownFile("is another program's database; name another file")
    except sqlite_files.UnknownFile as error:
        raise UnknownSchema(f"the store {error}") from error
    return stored_version


@contextmanager
def read_only(path: Path, *, at_rest: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a file to read; every error of SQLite, also of what is done with it, is a StoreError."""
    try:
        with sqlite_files.read_only(path, at_rest=at_rest) as connection:
            yield connection
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be read: {error}") from error


class SqliteDatabase:
    """A collector's store in one SQLite file.

    Args:
        path: the file.
        migrate: create it if there is none, and bring an older schema to this version; else the
            store must be there as this version of deniable knows it.
        patience: for how many seconds another process may keep this one from writing.
        settle: make durable what a killed process had written. Once is enough, of several
            connections; where nothing can be written it is left, since each answer to a report
            makes a write of its own.

    Raises:
        UnknownSchema: if another version of deniable wrote it, or there is no store in it.
    """

    def __init__(
        self, path: Path, *, migrate: bool = True, patience: float = 10.0, settle: bool = True
    ) -> None:
        self.path = path
        self._patience = patience
        self._surveys: dict[bytes, int] = {}
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
            # The version of the schema that it had; 0 if it was new.
            self.found_version = sqlite_files.migrate(self._connection, _MIGRATIONS)
            if settle:
                with suppress(sqlite3.Error):
                    sqlite_files.make_durable(self._connection, patience)
        except sqlite_files.UnknownFile as error:
            self.close()
            raise UnknownSchema(f"the store {error}") from error
        except sqlite3.Error as error:
            self.close()
            raise StoreError(f"{path} cannot be opened: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def survey(self, survey_id: bytes) -> int:
        """Return a survey's number; it is looked up once, since it never changes."""
        known = self._surveys.get(survey_id)
        if known is None:
            known, _ = follow(self._connection, find_survey(survey_id))
            self._surveys[survey_id] = known
        return known

    @contextmanager
    def transaction(self, *, though_moved: bool = False) -> Iterator[sqlite3.Connection]:
        """Hold the store's one writing transaction; it is committed at the end, or did not happen.

        It makes a durable write also if nothing is changed in it (S1).

        Raises:
            StoreMoved: if the store was moved away (S8), and nothing is to be written all the same.
        """
        with self.reading() as connection:
            self._check_place()
            with sqlite_files.writing(connection, self._patience):
                # Whatever follows: SQLite writes no page for an update that changes nothing.
                connection.execute("UPDATE state SET touched = 1 - touched")
                if not though_moved:
                    follow(connection, operating.check_unmoved())
                yield connection

    def truncate_log(self) -> bool:
        """Copy the log into the file and empty it; return False if somebody still reads from it.

        Until then the log is a diary: it has the pages that each commit wrote, in their order, and
        what was erased since (S5, S6).
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
        """Give the connection, whose errors become the store's."""
        with _translated():
            yield self._connection

    def check_unlocked(self, seconds: float) -> None:
        """Raise StoreLocked if another program keeps the file from being written for so long."""
        self._check_place()
        uri = f"{self.path.absolute().as_uri()}?mode=rw"
        with (
            _translated(),
            closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection,
            sqlite_files.writing(connection, seconds),
        ):
            pass

    def _check_place(self) -> None:
        # Into a file that was deleted nothing is durable.
        if self._place != sqlite_files.file_identity(self.path):
            raise StoreError(f"{self.path} was deleted or replaced while it was open; restart")


@contextmanager
def _translated() -> Iterator[None]:
    """Turn errors of SQLite into those of the store."""
    try:
        yield
    except sqlite3.Error as error:
        code = sqlite_files.primary_code(error)
        if code == sqlite3.SQLITE_BUSY:
            raise StoreLocked(f"another program keeps the store locked: {error}") from error
        kind = StoreFull if code == sqlite3.SQLITE_FULL else StoreError
        raise kind(f"the store failed: {error}") from error


def faults(connection: sqlite3.Connection) -> list[str]:
    """Return a line for each thing that is not as it must be, all as of one moment."""
    connection.execute("BEGIN")
    try:
        # Of a file whose pages are damaged nothing else can be said.
        pages = [line for (line,) in connection.execute("PRAGMA integrity_check") if line != "ok"]
        if pages:
            return [f"the file is damaged: {line}" for line in pages]
        astray = Counter(table for table, *_ in connection.execute("PRAGMA foreign_key_check"))
        return [
            *(
                f"{table}: the survey or the issuer of {rows} rows is not in the store"
                for table, rows in astray.items()
            ),
            *follow(connection, checking.faults()),
        ]
    finally:
        connection.execute("ROLLBACK")


def _check_schema(path: Path) -> None:
    with read_only(path) as connection:
        stored_version = version(connection)
    if stored_version == 0:
        raise UnknownSchema(f"there is no store in {path}; make one with: deniable store migrate")
    if stored_version < VERSION:
        raise UnknownSchema(
            "an older version of deniable wrote the store; back it up (deniable store backup FILE),"
            " then: deniable store migrate"
        )
