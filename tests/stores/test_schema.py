"""SQLite's schema: durable (S1), without an order of arrival (S5), and made once."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from deniable.stores import SqliteStore
from deniable.stores.sqlite.database import SqliteDatabase
from tests.stores.databases import hooked_store, many
from tests.stores.places import SqlitePlace

EVERYTHING = {
    "surveys": {"survey", "survey_id", "name", "sequence", "minimum", "envelope"},
    "issuers": {"issuer", "public_key", "distrusted_at"},
    "receipts": {"survey", "epoch", "key", "response", "issuer"},
    "counts": {"survey", "epoch", "issuer", "response", "reports"},
    "published_counts": {"survey", "epoch", "issuer", "response", "reports"},
    "seals": {
        *("survey", "epoch", "sealed_at", "reports", "digest", "pruning_at", "pruned_at", "cut_at")
    },
    "ends": {"survey", "ended_at"},
    "rotations": {"rotation", "old_key", "new_key", "sequence", "envelope"},
    "openings": {"name", "public"},
    "notes": {"name", "at", "text"},
    "log_entries": {"position", "entry"},
    "log_checkpoints": {"role", "checkpoint"},
    "tokens": {"digest", "role", "label", "created_at", "survey", "ends_at"},
    "state": {"state", "touched", "moved_to", "backed_up_at"},
}
"""Every column there is: an address, a time or a batch among them would link or order devices."""


@pytest.mark.parametrize(
    "work",
    [
        lambda store: store.distrust(bytes(32), 1),
        lambda store: store.note_backup(1),
        lambda store: store.move_away("elsewhere"),
        SqliteStore.cancel_move,
        SqliteStore.ping,
    ],
)
async def test_s1_what_is_done_again_is_written_again(
    work: Callable[[SqliteStore], Awaitable[None]], tmp_path: Path
) -> None:
    log = tmp_path / "store.sqlite-wal"
    store = await SqliteStore.open(tmp_path / "store.sqlite")
    await work(store)
    before = log.read_bytes()
    await work(store)
    assert log.read_bytes() != before
    await store.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = SqlitePlace(tmp_path).file
    SqliteDatabase(path).close()
    return path


def test_s5_the_store_holds_these_columns_and_no_others(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        found = {
            table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            for table in tables
        }
    assert found == EVERYTHING


def test_s5_no_table_that_a_report_touches_has_a_rowid(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        for table in EVERYTHING.keys() - {
            "surveys",
            "rotations",
            "log_entries",
            "issuers",
            "state",
        }:
            with pytest.raises(sqlite3.OperationalError, match="no such column"):
                connection.execute(f"SELECT rowid FROM {table}")
            (sql,) = connection.execute(
                "SELECT sql FROM sqlite_master WHERE name = ?", (table,)
            ).fetchone()
            assert "WITHOUT ROWID" in sql
        kinds = {kind for (kind,) in connection.execute("SELECT type FROM sqlite_master")}
    assert kinds <= {"table", "index"}  # no trigger could keep a diary


async def test_s5_two_orders_of_arrival_leave_the_same_rows(tmp_path: Path) -> None:
    contents = []
    for name, batch in (("up", many(500)), ("down", many(500)[::-1])):
        path = tmp_path / name
        async with hooked_store(path) as store:
            await store.add(batch)
        with closing(sqlite3.connect(path)) as connection:
            contents.append(
                [
                    connection.execute(f"SELECT * FROM {table}").fetchall()
                    for table in ("receipts", "counts", "published_counts", "seals")
                ]
            )
    assert len(contents[0][0]) == 500
    assert contents[0] == contents[1]


def test_s1_a_commit_waits_for_the_disk(file: Path) -> None:
    with closing(SqliteDatabase(file)) as database:
        connection = database._connection
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
