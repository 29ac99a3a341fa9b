"""The state file (D5): private, and never trusted when it is damaged, lost or too new."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from deniable.client import (
    IN_MEMORY,
    Client,
    Delivery,
    EpochUndecidable,
    OutcomeStatus,
    StateUnavailable,
)
from tests.support.devices import NAME, Bench
from tests.support.surveys import DAY, START

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED
_HALF, _SHORT = 2, 50

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda content: b"\xa5" * len(content),
    "text": lambda _: b"this is no database\n" * 100,
    "truncated to half": lambda content: content[: len(content) // _HALF],
    "truncated within the header": lambda content: content[:_SHORT],
    "a header of zeros": lambda content: bytes(100) + content[100:],
}


def decided(bench: Bench) -> bytes:
    """Decide epoch 0, close, and return the state file's bytes."""
    assert bench.ready().report(NAME, "good").status is RECORDED
    bench.close()
    return bench.path.read_bytes()


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def after_a_loss(bench: Bench) -> Client:
    """Check that a replaced state decides the next epoch, and not the current one."""
    client = bench.ready()
    outcome = client.report(NAME, "good")
    assert isinstance(outcome.error, EpochUndecidable)
    assert bench.draw.count == 1
    assert client.flush() == Delivery()
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED
    assert bench.draw.count == 2
    return client


def test_the_state_is_readable_by_its_user_alone(bench: Bench, tmp_path: Path) -> None:
    bench.path = tmp_path / "new" / "folder" / "device.sqlite"
    with umask(0):
        bench.ready().report(NAME, "good")
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


@pytest.mark.parametrize("damage", DAMAGES)
def test_d5_a_damaged_state_is_set_aside_and_replaced(bench: Bench, damage: str) -> None:
    damaged = DAMAGES[damage](decided(bench))
    bench.path.write_bytes(damaged)
    after_a_loss(bench)
    kept = bench.path.with_name(f"device.sqlite.damaged-{int(START)}")
    # SQLite may have begun to write its header; nothing of the content is thrown away.
    assert kept.read_bytes()[100:] == damaged[100:]
    assert bench.rows("SELECT fresh_from FROM device") == [(START,)]


def test_d5_no_zeroed_page_lets_an_epoch_be_decided_again(bench: Bench, tmp_path: Path) -> None:
    whole = decided(bench)
    mark = bench.path.with_name("device.sqlite.mark").read_bytes()
    page = int.from_bytes(whole[16:18], "big")
    assert len(whole) // page >= 4
    for first in range(0, len(whole), page):
        zeroed = whole[:first] + bytes(page) + whole[first + page :]
        assert _status_after(tmp_path / f"zeroed-{first}", zeroed, mark) is not RECORDED


def test_d5_no_truncation_lets_an_epoch_be_decided_again(bench: Bench, tmp_path: Path) -> None:
    whole = decided(bench)
    mark = bench.path.with_name("device.sqlite.mark").read_bytes()
    for length in range(0, len(whole), 1024):
        cut = _status_after(tmp_path / f"cut-{length}", whole[:length], mark)
        assert cut is OutcomeStatus.NOT_RECORDED
    assert _status_after(tmp_path / "short", whole[:-1], mark) is not RECORDED
    assert _status_after(tmp_path / "whole", whole, mark) is REPEATED


def _status_after(folder: Path, content: bytes, mark: bytes) -> OutcomeStatus:
    folder.mkdir()
    with Bench(folder) as bench:
        bench.path.write_bytes(content)
        bench.path.with_name("device.sqlite.mark").write_bytes(mark)
        client = bench.client()
        client.refresh()
        return client.report(NAME, "good").status


def test_d5_a_lost_state_is_noticed_by_its_mark(bench: Bench) -> None:
    decided(bench)
    bench.path.unlink()
    after_a_loss(bench)


def test_d5_a_state_lost_with_its_log_alone_is_noticed_too(bench: Bench, tmp_path: Path) -> None:
    # What was decided last may still be in the write-ahead log, which somebody tidies away.
    client = bench.ready()
    bench.clock.time = START + 1
    assert client.report(NAME, "good").status is RECORDED
    away = tmp_path / "moved"
    away.mkdir()
    for name in ("device.sqlite", "device.sqlite.mark"):
        shutil.copy(tmp_path / name, away / name)
    with Bench(away) as other:
        other.clock.time = START + 1
        moved = other.ready()
        assert isinstance(moved.report(NAME, "good").error, EpochUndecidable)
        assert other.draw.count == 0


@pytest.mark.parametrize("lost_at", [0, 0.5, DAY - 1, DAY - 0.25])
def test_d5_every_epoch_that_had_begun_counts_as_decided(bench: Bench, lost_at: float) -> None:
    decided(bench)
    bench.path.unlink()
    bench.clock.time = START + lost_at
    client = bench.ready()
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    bench.clock.time = START + DAY - 0.125
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED


def test_d5_an_epoch_that_begins_at_the_very_second_of_a_loss_has_begun(bench: Bench) -> None:
    decided(bench)
    bench.path.unlink()
    bench.clock.time = START + DAY
    client = bench.ready()
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)


def _wal_header_only(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


@pytest.mark.parametrize("interrupted", [Path.touch, _wal_header_only])
def test_d5_an_interrupted_creation_costs_no_epoch(
    bench: Bench, interrupted: Callable[[Path], None]
) -> None:
    interrupted(bench.path)
    assert bench.ready().report(NAME, "good").status is RECORDED
    assert sorted(bench.files()) != []
    assert not [name for name in bench.files() if "damaged" in name]


def test_d5_a_state_of_a_newer_schema_is_refused_and_not_touched(bench: Bench) -> None:
    decided(bench)
    with closing(sqlite3.connect(bench.path)) as connection:
        connection.execute("PRAGMA user_version=2")
    before = bench.files()
    client = bench.client()
    outcome = client.report(NAME, "good")
    assert isinstance(outcome.error, StateUnavailable)
    assert "newer version" in str(outcome.error)
    assert client.flush() == Delivery()
    client.close()
    assert bench.files() == before
    assert bench.draw.count == 1


def test_d5_a_state_replaced_while_it_is_open_decides_nothing_more_there(bench: Bench) -> None:
    # Else two processes decide the same epochs, each in a file of its own.
    first = bench.ready()
    assert first.report(NAME, "good").status is RECORDED
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
    client = bench.ready(state=IN_MEMORY)
    assert client.report(NAME, "good").status is RECORDED
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


def test_d4_a_lost_state_keeps_to_the_consent_given_last(bench: Bench) -> None:
    bench.ready().set_consent("off")
    bench.close()
    bench.path.unlink()
    assert bench.client(consent="on").consent == "off"


def test_d3_a_clock_put_back_makes_no_lost_epoch_fresh(bench: Bench) -> None:
    decided(bench)
    bench.path.unlink()
    bench.clock.time = START - 400 * DAY  # no battery: the clock is far behind until it is set
    bench.ready()
    bench.clock.time = START + 5
    assert isinstance(bench.client().report(NAME, "good").error, EpochUndecidable)


def test_d5_a_folder_put_back_from_a_backup_is_a_new_device(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided(bench)
    # Both files come back with their contents, but their time of change is the backup's return:
    # later than the mark says by more than any slack.
    monkeypatch.setattr("deniable.client.mark._SLACK_SECONDS", -1)
    client = bench.client()
    assert client.consent == "unset"
    client.set_consent("on")
    bench.clock.time = START + DAY - 1
    assert client.report(NAME, "good").status is OutcomeStatus.REPEATED
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED
