"""``deniable store``: check, backup, restore, migrate."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from deniable.directory import Config, with_store
from deniable.stores.sqlite.database import VERSION
from tests.cli.commands import Workplace
from tests.stores.second_schema import have_second_schema


@pytest.fixture
def counted(place: Workplace) -> Workplace:
    """Return a collector with a survey and 5 reports."""
    place.publish()
    place.count([0, 1, 1, 2, 3])
    return place


def file_of(place: Workplace) -> Path:
    return place.directory / "store.sqlite"


def store_line(place: Workplace) -> str:
    return f"store     {file_of(place)}\n"


def test_each_fault_is_a_line_and_the_status_is_1(counted: Workplace) -> None:
    assert counted.succeed("store check") == "the store is in order\n"
    with closing(sqlite3.connect(file_of(counted))) as connection, connection:
        connection.execute("UPDATE counts SET reports = reports + 1 WHERE response = 1")
    result = counted.run("store check")
    assert result.exit_code == 1
    assert result.stdout == (
        "tea, sequence 0, epoch 0: receipts and counts differ: "
        "5 receipts are kept, but 6 reports were counted\n"
    )


def test_a_backup_fills_a_new_collector(counted: Workplace, tmp_path: Path) -> None:
    backup = tmp_path / "copy.backup"
    shown = counted.succeed("store backup", backup)
    assert shown.startswith(f"backup    {backup}, ")
    assert backup.stat().st_mode & 0o777 == 0o600
    figures = [counted.succeed(words) for words in ("survey show tea", "hist tea --json")]
    # The disk was lost, and the settings were not.
    for lost in counted.directory.glob("store.sqlite*"):
        lost.unlink()
    assert "does not exist" in counted.fail("store migrate")
    restored = "restored  1 surveys, {} of them signed by this authority\n"
    assert counted.succeed("store restore", backup) == restored.format(1) + store_line(counted)
    assert [counted.succeed(words) for words in ("survey show tea", "hist tea --json")] == figures
    assert file_of(counted).stat().st_mode & 0o777 == 0o600
    # Another authority's is restored with a word of warning.
    shown = Workplace.made(tmp_path / "other").succeed("store restore", backup)
    assert shown.startswith(restored.format(0))
    assert "`authority` in collector.toml" in shown


def test_only_migrate_changes_an_older_schema_and_a_backup_comes_first(
    place: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = f"schema    version {VERSION}{{}}\n{store_line(place)}"
    assert place.succeed("store migrate") == done.format("")
    file_of(place).write_bytes(b"")
    assert place.succeed("store migrate") == done.format(", was 0")
    have_second_schema(monkeypatch)
    before = file_of(place).read_bytes()
    for command in ("token list", "survey list", "store check"):
        assert "deniable store migrate" in place.fail(command)
    place.succeed("store backup", tmp_path / "before")
    assert file_of(place).read_bytes() == before
    assert place.succeed("store migrate").startswith("schema    version 2, was 1\n")
    place.succeed("store check")


def test_a_backup_is_noted_where_the_store_takes_it(counted: Workplace, tmp_path: Path) -> None:
    def noted() -> int | None:
        return with_store(Config.load(counted.directory), lambda store: store.backed_up_at())

    assert noted() is None
    before = int(time.time())
    counted.succeed("store backup", tmp_path / "first")
    at = noted()
    assert at is not None
    assert before <= at <= time.time()
