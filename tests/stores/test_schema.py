"""SQLite's schema: durable (S1), without an order of arrival (S5), and made once."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from deniable.stores import SqliteStore
from deniable.stores.sqlite.database import SqliteDatabase
from tests.stores.databases import hooked_store, many
from tests.stores.places import COLUMNS


@pytest.mark.parametrize(
    "work",
    [
        lambda store: store.distrust(bytes(32), 1),
        lambda store: store.note_backup(1),
        SqliteStore.ping,
    ],
)
async def test_s1_what_is_done_again_is_written_again(
    work: Callable[[SqliteStore], Awaitable[None]], file: Path
) -> None:
    log = file.with_name("store.sqlite-wal")
    store = await SqliteStore.open(file)
    await work(store)
    before = log.read_bytes()
    await work(store)
    assert log.read_bytes() != before
    await store.close()


@pytest.fixture
def made(file: Path) -> Path:
    SqliteDatabase(file).close()
    return file


def test_s5_the_store_holds_these_columns(made: Path) -> None:
    with closing(sqlite3.connect(made)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        found = {
            table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            for (table,) in tables.fetchall()
        }
    assert found == COLUMNS | {"state": {"state", "touched", "backed_up_at"}}


def test_s5_no_table_that_a_report_touches_has_a_rowid(made: Path) -> None:
    with closing(sqlite3.connect(made)) as connection:
        for table in COLUMNS.keys() - {"surveys", "rotations", "log_entries", "issuers"}:
            with pytest.raises(sqlite3.OperationalError, match="no such column"):
                connection.execute(f"SELECT rowid FROM {table}")
        kinds = {kind for (kind,) in connection.execute("SELECT type FROM sqlite_master")}
    assert kinds <= {"table", "index"}  # no trigger could keep a diary


async def test_s5_two_orders_of_arrival_leave_the_same_rows(tmp_path: Path) -> None:
    contents = []
    for name, batch in (("up", many(500)), ("down", many(500)[::-1])):
        path = tmp_path / name
        async with hooked_store(path) as store:
            await store.add(batch)
        with closing(sqlite3.connect(path)) as connection:
            tables = ("receipts", "counts", "published_counts", "seals")
            contents.append([[*connection.execute(f"SELECT * FROM {each}")] for each in tables])
    assert len(contents[0][0]) == 500
    assert contents[0] == contents[1]


def test_s1_a_commit_waits_for_the_disk(file: Path) -> None:
    with closing(SqliteDatabase(file)) as database:
        wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}  # 2 is FULL
        for pragma, value in wanted.items():
            assert database._connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)
