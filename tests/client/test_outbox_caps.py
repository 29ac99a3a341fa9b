"""Caps of the outbox: the oldest go first, are counted by reason, and undo no decision (D4)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from deniable.client import Client, OutboxCaps
from deniable.mechanisms import exact_epsilon
from deniable.messages import Report, Schedule, sign_report
from tests.support.devices import PORTAL, UNREACHABLE, Bench, read_upload
from tests.support.surveys import DAY, DECLARED, START, manifest

WEEK = 7 * DAY
EPOCHS = 400
LONG = manifest(schedule=Schedule(START, DAY, EPOCHS, 2000 * DAY))


def daily(bench: Bench, days: int, **changes: Any) -> Client:
    """Return a client that has reported on so many days, and could send nothing."""
    bench.transport.publish(LONG)
    bench.transport.answer = UNREACHABLE
    client = bench.ready(
        surveys=[replace(DECLARED, max_grace_seconds=2000 * DAY)],
        lifetime_epsilon=EPOCHS * exact_epsilon(LONG.epsilon),
        **changes,
    )
    bench.report_daily(client, range(days))
    return client


def ends(bench: Bench) -> list[tuple[int, str, str]]:
    return bench.rows("SELECT epoch, status, verdict FROM decisions ORDER BY epoch")


@contextmanager
def unchanged_budget(bench: Bench) -> Iterator[None]:
    query = "SELECT count(*), sum(cost), max(epoch) FROM decisions"
    before = bench.rows(query)
    yield
    assert bench.rows(query) == before


@pytest.mark.parametrize(
    ("caps", "kept", "verdict"),
    [
        (OutboxCaps(reports=4), 4, "cap-number"),
        (OutboxCaps(bytes=1024), 5, "cap-bytes"),  # a report without credential weighs 192
        (OutboxCaps(reports=8, bytes=8 * 192, days=7), 8, ""),
    ],
)
def test_adding_drops_the_oldest(bench: Bench, caps: OutboxCaps, kept: int, verdict: str) -> None:
    client = daily(bench, 8, caps=caps)
    dropped = [(epoch, "dropped", verdict) for epoch in range(8 - kept)]
    assert ends(bench) == dropped + [(epoch, "pending", "") for epoch in range(8 - kept, 8)]
    assert bench.rows("SELECT settled FROM decisions WHERE settled NOT NULL") == [
        ((START + days * DAY) // DAY * DAY,) for days in range(kept, 8)
    ]
    assert client.flush(1).pending == kept


def test_a_report_that_waited_too_long_is_dropped_with_the_next_send(bench: Bench) -> None:
    client = daily(bench, 5, caps=OutboxCaps(days=10))
    bench.clock.time = START + 6 * DAY
    client.flush(0)  # it looks at the clock: the device is in use
    bench.clock.time = START + 12 * DAY
    with unchanged_budget(bench):
        delivery = client.flush(1)
    assert (delivery.pending, delivery.reasons) == (3, {"cap-age": 2})
    assert [verdict for _, _, verdict in ends(bench)] == ["cap-age", "cap-age", "", "", ""]


@pytest.mark.parametrize("jump", [30 * DAY, 1000 * DAY])
def test_a_clock_put_forward_makes_nothing_older_than_a_week(bench: Bench, jump: int) -> None:
    client = daily(bench, 1, caps=OutboxCaps(days=8))
    bench.clock.time = START + jump
    assert client.flush(1).pending == 1
    bench.clock.time = START + 10  # and put back
    assert client.flush(1).pending == 1
    # A jump counts for a week: the second of them, or real use, brings it over eight days.
    bench.clock.time = START + jump + WEEK + DAY
    client.flush(1)
    bench.clock.time += DAY + 1
    assert client.flush(1).reasons == {"cap-age": 1}


def test_an_update_may_lower_the_caps(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    daily(bench, 6).close()
    caplog.clear()
    ((envelope,),) = bench.rows("SELECT envelope FROM decisions WHERE epoch = 0")
    client = bench.client(caps=OutboxCaps(reports=2))
    bench.transport.answer = PORTAL
    with unchanged_budget(bench):
        delivery = client.flush(1)
    assert (delivery.pending, delivery.reasons) == (2, {"cap-number": 4})
    assert bench.on_disk(envelope[-60:-10]) == []
    assert len({read_upload(body).report.epoch for body in bench.transport.uploads}) == 2
    (line,) = [record for record in caplog.records if "cap-" in record.getMessage()]
    assert line.getMessage() == "the oldest reports were dropped: 4 by cap-number"
    assert (line.name, line.levelno) == ("deniable", logging.WARNING)


def test_each_reason_is_counted_by_itself(bench: Bench) -> None:
    daily(bench, 9, caps=OutboxCaps(days=200, reports=7)).close()
    client = bench.client(caps=OutboxCaps(bytes=1024))
    client.flush(1)
    client.set_consent("off")
    assert client.flush(1).reasons == {"cap-bytes": 2, "cap-number": 2, "consent-withdrawn": 5}


def test_every_report_of_a_mode_weighs_the_same() -> None:
    secret = bytes(range(32))
    for credential in (None, bytes(64)):
        weights = {
            -(-len(sign_report(secret, Report(bytes(32), epoch, response), credential)) // 64)
            for epoch in (0, 127, 128, 255, 256, 9_999)
            for response in (0, 127, 128, 255, 256, 65_535, 65_536, 2**32)
        }
        assert len(weights) == 1


def test_caps_leave_room_for_a_report() -> None:
    for wrong in ({"reports": 0}, {"bytes": 1023}, {"days": 0}, {"days": -1}):
        with pytest.raises(ValueError, match="at least one report"):
            OutboxCaps(**wrong)
