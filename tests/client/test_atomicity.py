"""Charge, draw and bytes are one transaction (D5), also within a call that is interrupted."""

import logging
import sqlite3
import threading
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
from deniable.messages import Schedule
from tests.support.devices import NAME, Bench, read_upload
from tests.support.surveys import CATEGORIES, DAY, START, manifest
from tests.support.watched import until

LONG = Schedule(START, DAY, 400, 90 * DAY)
RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED
STATEMENTS = 22
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
            # On a slow machine the others may hold the lock for longer than a report waits.
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


def test_a_report_within_one_is_turned_away(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
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
