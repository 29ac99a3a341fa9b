"""What a thief of SQLite's files finds in their bytes: S5 and S6 below the tables."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deniable.stores import KEPT_SECONDS, SqliteStore
from deniable.stores.sqlite import database
from deniable.stores.values import Receipt
from tests.stores.databases import HookedStore, hooked_store, many
from tests.stores.places import NOW, A, counts
from tests.support.surveys import MANIFEST
from tests.support.watched import until

ID = MANIFEST.survey_id
LATER = NOW + KEPT_SECONDS


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the log as it is, but where a test is about that."""
    monkeypatch.setattr(database, "_SECONDS", 1e6)


def left(file: Path, receipts: list[Receipt]) -> dict[str, int]:
    """Return how many of the receipts' keys stand in each of the store's files."""
    found = {}
    for path in file.parent.iterdir():
        content = path.read_bytes()
        found[path.name.removeprefix(file.name)] = sum(each.key in content for each in receipts)
    return {name: number for name, number in found.items() if number}


async def emptied(log: Path) -> None:
    await asyncio.to_thread(until, lambda: log.stat().st_size == 0)


async def add_one_by_one(store: HookedStore, receipts: list[Receipt]) -> None:
    for receipt in receipts:
        assert await store.add([receipt]) == [A]


async def test_s6_what_is_pruned_is_in_no_file(file: Path) -> None:
    receipts = many(60)
    async with hooked_store(file) as store:
        await add_one_by_one(store, receipts)
        assert left(file, receipts)["-wal"] == 60
        await store.seal(ID, 0, NOW)
        assert await store.prune(ID, 0, LATER) == 60
        assert left(file, receipts) == {}
        assert [seal.pruned_at for seal in await store.seals(ID)] == [LATER]


async def test_s6_what_a_reader_keeps_in_the_log_is_not_noted_as_erased(file: Path) -> None:
    receipts = many(60)
    async with hooked_store(file) as store:
        await add_one_by_one(store, receipts)
        await store.seal(ID, 0, NOW)
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM receipts").fetchone()
            assert await store.prune(ID, 0, LATER) == 60
            assert left(file, receipts) != {}
            assert [seal.pruned_at for seal in await store.seals(ID)] == [None]
            reader.execute("ROLLBACK")
        assert await store.prune(ID, 0, LATER + 60) == 0
        assert left(file, receipts) == {}
        assert [seal.pruned_at for seal in await store.seals(ID)] == [LATER + 60]


async def test_s5_the_log_is_emptied_after_each_write(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_SECONDS", 0.01)
    log = file.with_name(f"{file.name}-wal")
    async with hooked_store(file) as store:
        for receipt in many(3):
            await store.add([receipt])
            await emptied(log)
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM receipts").fetchone()
            await store.add(many(1, 3))
            await asyncio.sleep(0.05)  # a try that comes to nothing is made again
            reader.execute("ROLLBACK")
        await emptied(log)
        assert await counts(store) == [4, 0, 0, 0, 0]


async def test_s5_a_log_that_was_left_is_emptied(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = file.with_name(f"{file.name}-wal")
    async with hooked_store(file) as store:
        await store.add(many(3))
        assert log.stat().st_size > 0
        # The other one alone is quick: this one waits for as long as the fixture says.
        monkeypatch.setattr(database, "_SECONDS", 0.01)
        other = await SqliteStore.open(file)
        await emptied(log)
        await other.close()


async def test_s5_who_closes_leaves_no_log_to_the_others(file: Path) -> None:
    log = file.with_name(f"{file.name}-wal")
    async with hooked_store(file):
        other = await SqliteStore.open(file)
        await other.add(many(3))
        assert log.stat().st_size > 0
        await other.close()
        assert log.stat().st_size == 0


async def test_s5_a_sealed_epoch_is_by_key(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So few that they are in one page, as they came.
    monkeypatch.setattr("deniable.stores.sqlite.sqlite_store._REWRITTEN_AT_ONCE", 17)
    receipts = many(60)
    sent = [each.key for each in receipts]

    def placed() -> list[bytes]:
        # A page is filled from its end.
        content = file.read_bytes()
        return sorted(sent, key=content.index, reverse=True)

    async with hooked_store(file) as store:
        await add_one_by_one(store, receipts)
        assert store._writer.truncate_log()
        assert placed() == sent
        await store.seal(ID, 0, NOW)
        assert store._writer.truncate_log()
        order = placed()
        assert await store.check() == []
        assert await counts(store) == [60, 0, 0, 0, 0]
    # Another order of arrival leaves the very same places.
    again = file.with_name("again.sqlite")
    async with hooked_store(again) as store:
        await add_one_by_one(store, receipts[::-1])
        await store.seal(ID, 0, NOW)
        assert store._writer.truncate_log()
        content = again.read_bytes()
        assert sorted(sent, key=content.index, reverse=True) == order != sent
