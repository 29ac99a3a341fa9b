"""The state file (D5): private, whole or not there, and never taken from somebody else."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from deniable.client import IN_MEMORY, OutcomeStatus, ReportDropped, StateUnavailable
from tests.support.devices import NAME, Bench, took
from tests.support.losses import decided
from tests.support.surveys import DAY, START

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_the_state_is_readable_by_its_user_alone(bench: Bench, tmp_path: Path) -> None:
    bench.path = tmp_path / "new" / "folder" / "device.sqlite"
    with umask(0):
        bench.reported()
    modes = {file.name: file.stat().st_mode & 0o777 for file in bench.path.parent.iterdir()}
    assert modes == {
        "device.sqlite": 0o600,
        "device.sqlite-shm": 0o600,
        "device.sqlite-wal": 0o600,
        "device.sqlite.mark": 0o600,
    }
    assert bench.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_closed_state_is_two_files(bench: Bench) -> None:
    decided(bench)
    assert sorted(bench.files()) == ["device.sqlite", "device.sqlite.mark"]


def _wal_header_only(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


@pytest.mark.parametrize("interrupted", [Path.touch, _wal_header_only])
def test_d5_an_interrupted_creation_costs_no_epoch(
    bench: Bench, interrupted: Callable[[Path], None]
) -> None:
    interrupted(bench.path)
    bench.reported()
    assert sorted(bench.files()) != []
    assert not [name for name in bench.files() if "damaged" in name]


def test_d5_a_mark_without_the_commit_of_the_first_state_costs_nothing(bench: Bench) -> None:
    # A kill between them; nothing can have been decided. What replaces a state says otherwise.
    decided(bench)
    bench.path.unlink()
    mark = bench.path.with_name("device.sqlite.mark")
    mark.unlink()
    assert bench.client().consent == "on"
    bench.close()
    bench.path.unlink()
    assert mark.exists()
    bench.ready(consent="on").close()
    assert bench.rows("SELECT unsure, fresh_from < 0 FROM device") == [(0, 1)]
    assert bench.rows("SELECT count(*) FROM events WHERE kind != 'consent'") == [(0,)]


@pytest.mark.parametrize("version", [1, 1000])
def test_d5_a_state_of_another_schema_is_refused_and_not_touched(
    bench: Bench, version: int
) -> None:
    decided(bench)
    with closing(sqlite3.connect(bench.path)) as connection:
        connection.execute(f"PRAGMA user_version={version}")
    before = bench.files()
    client = bench.client()
    outcome = client.report(NAME, "good")
    assert isinstance(outcome.error, StateUnavailable)
    assert ("newer version" in str(outcome.error)) == (version > 1)
    assert isinstance(client.flush().error, StateUnavailable)
    client.close()
    assert bench.files() == before
    assert bench.draw.count == 1


def test_d5_another_programs_database_is_refused_and_not_touched(bench: Bench) -> None:
    with closing(sqlite3.connect(bench.path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = bench.files()
    assert "another program" in str(bench.client().report(NAME, "good").error)
    assert bench.files() == before


def test_d5_a_state_replaced_while_it_is_open_decides_nothing_more_there(bench: Bench) -> None:
    # Else two processes decide the same epochs, each in a file of its own.
    first = bench.reported()
    bench.path.unlink()
    second = bench.ready()
    bench.clock.time = START + DAY
    assert second.report(NAME, "good").status is RECORDED
    assert isinstance(first.report(NAME, "good").error, StateUnavailable)
    assert bench.draw.count == 2


def test_d5_a_state_deleted_while_it_is_open_decides_nothing_more(bench: Bench) -> None:
    client = bench.ready()
    bench.path.unlink()
    assert isinstance(client.report(NAME, "good").error, StateUnavailable)
    assert bench.draw.count == 0


def test_a_state_in_memory_is_asked_for_by_name_and_leaves_no_file(
    bench: Bench, tmp_path: Path
) -> None:
    client = bench.reported(state=IN_MEMORY)
    assert client.report(NAME, "fair").status is REPEATED
    client.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"somebody's letters\n", "database"], ids=["text", "database"])
def test_a_file_that_was_never_a_state_is_not_touched(bench: Bench, content: bytes | str) -> None:
    if isinstance(content, str):
        with closing(sqlite3.connect(bench.path)) as connection:
            connection.execute("CREATE TABLE letters (text TEXT)")
    else:
        bench.path.write_bytes(content)
    before = bench.path.read_bytes()
    outcome = bench.client(consent="on").report(NAME, "good")
    assert isinstance(outcome.error, StateUnavailable)
    assert "name another" in str(outcome.error)
    # SQLite may note in a database's header that it has a log now; nothing else changes.
    assert bench.path.read_bytes()[100:] == before[100:]
    assert not list(bench.path.parent.glob("*.damaged-*"))


def test_d5_a_folder_put_back_from_a_backup_is_a_new_device(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided(bench)
    # Both files come back with their contents, but their time of change is the backup's return:
    # later than the mark says by more than any slack.
    monkeypatch.setattr("deniable.client.state.mark._SLACK_SECONDS", -1)
    client = bench.client()
    assert client.consent == "unset"
    client.set_consent("on")
    assert took(client.refresh(force=True))
    # Nobody knows whether the user withdrew since the backup, so its reports are not sent.
    bench.clock.time = START + DAY - 1
    assert isinstance(client.report(NAME, "good").error, ReportDropped)
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED


def test_a_stored_manifest_that_rotted_is_an_outcome_and_no_exception(bench: Bench) -> None:
    bench.ready().close()
    with closing(sqlite3.connect(bench.path, isolation_level=None)) as connection:
        connection.execute("UPDATE manifests SET envelope = zeroblob(length(envelope))")
    client = bench.client()
    assert not client.report(NAME, "good").ok
    client.refresh(force=True)
    assert bench.draw.count == 0
