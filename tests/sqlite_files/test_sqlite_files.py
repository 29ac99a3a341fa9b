"""SQLite files of ours: the rules 1 to 4 at the head of the module."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeAlias

import pytest

from deniable.sqlite_files import (
    UnknownFile,
    connect,
    create_private,
    file_identity,
    make_durable,
    migrate,
    primary_code,
    run_script,
    schema_version,
    truncate_log,
    writing,
)
from deniable.stores.sqlite.database import read_only

OURS = 0x74657374
Opened: TypeAlias = sqlite3.Connection
SCRIPT = """
-- the numbers; none twice
CREATE TABLE numbers (number INTEGER PRIMARY KEY);
CREATE TRIGGER small AFTER INSERT ON numbers WHEN NEW.number > 9 BEGIN
    SELECT raise(ABORT, 'too large');
END;
"""
SECOND = "ALTER TABLE numbers ADD COLUMN text TEXT;"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    create_private(tmp_path / "file.db")
    return tmp_path / "file.db"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path, 0.05, recognise, page_size=1024)) as opened:
        yield opened


def recognise(connection: Opened) -> int:
    return schema_version(connection, 2, OURS)


def numbers(connection: Opened) -> list[int]:
    return [number for (number,) in connection.execute("SELECT number FROM numbers")]


def test_a_file_is_private_durable_and_erases(path: Path, connection: Opened) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    wanted = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "page_size": 1024}
    assert {
        pragma: connection.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in wanted
    } == wanted
    before = path.read_bytes()
    create_private(path)
    assert path.read_bytes() == before


def test_a_second_schema_is_reached_as_a_whole_and_there_is_no_way_back(path: Path) -> None:
    with closing(connect(path, 1.0, recognise)) as connection:
        assert migrate(connection, [SCRIPT], OURS) == 0
        with writing(connection):
            connection.execute("INSERT INTO numbers VALUES (1)")
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, [SCRIPT, f"{SECOND}\nINSERT INTO missing VALUES (1);"], OURS)
        assert schema_version(connection, 2, OURS) == 1
        assert connection.execute("SELECT * FROM numbers").fetchall() == [(1,)]
        assert migrate(connection, [SCRIPT, SECOND], OURS) == 1
        assert migrate(connection, [SCRIPT, SECOND], OURS) == 2
        assert connection.execute("SELECT * FROM numbers").fetchall() == [(1, None)]
        with pytest.raises(UnknownFile, match="newer version of deniable; upgrade"):
            migrate(connection, [SCRIPT], OURS)


def test_any_number_may_migrate_at_once(path: Path) -> None:
    def migrated(_: int) -> int:
        with closing(connect(path, 10.0, recognise)) as connection:
            migrate(connection, [SCRIPT, SECOND], OURS)
            return schema_version(connection, 2, OURS)

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(migrated, range(12))) == [2] * 12


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("PRAGMA user_version=3", "belongs to another program"),
        ("CREATE TABLE theirs (x)", "belongs to another program"),
        (f"PRAGMA application_id={OURS}; PRAGMA user_version=3", "newer version of deniable"),
    ],
)
def test_what_is_not_ours_is_left(path: Path, connection: Opened, statement: str, why: str) -> None:
    connection.executescript(statement)
    truncate_log(connection)
    before = path.read_bytes()
    with pytest.raises(UnknownFile, match=why):
        migrate(connection, [SCRIPT, SECOND], OURS)
    assert not connection.in_transaction
    assert path.read_bytes() == before


def test_what_is_not_ours_is_recognised_before_anything_is_changed(path: Path) -> None:
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(UnknownFile, match="belongs to another program"):
        connect(path, 0.05, recognise)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_what_was_written_is_made_durable_by_a_write(path: Path, connection: Opened) -> None:
    migrate(connection, [SCRIPT], OURS)
    log = path.with_name(path.name + "-wal")
    before = log.stat().st_size
    make_durable(connection)
    assert log.stat().st_size > before
    assert schema_version(connection, 1, OURS) == 1


def test_a_script_needs_no_last_semicolon(connection: Opened) -> None:
    run_script(connection, "CREATE TABLE a (x);\nCREATE TABLE b (x) -- the last")
    run_script(connection, "CREATE TABLE c (x);\n-- no more\n")
    assert connection.execute("SELECT group_concat(name) FROM sqlite_master").fetchone() == (
        "a,b,c",
    )


def test_a_transaction_is_whole_or_did_not_happen(connection: Opened) -> None:
    migrate(connection, [SCRIPT], OURS)
    with writing(connection):
        connection.execute("INSERT INTO numbers VALUES (1)")
    with suppress(KeyError), writing(connection):
        connection.execute("INSERT INTO numbers VALUES (2)")
        raise KeyError
    with pytest.raises(sqlite3.IntegrityError, match="too large"), writing(connection):
        connection.execute("INSERT INTO numbers VALUES (10)")
    assert not connection.in_transaction
    assert numbers(connection) == [1]


@pytest.mark.parametrize("patience", [None, 0.05])
def test_a_writer_waits_for_the_other_one_so_long_and_no_longer(
    path: Path, connection: Opened, patience: float | None
) -> None:
    migrate(connection, [SCRIPT], OURS)
    with closing(connect(path, 0.05, lambda _: None)) as other:
        with writing(other), pytest.raises(sqlite3.OperationalError) as raised:  # noqa: SIM117
            with writing(connection, patience):
                raise AssertionError
        assert primary_code(raised.value) == sqlite3.SQLITE_BUSY
        with writing(connection, patience):
            connection.execute("INSERT INTO numbers VALUES (1)")
        assert numbers(other) == [1]
    assert connection.execute("PRAGMA busy_timeout").fetchone() == (50,)


def test_the_log_is_emptied_unless_it_is_read(path: Path, connection: Opened) -> None:
    migrate(connection, [SCRIPT], OURS)
    log = path.with_name(path.name + "-wal")
    with read_only(path) as reader:
        reader.execute("BEGIN")
        assert numbers(reader) == []
        with writing(connection):
            connection.execute("INSERT INTO numbers VALUES (1)")
        assert not truncate_log(connection)
    assert log.stat().st_size > 0
    assert truncate_log(connection)
    assert log.stat().st_size == 0
    with read_only(path, at_rest=True) as reader:
        assert numbers(reader) == [1]
        with pytest.raises(sqlite3.OperationalError):
            reader.execute("DELETE FROM numbers")


def test_a_file_in_the_place_of_another_is_told_from_it(path: Path) -> None:
    before = file_identity(path)
    assert before == file_identity(path)
    other = path.with_name("other.db")
    other.touch()
    other.replace(path)
    assert file_identity(path) != before
    path.unlink()
    assert file_identity(path) is None


def test_what_is_no_database_is_told_and_left_closed(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, but long enough to have a header" * 100)
    with pytest.raises(sqlite3.DatabaseError) as raised:
        connect(tmp_path / "text", 0.05, recognise)
    assert primary_code(raised.value) == sqlite3.SQLITE_NOTADB
