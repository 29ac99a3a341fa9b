"""Backups are whole, of one moment, for their owner alone, and fill an empty store."""

import shutil
from pathlib import Path

import pytest

from deniable.stores import SqliteStore, StoreError, back_up, restore
from tests.stores.databases import HookedStore
from tests.stores.fullness import COURTEOUS, GONE, everything, fill_at_once, fill_with_everything
from tests.stores.places import Place, publish
from tests.stores.second_schema import BROKEN, have_second_schema
from tests.support.reports import report


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """Return where a backup is to be: a folder of its own holds nothing yet."""
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "monday"


def content(file: Path) -> bytes:
    return file.read_bytes()


def write(file: Path, what: bytes) -> None:
    file.write_bytes(what)


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


async def restored(file: Path, directory: Path) -> SqliteStore:
    store = await SqliteStore.open(directory / "restored.sqlite")
    await restore(store, file)
    return store


async def test_a_backup_is_whole(
    place: Place, backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await place.open()
    await fill_with_everything(store)
    await back_up(store, backup)
    assert [file.name for file in backup.parent.iterdir()] == ["monday"]
    assert mode(backup) == 0o600
    before = content(backup)
    monkeypatch.setattr(shutil, "copyfile", None)  # it is read where it is
    copy = await restored(backup, tmp_path)
    assert await everything(copy) == await everything(store)
    assert await copy.check() == []
    assert content(backup) == before
    assert [file.name for file in backup.parent.iterdir()] == ["monday"]
    for each in (store, copy):
        await each.close()


async def test_nothing_is_overwritten_nor_left_behind(place: Place, backup: Path) -> None:
    store = await place.open()
    await publish(store)
    write(backup, b"precious")
    with pytest.raises(FileExistsError):
        await back_up(store, backup)
    assert content(backup) == b"precious"
    with pytest.raises(OSError, match="missing"):
        await back_up(store, backup.parent / "missing" / "monday")
    assert [file.name for file in backup.parent.iterdir()] == ["monday"]
    await store.close()


async def test_a_store_that_is_not_in_order_makes_no_backup(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    store = await SqliteStore.open(file)
    await fill_at_once(store)
    with store._writer.transaction() as connection:
        connection.execute("DELETE FROM receipts WHERE epoch = 0 AND response = 3")
    with pytest.raises(StoreError, match="store check"):
        await back_up(store, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()
    await store.close()


async def test_a_backup_holds_nothing_of_what_was_erased(tmp_path: Path) -> None:
    store = HookedStore(tmp_path / "store.sqlite")
    store.pragma("secure_delete=0")  # so that there is something to leave behind
    await fill_with_everything(store)
    erased = {report(device, epoch=2, survey=COURTEOUS).key for device in range(4)}
    await back_up(store, tmp_path / "backup")
    copied = content(tmp_path / "backup")
    assert [key for key in erased if key in copied] == []
    kept = {report(device, epoch=2, survey=GONE).key for device in range(4)}
    assert all(key in copied for key in kept)
    await store.close()


async def test_what_is_no_backup_is_named_and_restores_nothing(tmp_path: Path) -> None:
    write(tmp_path / "text", b"no database " * 1_000)
    write(tmp_path / "empty", b"")
    used = await SqliteStore.open(tmp_path / "used")
    await fill_at_once(used)
    await back_up(used, tmp_path / "tampered")
    broken = await SqliteStore.open(tmp_path / "tampered")
    with broken._writer.transaction() as connection:
        connection.execute("UPDATE counts SET reports = reports + 1")
    await broken.close()
    target = await SqliteStore.open(tmp_path / "target.sqlite")
    for name, words in (("text", "text"), ("empty", "."), ("tampered", "."), ("used", ".")):
        with pytest.raises(StoreError, match=words):
            await restore(target, tmp_path / name)
        assert [chunk async for chunk in target.rows()] == []
    for each in (used, target):
        await each.close()


async def test_a_store_of_an_older_version_is_backed_up_as_it_is_and_restored(
    tmp_path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await SqliteStore.open(tmp_path / "old")
    await fill_at_once(old)
    held = await everything(old)
    await old.close()
    before = content(old.path)
    with monkeypatch.context() as later:
        have_second_schema(later, BROKEN)
        with pytest.raises(StoreError, match="cannot be migrated to this version"):
            await back_up(old.path, backup)
    have_second_schema(monkeypatch)
    await back_up(old.path, backup)
    assert content(old.path) == before
    assert [file.name for file in backup.parent.iterdir()] == ["monday"]
    copy = await restored(backup, tmp_path)
    assert await everything(copy) == held
    await copy.close()
