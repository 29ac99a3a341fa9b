"""``deniable store``: check, backup, restore, migrate."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from deniable.directory import Config, with_store
from deniable.doctor.machine import start_warnings
from deniable.stores.sqlite.database import VERSION
from tests.cli.commands import Workplace, fail, run, succeed
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


def test_a_store_in_order_is_called_so(counted: Workplace) -> None:
    assert succeed("store", "check", "--dir", counted.directory) == "the store is in order\n"


def test_each_fault_is_a_line_and_the_status_is_1(counted: Workplace) -> None:
    with closing(sqlite3.connect(file_of(counted))) as connection, connection:
        connection.execute("UPDATE counts SET reports = reports + 1 WHERE response = 1")
    result = run("store", "check", "--dir", counted.directory)
    assert result.exit_code == 1
    assert result.stdout == (
        "tea, sequence 0, epoch 0: receipts and counts do not agree: "
        "5 receipts are kept, 6 reports counted\n"
    )


def test_a_backup_fills_a_new_collector(counted: Workplace, tmp_path: Path) -> None:
    backup = tmp_path / "copy.backup"
    shown = succeed("store", "backup", backup, "--dir", counted.directory)
    assert shown.startswith(f"backup    {backup}, ")
    assert backup.stat().st_mode & 0o777 == 0o600
    survey = succeed("survey", "show", "tea", "--dir", counted.directory)
    figures = succeed("hist", "tea", "--json", "--dir", counted.directory)
    # The disk was lost, and the settings were not.
    for lost in counted.directory.glob("store.sqlite*"):
        lost.unlink()
    shown = succeed("store", "restore", backup, "--dir", counted.directory)
    restored = "restored  1 surveys, 1 of them signed by this authority\n"
    assert shown == restored + store_line(counted)
    assert succeed("survey", "show", "tea", "--dir", counted.directory) == survey
    assert succeed("hist", "tea", "--json", "--dir", counted.directory) == figures
    assert file_of(counted).stat().st_mode & 0o777 == 0o600


def test_migrate_says_which_version_the_schema_has(place: Workplace) -> None:
    migrate = ("store", "migrate", "--dir", place.directory)
    assert succeed(*migrate) == f"schema    version {VERSION}\n{store_line(place)}"
    for file in place.directory.glob("store.sqlite*"):
        file.unlink()
    assert "does not exist" in fail(*migrate)
    file_of(place).touch()
    assert succeed(*migrate) == f"schema    version {VERSION}, was 0\n{store_line(place)}"


def test_a_backup_of_another_authority_is_restored_with_a_word_of_warning(
    counted: Workplace, tmp_path: Path
) -> None:
    backup = tmp_path / "copy"
    succeed("store", "backup", backup, "--dir", counted.directory)
    succeed("init", tmp_path / "other")
    shown = succeed("store", "restore", backup, "--dir", tmp_path / "other")
    assert shown.startswith("restored  1 surveys, 0 of them signed by this authority\n")
    assert "`authority` in collector.toml" in shown


def test_only_migrate_changes_an_older_schema_and_a_backup_comes_first(
    place: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    have_second_schema(monkeypatch)
    here = ("--dir", place.directory)
    before = file_of(place).read_bytes()
    for command in (("token", "list"), ("survey", "list"), ("store", "check")):
        assert "deniable store migrate" in fail(*command, *here)
    succeed("store", "backup", tmp_path / "before", *here)
    assert file_of(place).read_bytes() == before
    assert succeed("store", "migrate", *here).startswith("schema    version 2, was 1\n")
    succeed("store", "check", *here)


def test_a_moved_store_says_where_to_and_takes_and_shows_nothing(
    counted: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, new = ("--dir", counted.directory), tmp_path / "new.sqlite"
    figures = succeed("hist", "tea", "--json", *here)
    assert succeed("store", "move", new, *here) == (
        f"moved     to {new}\n"
        f"next      name it in {counted.settings}: store; then restart all collectors\n"
    )
    assert new.stat().st_mode & 0o777 == 0o600
    for figures_of in ("hist", "hist --json", "hist --csv", "survey epochs", "ask trend"):
        assert f"moved to {new}; set `store`" in fail(*figures_of.split(), "tea", *here)
    for command in ("list", "list --json", "export tea"):
        result = run("survey", *command.split(), *here)
        assert (result.exit_code, "tea" in result.stdout) == (0, True)
        assert result.stderr == (
            f"the store was moved to {new}; set `store` to that, once deniable store move is done\n"
        )
    assert f"moved to {new}" in fail("survey", "end", "tea", "--yes", *here)
    other = tmp_path / "other"
    assert f"moved to {new} before" in fail("store", "move", other, *here)
    assert other.stat().st_mode & 0o777 == 0o600  # so it is from the first moment on
    (warning,) = start_warnings(Config.load(counted.directory), {})
    assert warning.startswith(f"the store was moved to {new}, and takes no report; set `store` to")
    assert f"at {file_of(counted)} already" in fail("store", "move", file_of(counted), *here)
    with monkeypatch.context() as changed:
        changed.setenv("DENIABLE_STORE", str(new))
        assert succeed("hist", "tea", "--json", *here) == figures
        succeed("store", "check", *here)
        assert "was not moved" in fail("store", "cancel-move", "--yes", *here)
    assert succeed("store", "cancel-move", "--yes", *here) == (
        f"store     {file_of(counted)} takes reports again\n"
    )
    succeed("survey", "end", "tea", "--yes", *here)


def test_whoever_meets_a_move_that_was_broken_off_is_told_to_finish_it_first(
    counted: Workplace, tmp_path: Path
) -> None:
    here, new = ("--dir", counted.directory), tmp_path / "new.sqlite"
    # As after a kill between the mark and the copy.
    with_store(Config.load(counted.directory), lambda store: store.move_away(str(new)))
    for words in (("hist", "tea"), ("survey", "end", "tea", "--yes")):
        assert "once deniable store move is done" in fail(*words, *here)
    (warning,) = start_warnings(Config.load(counted.directory), {})
    assert "once deniable store move is done" in warning
    assert "If deniable store move was broken off, do it again first" in " ".join(
        run("doctor", *here).stdout.split()
    )


def test_a_backup_is_noted_where_the_store_takes_it(counted: Workplace, tmp_path: Path) -> None:
    def noted() -> int | None:
        return with_store(Config.load(counted.directory), lambda store: store.backed_up_at())

    assert noted() is None
    before = int(time.time())
    succeed("store", "backup", tmp_path / "first", "--dir", counted.directory)
    at = noted()
    assert at is not None
    assert before <= at <= time.time()
    succeed("store", "move", tmp_path / "elsewhere", "--dir", counted.directory)
    succeed("store", "backup", tmp_path / "second", "--dir", counted.directory)
    assert noted() == at
