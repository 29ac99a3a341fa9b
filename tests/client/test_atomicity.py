"""Charge, draw and bytes are one transaction (D5), also within a call that is interrupted."""

import logging
import re
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any, cast

import pytest

from deniable.client import Client, Delivery, Outcome, OutcomeStatus, StateUnavailable
from deniable.client.client import engine_of
from deniable.client.state.mark import Mark
from deniable.messages import Schedule, sign_manifest
from deniable.messages.bundle import make_bundle
from tests.support.devices import NAME, Bench, read_upload
from tests.support.processes import ROOT, free_port, run
from tests.support.readme_app import DISKS
from tests.support.surveys import AUTHORITY, CATEGORIES, DAY, START, manifest
from tests.support.watched import until

LONG = Schedule(START, DAY, 400, 90 * DAY)
RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED
STATEMENTS = 24
"""Of one report, the last of which commits it."""


class Failing:
    """A connection whose nth statement fails, as a full disk or a dying one would make it.

    ``late``: it is carried out all the same, and only its answer is lost.
    """

    def __init__(self, real: sqlite3.Connection, at: int, *, late: bool = False) -> None:
        self._real, self._at, self._late = real, at, late
        self.statements: list[str] = []

    def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        self.statements.append(statement)
        fails = len(self.statements) - 1 == self._at
        if not fails or self._late:
            cursor = self._real.execute(statement, *arguments)
        if fails:
            raise sqlite3.OperationalError("disk I/O error")
        return cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def connection_of(client: Client) -> sqlite3.Connection:
    connection = engine_of(client).state._connection
    assert connection is not None
    return connection


@contextmanager
def broken(client: Client, at: int, *, late: bool = False) -> Iterator[list[str]]:
    """Make one of the client's statements in the block fail; yield the list of them."""
    state, real = engine_of(client).state, connection_of(client)
    failing = Failing(real, at, late=late)
    state._connection = cast("sqlite3.Connection", failing)
    yield failing.statements
    state._connection = real


def test_d5_a_report_is_consent_charge_draw_and_bytes_in_one_transaction(bench: Bench) -> None:
    with broken(client := bench.ready(), -1) as statements:
        assert client.report(NAME, "good").status is RECORDED
    decision = [statement.split()[0] for statement in statements]
    assert (decision[0], decision[-1], len(decision)) == ("BEGIN", "COMMIT", STATEMENTS)
    assert decision.count("BEGIN") == decision.count("COMMIT") == 1
    assert "INSERT" in decision


@pytest.mark.parametrize("at", range(STATEMENTS))
def test_d5_whichever_statement_fails_nothing_is_decided_or_sent(bench: Bench, at: int) -> None:
    client = bench.ready()
    with broken(client, at):
        outcome = client.report(NAME, "good")
        assert isinstance(outcome.error, StateUnavailable)
        assert outcome.status is OutcomeStatus.NOT_RECORDED
        assert bench.rows("SELECT * FROM decisions") == []
        assert bench.rows("SELECT generation FROM device") == [(0,)]
    assert client.flush() == Delivery()
    assert client.report(NAME, "good").status is RECORDED
    assert client.report(NAME, "poor").status is REPEATED
    client.flush()
    assert len(bench.transport.uploads) == 1


def test_d5_a_commit_whose_answer_was_lost_is_found_by_the_next_call(bench: Bench) -> None:
    client = bench.ready()
    with broken(client, STATEMENTS - 1, late=True) as statements:
        assert isinstance(client.report(NAME, "good").error, StateUnavailable)
    assert statements[STATEMENTS - 1] == "COMMIT"
    assert client.report(NAME, "good").status is REPEATED
    client.flush()
    assert (bench.draw.count, len(bench.transport.uploads)) == (1, 1)


def test_d5_marks_are_written_under_the_lock(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two processes write the same file: the mark of the one must not tear that of the other.
    client = bench.ready()
    connection = connection_of(client)
    locked: list[bool] = []
    write = Mark.write

    def watched(mark: Mark, state: Path) -> None:
        locked.append(connection.in_transaction)
        write(mark, state)

    monkeypatch.setattr(Mark, "write", watched)
    with broken(client, STATEMENTS - 1):
        assert isinstance(client.report(NAME, "good").error, StateUnavailable)
    assert client.report(NAME, "good").status is RECORDED
    assert locked == [True, True, True]  # before the commit, after it failed, and again
    assert not connection.in_transaction


def test_d5_on_a_full_disk_nothing_is_decided_and_nothing_decided_is_lost(bench: Bench) -> None:
    bench.transport.publish(manifest(schedule=LONG))
    client = bench.ready(lifetime_epsilon="1000")
    connection = connection_of(client)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count={pages + 2}")
    outcomes: list[Outcome] = []
    while len(outcomes) < 400 and (not outcomes or outcomes[-1].ok):
        bench.clock.time = START + len(outcomes) * DAY
        outcomes.append(client.report(NAME, "good"))
    full = outcomes.pop()
    assert isinstance(full.error, StateUnavailable)
    assert outcomes
    assert bench.rows("SELECT count(*) FROM decisions") == [(len(outcomes),)]
    connection.execute("PRAGMA max_page_count=4294967294")
    assert client.report(NAME, "good").status is RECORDED
    assert client.flush(100).delivered == len(outcomes) + 1
    epochs = [read_upload(body).report.epoch for body in bench.transport.uploads]
    assert sorted(epochs) == list(range(len(outcomes) + 1))


def race(clients: list[Client]) -> list[Outcome]:
    """Let every client report at the same moment, each its own answer."""
    barrier = threading.Barrier(len(clients))

    def report(client: Client, answer: str) -> Outcome:
        barrier.wait(30)
        outcomes = [client.report(NAME, answer)]

        def decided() -> bool:
            # SQLite does not wait for a lock while another connection makes a new file's log.
            if unavailable := isinstance(outcomes[-1].error, StateUnavailable):
                outcomes.append(client.report(NAME, answer))
            return not unavailable

        until(decided)
        return outcomes[-1]

    with ThreadPoolExecutor(len(clients)) as pool:
        answers = islice(cycle(CATEGORIES), len(clients))
        return [*pool.map(report, clients, answers, timeout=60)]


@pytest.mark.parametrize("shared", [True, False])
def test_d5_of_all_who_race_one_draws_and_others_read_its_row(bench: Bench, shared: bool) -> None:
    bench.transport.publish(manifest(schedule=LONG))
    first = bench.ready(lifetime_epsilon="1000")
    clients = [first, *(first if shared else bench.client() for _ in range(5))]
    for day in range(6):
        bench.clock.time = START + day * DAY
        statuses = [outcome.status for outcome in race(clients)]
        assert sorted(statuses) == [RECORDED] + 5 * [REPEATED]
        assert bench.draw.count == day + 1
    for client in clients:
        client.flush()
    assert len(set(bench.transport.uploads)) == 6


def test_d5_who_races_for_a_state_that_does_not_exist_yet_still_decides_once(bench: Bench) -> None:
    bundled = [bench.transport.publish(manifest())]
    statuses = [each.status for each in race([bench.client(manifests=bundled) for _ in range(6)])]
    assert sorted(statuses) == [RECORDED] + 5 * [REPEATED]
    assert bench.draw.count == 1
    bench.close()
    # And the file is the newest state of this device, not a copy of one.
    bench.report_daily(bench.client(), [1])
    bench.close()
    bench.clock.time = START + 2 * DAY
    again = bench.client()
    assert again.consent == "on"  # it is open
    ((secret,),) = bench.rows("SELECT secret FROM device")
    assert again.report(NAME, "good").status is RECORDED
    assert bench.rows("SELECT secret, fresh_from < 0 FROM device") == [(secret, 1)]


def test_a_report_within_a_report_is_turned_away_and_disturbs_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.ready()
    inner: list[Outcome] = []

    def draw() -> int:  # within the one transaction
        inner.append(client.report(NAME, "poor"))
        return bench.draw()

    client = bench.client(unsafe_draw=draw)
    with caplog.at_level(logging.WARNING, "deniable"):
        assert client.report(NAME, "good").status is RECORDED
    (turned_away,) = inner
    assert isinstance(turned_away.error, StateUnavailable)
    assert "interrupted" in str(turned_away.error)
    assert caplog.messages == []  # no outage of the disk
    assert client.report(NAME, "good").status is REPEATED


RECORDS = {"new"}
QUICK = {"new", "read-only", "full", "locked"}
"""Of the others test_state_file and test_atomicity tell the same without a process."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder whose parents anybody may enter, unlike those of ``tmp_path``."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        yield Path(path)


@pytest.mark.parametrize(
    "disk",
    [disk if disk in QUICK else pytest.param(disk, marks=pytest.mark.long) for disk in DISKS],
)
def test_d5_readmes_app_ends_and_hangs_on_no_disk(folder: Path, disk: str) -> None:
    origin = f"http://127.0.0.1:{free_port()}"
    survey = manifest(origin=origin, schedule=Schedule(int(time.time()) - DAY // 2, DAY, 8, DAY))
    bundle = make_bundle([sign_manifest(survey, AUTHORITY)], AUTHORITY.public_key)
    (folder / "rating-of-marriage.json").write_bytes(bundle.to_json())
    section = (ROOT / "README.md").read_text("utf-8").partition("## In your app")[2]
    match = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert match is not None
    app = match[1].replace("https://telemetry.example.org", origin)
    app = re.sub(r'"[0-9a-f]{64}"', repr(AUTHORITY.public_key.hex()), app)
    program = folder / "app.py"
    program.write_text(app, "utf-8")
    command = [sys.executable, "-m", "tests.support.readme_app", disk, str(folder), str(program)]
    done = run(command, typed="y\ny\n")
    assert done.stdout.splitlines()[-1] == ("recorded" if disk in RECORDS else "not-recorded")
    assert "Traceback" not in done.stderr
