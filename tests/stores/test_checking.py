"""The check finds nothing wrong in a store that was only used, and each thing that was tampered."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from deniable.stores import SqliteStore, Store, StoreError
from tests.stores.fullness import fill_at_once
from tests.stores.places import reports
from tests.support.effort import THOROUGH
from tests.support.surveys import MANIFEST


async def test_the_check_sees_one_moment_while_others_write(store: Store) -> None:
    async def write() -> None:
        for number in range(0, 100, 4):
            await store.add(reports(range(number, number + 4)))

    writing = asyncio.create_task(write())
    checks = 0
    while not writing.done():
        assert await store.check() == []
        checks += 1
    await writing
    assert checks > 0
    assert await store.reports(MANIFEST.survey_id, 0) == 100


@asynccontextmanager
async def opened_file(file: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(file)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def full(file: Path) -> AsyncIterator[SqliteStore]:
    """Yield a store in a file, in which there is something of everything."""
    async with opened_file(file) as store:
        await fill_at_once(store)
        yield store


@contextmanager
def tampered(file: Path, statement: str, *values: object) -> Iterator[None]:
    """Change something behind the store's back, then put everything back as it was."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        tables = ("surveys", "issuers", "receipts", "counts", "published_counts", "seals")
        before = {t: connection.execute(f"SELECT * FROM {t}").fetchall() for t in tables}
        changed = connection.execute(statement, values).rowcount
        assert changed > 0, "the test must tamper with something"
        yield
        connection.execute("BEGIN")
        for table, rows in before.items():
            connection.execute(f"DELETE FROM {table}")
            places = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
        connection.execute("COMMIT")


TAMPERED = {
    "a count is gone": "DELETE FROM counts WHERE epoch = 0 AND response = 1",
    "an issuer was exchanged": "UPDATE counts SET issuer = 5 - issuer WHERE epoch = 0 AND issuer",
    "a receipt is gone": "DELETE FROM receipts WHERE (survey, epoch, key) IN"
    " (SELECT survey, epoch, key FROM receipts WHERE epoch = 0 LIMIT 1)",
    "a receipt was not counted": "INSERT INTO receipts VALUES (1, 0, x'00', 2, 0)",
    "a sealed epoch lost receipts": "DELETE FROM receipts WHERE epoch = 1",
    "receipts outlive their erasure": "INSERT INTO receipts VALUES (1, 2, x'00', 1, 0)",
    "figures show more": "UPDATE published_counts SET reports = reports + 1",
    "a survey is gone": "DELETE FROM surveys WHERE survey = 1",
    "an issuer is gone": "DELETE FROM issuers WHERE issuer = (SELECT max(issuer) FROM receipts)",
    "a receipt of no survey": "INSERT INTO receipts VALUES (99, 0, x'00', 1, 0)",
    "a receipt of no issuer": "UPDATE receipts SET issuer = 99 WHERE epoch = 0 AND issuer",
}


async def test_each_thing_that_is_not_as_it_must_be_is_told(full: SqliteStore, file: Path) -> None:
    for what, statement in TAMPERED.items():
        with tampered(file, statement):
            assert await full.check() != [], what
        assert await full.check() == [], what


CELLS = {
    "receipts": ("survey", "epoch", "response", "issuer"),
    "counts": ("survey", "epoch", "issuer", "response", "reports"),
    "seals": ("survey", "epoch", "reports", "digest"),
}
"""What cannot change alone: it is in the receipts, in the counts and in the seals."""


@pytest.mark.parametrize("table", CELLS)
async def test_no_single_value_can_change_unseen(full: SqliteStore, file: Path, table: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        keys = [name for _, name, _, _, _, place_in_key in columns if place_in_key]
        rows = connection.execute(f"SELECT {', '.join(keys)} FROM {table}").fetchall()
    for row in rows[:: max(1, len(rows) // (6 if THOROUGH else 2))]:
        where = " AND ".join(f"{key} = ?" for key in keys)
        for column in CELLS[table]:
            other = "x'07'" if column == "digest" else f"{column} + 40"
            with tampered(file, f"UPDATE {table} SET {column} = {other} WHERE {where}", *row):
                assert await full.check() != [], (table, row, column)
    assert await full.check() == []


async def test_a_half_erased_epoch_has_never_more_receipts(full: SqliteStore, file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE seals SET pruning_at = 1 WHERE survey = 1 AND epoch = 1")
        connection.execute("DELETE FROM receipts WHERE survey = 1 AND epoch = 1 AND response = 1")
        assert await full.check() == []
        connection.execute("INSERT INTO receipts VALUES (1, 1, x'00', 2, 0)")
        assert len(await full.check()) == 1


def test_damaged_pages_are_told(file: Path) -> None:
    async def fill() -> None:
        async with opened_file(file) as store:
            await fill_at_once(store)

    async def check() -> list[str]:
        try:
            async with opened_file(file) as store:
                return await store.check()
        except StoreError as error:
            return [str(error)]

    asyncio.run(fill())
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4096] = b"\xa5" * 4096
    file.write_bytes(content)
    faults = asyncio.run(check())
    assert faults
    assert all("damaged" in fault or "malformed" in fault for fault in faults)
