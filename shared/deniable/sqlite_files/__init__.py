"""SQLite files of deniable: private, durable, recognisable, and shared between processes.

1. A file is private to its user from the start (0600), and erased data in it is overwritten.
2. A commit is durable before it returns, and so is everything that was in the write-ahead log: a
   killed process may have written it without synchronising.
3. A file that a newer version of deniable or another program wrote is refused before any change.
4. Opening, migrating and writing wait for other processes, for a limited number of seconds.

Callers convert ``sqlite3.Error``, ``OSError`` and ``UnknownFile`` into their own errors.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

_T = TypeVar("_T")

_RETRY_SECONDS: Final = 0.001
"""The seconds between two tries while waiting.

SQLite itself retries after increasing pauses: one of two busy processes was seen to wait for
several seconds while the other wrote hundreds of times. SQLite does not wait at all when switching
to write-ahead logging.
"""
_CREATING: Final = threading.Lock()


class UnknownFile(Exception):
    """A file that this version of deniable may not change; the text continues the file's name."""


def create_private(path: Path) -> None:
    """Create the file, empty and private, if it does not exist.

    An existing file is not opened: closing it again would drop the locks that SQLite holds on it
    for another connection of this process. So nobody may open a new one before it is closed.
    """
    with _CREATING, suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def connect(
    path: Path | str,
    patience: float,
    recognise: Callable[[sqlite3.Connection], object],
    **pragmas: int | str,
) -> sqlite3.Connection:
    """Open a file, or ``":memory:"``, to read and write it without implicit transactions.

    The call waits ``patience`` seconds for other processes. ``recognise`` raises for a file that
    must not be changed, such as :func:`schema_version`. Further pragmas are set before the switch
    to write-ahead logging, and so take effect on a new file.
    """
    connection = sqlite3.connect(
        path, timeout=patience, isolation_level=None, check_same_thread=False
    )
    try:
        once_free(patience, lambda: recognise(connection))
        for name, value in pragmas.items():
            connection.execute(f"PRAGMA {name}={value}")
        once_free(patience, lambda: connection.execute("PRAGMA journal_mode=WAL"))
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA secure_delete=ON")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def writing(connection: sqlite3.Connection, patience: float | None = None) -> Iterator[None]:
    """Hold the file's only writing transaction; commit at the end, undo after an error.

    With ``patience`` the lock is requested often, for this many seconds; otherwise as by SQLite.
    """
    if patience is None:
        connection.execute("BEGIN IMMEDIATE")
    else:
        connection.execute("PRAGMA busy_timeout=0")
        try:
            once_free(patience, lambda: connection.execute("BEGIN IMMEDIATE"))
        finally:
            connection.execute(f"PRAGMA busy_timeout={round(patience * 1000)}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def schema_version(connection: sqlite3.Connection, newest: int, application_id: int) -> int:
    """Return the version of the schema, 0 for an empty file.

    The application id identifies deniable's files of this kind.

    Raises:
        UnknownFile: if another program, a newer version of deniable, or one before 0.1.0 wrote it.
    """
    within = connection.in_transaction
    if not within:
        connection.execute("BEGIN")  # a file that another process is creating must not look foreign
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (stored_id,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    finally:
        if not within and connection.in_transaction:
            connection.execute("COMMIT")
    if (version or tables) and stored_id != application_id:
        raise UnknownFile(
            "belongs to another program, or to a version before deniable 0.1.0 and cannot be "
            "migrated; remove it, or give a different path"
        )
    if version > newest:
        raise UnknownFile("was written by a newer version of deniable; upgrade")
    return int(version)


def migrate(connection: sqlite3.Connection, scripts: Sequence[str], application_id: int) -> int:
    """Migrate the schema to its newest version; return the previous one, 0 for an empty file.

    Each script brings the schema to the next version. Any number of processes may do so at once. An
    interrupted process has completed only whole scripts.

    Raises:
        UnknownFile: if a newer version of deniable or another program wrote the file.
    """
    newest = len(scripts)
    version = schema_version(connection, newest, application_id)
    for number, script in enumerate(scripts[version:], start=version + 1):
        with writing(connection):
            if schema_version(connection, newest, application_id) >= number:
                continue  # another process was faster
            run_script(connection, script)
            connection.execute(f"PRAGMA application_id={application_id}")
            connection.execute(f"PRAGMA user_version={number}")
    return version


def migration_script(package: str, name: str) -> str:
    """Return the text of a script in a package's folder ``migrations``."""
    from importlib.resources import files  # devices do not need it

    return files(package).joinpath("migrations", name).read_text("utf-8")


def make_durable(connection: sqlite3.Connection, patience: float | None = None) -> None:
    """Make the log's content durable by a write, including writes of a killed process."""
    with writing(connection, patience):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version={version}")  # written although unchanged


def run_script(connection: sqlite3.Connection, script: str) -> None:
    """Execute statements inside a transaction, which ``executescript`` would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    if statement.strip():  # the last statement has no semicolon
        connection.execute(statement)


def truncate_log(connection: sqlite3.Connection) -> bool:
    """Copy the write-ahead log into the file and empty it; False if it still has a reader.

    Until then the log has, in order, the pages that each commit wrote, and data erased since.
    """
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return volume and inode, which distinguish a file from its replacement; None if absent."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's code of an error, such as ``sqlite3.SQLITE_FULL``; 0 for no code."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def once_free(patience: float, work: Callable[[], _T]) -> _T:
    """Run the function as soon as no other process prevents it."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_SECONDS)
