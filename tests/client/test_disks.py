"""Disks that fail (D5): an outcome and one warning an outage, no exception, no second draw."""

import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deniable.client import EpochUndecidable, OutcomeStatus, StateUnavailable
from tests.support.devices import NAME, Bench
from tests.support.processes import run
from tests.support.surveys import DAY, START

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED
REFUSED = ["ConsentMissing", "off", 0]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder whose parents anybody may enter, unlike those of ``tmp_path``."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)
        Path(path).chmod(0o700)


def play(scene: str, folder: Path) -> dict[str, Any]:
    """Play a scene of ``tests.support.troubled_disk``; nothing may be printed but its result."""
    folder.chmod(0o755)
    done = run([sys.executable, "-m", "tests.support.troubled_disk", scene, folder])
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("scene", ["full_from_the_start", "full_at_a_restart"])
def test_d5_a_full_disk_is_one_warning_and_costs_no_epoch(folder: Path, scene: str) -> None:
    found = play(scene, folder)
    assert found["reports"] == 3 * ["StateUnavailable"]
    assert (found["delivered"], found["warnings"], found["later"]) == (0, 1, "recorded")
    assert found["refused"] == REFUSED


@pytest.mark.parametrize("scene", ["full_for_everything", "full_for_the_log"])
def test_d5_a_disk_that_fills_between_report_and_flush_loses_nothing(
    folder: Path, scene: str
) -> None:
    found = play(scene, folder)
    assert found["first"] == "recorded"
    assert found["reports"] == 3 * ["StateUnavailable"]
    assert found["warnings"] == 1
    assert found["refused"] == REFUSED
    # Once there is room again, and consent, the epoch is decided, and both reports are sent.
    assert (found["later"], found["pending"]) == ("recorded", 0)


@pytest.mark.parametrize("scene", ["read_only", "no_permission"])
def test_d5_a_state_that_may_not_be_written_is_one_warning(folder: Path, scene: str) -> None:
    found = play(scene, folder)
    assert found["reports"] == 3 * ["StateUnavailable"]
    assert (found["delivered"], found["warnings"]) == (0, 1)
    assert found["refused"] == REFUSED


@pytest.mark.parametrize("place", ["directory", "below a file", "looping link", "no such device"])
def test_a_path_that_can_hold_no_state_is_an_outcome_and_one_warning(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    if place == "directory":
        bench.path.mkdir()
    elif place == "below a file":
        (tmp_path / "file").touch()
        bench.path = tmp_path / "file" / "device.sqlite"
    elif place == "looping link":
        bench.path.symlink_to(bench.path)
    else:
        bench.path = Path("/dev/full/device.sqlite")
    client = bench.client()
    for _ in range(3):
        assert isinstance(client.report(NAME, "good").error, StateUnavailable)
        delivery = client.flush()
        assert (type(delivery.error), delivery.pending) == (StateUnavailable, None)
        assert isinstance(client.refresh(force=True).errors[NAME], StateUnavailable)
    with pytest.raises(StateUnavailable):
        client.report(NAME, "good", strict=True)
    with pytest.raises(StateUnavailable):
        client.set_consent("on")
    assert bench.transport.requests == []
    assert [record.levelname for record in caplog.records].count("WARNING") == 1
    assert bench.draw.count == 0


def test_an_outage_that_ends_and_comes_back_is_two_warnings(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    client = bench.client()
    for day in range(2):
        bench.path.mkdir()
        assert not client.report(NAME, "good").ok
        bench.path.rmdir()
        client.refresh(force=True)
        bench.clock.time = START + day * DAY
        client.report(NAME, "good")
        client.close()
        for name in bench.files():
            (bench.path.parent / name).unlink()
    warned = [record for record in caplog.records if "cannot be used" in record.getMessage()]
    assert len(warned) == 2


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_d5_a_state_behind_a_link_is_one_state(bench: Bench, tmp_path: Path, linked: str) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    if linked == "folder":
        link.symlink_to(real)
    else:
        link.mkdir()
        (real / "device.sqlite").touch()
        (link / "device.sqlite").symlink_to(real / "device.sqlite")
    for number, folder in enumerate((link, real, link)):
        bench.path = folder / "device.sqlite"
        client = bench.client()
        client.refresh(force=True)
        assert client.report(NAME, "good").status is (REPEATED if number else RECORDED)
    assert bench.rows("SELECT fresh_from < 0 FROM device") == [(1,)]


def test_d5_a_state_named_relatively_stays_where_it_was_opened(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    client = bench.ready(state="device.sqlite")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert client.report(NAME, "good").status is RECORDED
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_d5_a_state_that_is_damaged_while_it_is_open_is_set_aside_and_said_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    client = bench.reported()
    with closing(sqlite3.connect(bench.path)) as beside:
        beside.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(bench.path.read_bytes())
    content[100:] = b"\xa5" * (len(content) - 100)
    bench.path.write_bytes(content)
    outcomes = [client.report(NAME, "good") for _ in range(4)]
    # One call meets the damage; the next one judges the file anew, and replaces it.
    assert isinstance(outcomes[0].error, StateUnavailable)
    client.refresh(force=True)
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    assert bench.rows("SELECT kind FROM events") == [("state-replaced",)]
    aside = [record for record in caplog.records if "set aside" in record.getMessage()]
    assert len(aside) == 1
    assert bench.draw.count == 1
    bench.clock.time = START + DAY
    assert client.report(NAME, "good").status is RECORDED


def test_d5_a_state_opened_twice_in_one_process_keeps_its_locks(bench: Bench) -> None:
    # Closing any descriptor of a file drops the locks that a process holds on it. Then another
    # process would take itself for the last one, and delete the log under the first.
    first = bench.ready()
    bench.ready()
    program = (
        "import sqlite3, sys; state = sqlite3.connect(sys.argv[1]); "
        "state.execute('SELECT * FROM device').fetchall(); state.close()"
    )
    run([sys.executable, "-c", program, bench.path])
    assert bench.path.with_name("device.sqlite-wal").exists()
    assert first.report(NAME, "good").status is RECORDED
    assert bench.rows("SELECT count(*) FROM decisions") == [(1,)]


def test_whoever_creates_the_state_at_the_same_time_is_waited_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SQLite reports a possible deadlock at once, however long it may wait elsewhere.
    refusals = iter(["PRAGMA journal_mode=WAL"] * 3)
    awaited = next(refusals)

    class Busy(sqlite3.OperationalError):
        sqlite_errorcode = 5

    class Contended(sqlite3.Connection):
        def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
            nonlocal awaited
            if statement == awaited:
                awaited = next(refusals, "")
                raise Busy("database is locked")
            return super().execute(statement, *arguments)

    real = sqlite3.connect
    monkeypatch.setattr(
        "deniable.client.state.state_file.sqlite3.connect",
        lambda *arguments, **named: real(*arguments, factory=Contended, **named),
    )
    bench.reported()
    assert awaited == ""
