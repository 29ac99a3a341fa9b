"""How many steps a call takes: what is opened, and how often the disk is waited for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count

import pytest

from deniable.client import Client, OutcomeStatus, SlidingCeiling, Survey
from deniable.client.client import engine_of
from deniable.messages import Manifest, Schedule
from deniable.messages.bundle import make_bundle
from tests.support.devices import NAME, Bench
from tests.support.surveys import AUTHORITY, DAY, DECLARED, START, manifest


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the payloads of the manifests that are read from now on."""
    payloads: list[bytes] = []
    real = Manifest.from_payload

    def counted(payload: bytes) -> Manifest:
        payloads.append(payload)
        return real(payload)

    monkeypatch.setattr(Manifest, "from_payload", counted)
    return payloads


@contextmanager
def written(client: Client, now: float) -> Iterator[Callable[[], int]]:
    """Tell how many transactions have held the writer lock."""
    with engine_of(client).state.transaction(now) as connection:
        pass
    begun: list[str] = []
    connection.set_trace_callback(begun.append)
    yield lambda: begun.count("BEGIN IMMEDIATE")
    connection.set_trace_callback(None)


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "in a bundle"])
def test_a_first_report_reads_its_bundle_once(bench: Bench, read: list[bytes], alone: bool) -> None:
    if alone:
        client = bench.client(manifests=bench.transport.envelopes)
    else:
        bundle = make_bundle(bench.transport.envelopes, AUTHORITY.public_key)
        client = bench.client(surveys=[Survey.bundled(bundle.to_json())])
        read.remove(read[0])  # when the file was made
    assert client.report(NAME, "good", strict=True).status is OutcomeStatus.RECORDED
    assert len(read) == 1


def test_a_report_is_one_write_and_sending_it_four(bench: Bench) -> None:
    client = bench.ready()
    client.report(NAME, "good", strict=True)
    bench.clock.time += DAY
    with written(client, bench.clock.time) as count:
        client.report(NAME, "good", strict=True)
        assert count() == 1
    client.flush()
    bench.clock.time += DAY
    client.report(NAME, "good", strict=True)
    with written(client, bench.clock.time) as count:
        assert client.flush().delivered == 1
        assert count() <= 4


def test_what_a_report_reads_and_writes_hardly_grows_with_the_decisions(bench: Bench) -> None:
    bench.transport.publish(manifest(epsilon="0.001", schedule=Schedule(START, DAY, 10_000, DAY)))
    client = bench.ready(
        surveys=[replace(DECLARED, max_total_epsilon="20")], sliding=SlidingCeiling("1", days=30)
    )

    def steps_after(decisions: int) -> int:
        """Return the instructions of SQLite's machine for a report after so many decisions."""
        with engine_of(client).state.transaction(bench.clock.time) as connection:
            connection.executemany(
                "INSERT INTO decisions SELECT :name, :epoch, origin, survey_id, cost,"
                " starts + :gone, ends + :gone, closes + :gone, 'delivered', 'accepted', NULL, 1,"
                " 0, due, held, opens, until, decided, decided, lived + :gone, relayed"
                " FROM decisions WHERE name = :name AND epoch = 0",
                (
                    {"name": NAME, "epoch": epoch, "gone": epoch * DAY}
                    for epoch in range(decided() + 1, decisions - 1)
                ),
            )
            connection.execute("UPDATE device SET lived = ?", ((decisions - 2) * DAY,))
        bench.clock.time = START + (decisions - 1) * DAY
        assert client.report(NAME, "good", strict=True).epoch == decisions - 1  # merges the sums
        client.flush()
        bench.clock.time += DAY
        steps = count()
        connection.set_progress_handler(lambda: next(steps) < 0, 1)
        client.report(NAME, "good", strict=True)
        connection.set_progress_handler(None, 0)
        client.flush()
        return next(steps)

    def decided() -> int:
        return int(bench.rows("SELECT max(epoch) FROM decisions")[0][0])

    client.report(NAME, "good", strict=True)
    young, old = steps_after(500), steps_after(9_999)
    assert old <= 2 * young  # of the sums by day there are 401 at most
