"""The state file (D5): private, whole or not there, never another's; and disks that fail."""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deniable.client import IN_MEMORY, EpochUndecidable, OutcomeStatus, StateUnavailable
from deniable.client.state import schema, state_file
from deniable.client.state.schema import MIGRATIONS
from tests.support.devices import NAME, Bench, connect_carelessly
from tests.support.losses import decided
from tests.support.processes import run
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
    assert modes == {f"device.sqlite{end}": 0o600 for end in ("", "-shm", "-wal", ".mark")}
    assert bench.path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("with_header", [False, True])
def test_d5_an_interrupted_creation_costs_no_epoch(bench: Bench, with_header: bool) -> None:
    bench.path.touch()
    if with_header:
        bench.rows("PRAGMA journal_mode=WAL")
    bench.reported()
    assert sorted(bench.files()) != []


def test_d5_a_mark_without_the_commit_of_the_first_state_costs_nothing(bench: Bench) -> None:
    # A kill between them; nothing can have been decided. What replaces a state says otherwise.
    decided(bench)
    bench.path.unlink()
    bench.mark.unlink()
    assert bench.client().consent == "on"
    bench.close()
    bench.path.unlink()
    assert bench.mark.exists()
    bench.ready(consent="on").close()
    assert bench.rows("SELECT unsure, fresh_from < 0 FROM device") == [(0, 1)]
    assert bench.rows("SELECT count(*) FROM events WHERE kind != 'consent'") == [(0,)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("PRAGMA user_version=1000", "written by a newer version of deniable"),
        ("PRAGMA application_id=0x64656E69", "a version before deniable 0.1.0"),
    ],
)
def test_d5_a_state_of_another_schema_is_not_touched(bench: Bench, change: str, words: str) -> None:
    decided(bench)
    bench.rows(change)
    before = bench.files()
    client = bench.client()
    outcome = client.report(NAME, "good")
    assert isinstance(outcome.error, StateUnavailable)
    assert words in str(outcome.error)
    assert isinstance(client.flush().error, StateUnavailable)
    client.close()
    assert bench.files() == before
    assert bench.draw.count == 1


def test_a_second_schema_comes_whole(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    decided(bench)
    before = bench.files()
    script = "ALTER TABLE events ADD COLUMN app TEXT;\n"
    monkeypatch.setattr(state_file, "_SCHEMA_VERSION", 2)
    for interrupted in (True, False):
        more = "INSERT INTO what_is_not_there VALUES (1);" if interrupted else ""
        monkeypatch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, script + more))
        client = bench.client()
        outcome = client.report(NAME, "good")
        client.close()
        if interrupted:
            assert isinstance(outcome.error, StateUnavailable)
            assert bench.files() == before
    assert outcome.status is REPEATED
    assert bench.rows("SELECT DISTINCT app FROM events") == [(None,)]
    assert bench.rows("PRAGMA user_version") == [(2,)]


@pytest.mark.parametrize("how", ["replaced", "deleted", "moved over"])
def test_d5_a_state_that_is_gone_decides_no_more(bench: Bench, tmp_path: Path, how: str) -> None:
    # Else two processes decide the same epochs, each in a file of its own.
    client = bench.ready()
    if how == "moved over":
        (tmp_path / "elsewhere").mkdir()
        with Bench(tmp_path / "elsewhere") as other:
            other.reported().close()
            other.path.replace(bench.path)
    else:
        bench.path.unlink()
    if how == "replaced":
        another = bench.ready()
        bench.clock.time += DAY
        assert another.report(NAME, "good").status is RECORDED
    before, drawn = bench.files(), bench.draw.count
    error = client.report(NAME, "good").error
    assert isinstance(error, StateUnavailable)
    assert how != "moved over" or "was replaced" in str(error)
    assert isinstance(client.flush().error, StateUnavailable)
    assert bench.draw.count == drawn
    assert bench.transport.uploads == []
    assert bench.files().get("device.sqlite") == before.get("device.sqlite")


@pytest.mark.parametrize("is_database", [False, True])
def test_a_file_that_was_never_a_state_is_not_touched(bench: Bench, is_database: bool) -> None:
    if is_database:
        bench.rows("CREATE TABLE letters (text TEXT)")
    else:
        bench.path.write_bytes(b"somebody's letters\n")
    before = bench.path.read_bytes()
    outcome = bench.client(consent="on").report(NAME, "good")
    assert isinstance(outcome.error, StateUnavailable)
    assert ("another program" in str(outcome.error)) == is_database
    assert "give a different path" in str(outcome.error)
    # SQLite may note in a database's header that it has a log now; nothing else changes.
    assert bench.path.read_bytes()[100:] == before[100:]


@pytest.mark.parametrize("place", ["folder", "below a file", "looping link", "no device", "mark"])
def test_a_path_that_can_hold_no_state_is_an_outcome_and_one_warning(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    if place == "folder":
        bench.path.mkdir()
    elif place == "below a file":
        (tmp_path / "file").touch()
        bench.path = tmp_path / "file" / "device.sqlite"
    elif place == "looping link":
        bench.path.symlink_to(bench.path)
    elif place == "mark":
        bench.mark.mkdir()
    else:
        bench.path = Path("/dev/full/device.sqlite")
    client = bench.client()
    for _ in range(3):
        assert isinstance(client.report(NAME, "good").error, StateUnavailable)
        delivery = client.flush()
        assert (type(delivery.error), delivery.pending) == (StateUnavailable, None)
        link: BaseException | None = delivery.error
        while link is not None:  # an app may keep it, and frames hold sockets and more
            assert link.__traceback__ is None
            link = link.__cause__ or link.__context__
        assert isinstance(client.refresh(force=True).errors[NAME], StateUnavailable)
    with pytest.raises(StateUnavailable):
        client.report(NAME, "good", strict=True)
    with pytest.raises(StateUnavailable):
        client.set_consent("on", strict=True)
    assert bench.transport.requests == []
    assert [record.levelname for record in caplog.records].count("WARNING") == 1
    assert bench.draw.count == 0


def test_d5_a_state_that_nobody_can_write_decides_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(path: Path, patience: float | None = None) -> sqlite3.Connection:
        connection = connect_carelessly(path, patience)
        connection.execute("PRAGMA query_only=ON")
        return connection

    decided(bench)
    monkeypatch.setattr(state_file, "_connect", read_only)
    bench.clock.time += DAY
    client = bench.client()
    assert isinstance(client.report(NAME, "good").error, StateUnavailable)
    assert isinstance(client.flush().error, StateUnavailable)
    assert not client.set_consent("off")
    assert (bench.draw.count, bench.transport.uploads) == (1, [])


def test_an_outage_that_returns_warns_twice(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
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


def test_d5_a_state_named_relatively_stays_where_it_was_opened_and_one_in_memory_is_no_file(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = bench.reported(state=IN_MEMORY)
    assert client.report(NAME, "fair").status is REPEATED
    client.close()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.chdir(tmp_path)
    client = bench.ready(state="device.sqlite")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert client.report(NAME, "good").status is RECORDED
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_d5_damage_while_open_is_said_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    client = bench.reported()
    bench.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(bench.path.read_bytes())
    content[100:] = b"\xa5" * (len(content) - 100)
    bench.path.write_bytes(content)
    outcomes = [client.report(NAME, "good") for _ in range(4)]
    # One call meets the damage; the next one judges the file anew, and replaces it.
    assert isinstance(outcomes[0].error, StateUnavailable)
    client.refresh(force=True)
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    assert bench.rows("SELECT kind FROM events") == [("state-replaced",)]
    aside = [record for record in caplog.records if "has been replaced" in record.getMessage()]
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


def test_another_creator_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    # SQLite reports a possible deadlock at once, however long it may wait elsewhere.
    refusals = ["PRAGMA journal_mode=WAL"] * 3

    class Busy(sqlite3.OperationalError):
        sqlite_errorcode = 5

    class Contended(sqlite3.Connection):
        def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
            if statement in refusals:
                refusals.remove(statement)
                raise Busy("database is locked")
            return super().execute(statement, *arguments)

    contended = partial(sqlite3.connect, factory=Contended)
    monkeypatch.setattr("deniable.client.state.state_file.sqlite3.connect", contended)
    bench.reported()
    assert refusals == []
