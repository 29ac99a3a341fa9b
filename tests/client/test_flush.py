"""Sending what waits: one report a request (D7), the same bytes, erased in the end; and its caps.

The oldest go first, are counted by reason, and undo no decision (D4).
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from deniable.client import Client, Consent, Delivery, StateUnavailable
from deniable.client.client import engine_of
from deniable.client.consent import ConsentRecord
from deniable.client.sending.outbox import Outbox
from deniable.client.state.state import State
from deniable.mechanisms import exact_epsilon
from deniable.messages import Manifest, RefusalCode, Schedule
from tests.support.devices import DUPLICATE, NAME, UNREACHABLE, Bench, read_upload, refused
from tests.support.surveys import DAY, DECLARED, MANIFEST, START, manifest

WEEK = 7 * DAY
EPOCHS = 400
LONG = manifest(schedule=Schedule(START, DAY, EPOCHS, 2000 * DAY))
UNGRACIOUS = manifest(schedule=Schedule(START, DAY, EPOCHS, 0))


def test_d7_each_report_has_a_request_of_its_own_and_shares_only_its_form(bench: Bench) -> None:
    client = bench.several(4)
    bench.clock.time = START + DAY
    assert client.report("survey-0", "good").ok
    assert client.flush() == Delivery(delivered=5)
    posts = [request for request in bench.transport.requests if request.method == "POST"]
    assert {request.path for request in posts} == {"/v1/reports"}
    kind = {"Content-Type": "application/msgpack"}
    assert [dict(request.headers) for request in posts] == 5 * [kind]
    signed = [read_upload(body) for body in bench.transport.uploads]  # which has one report
    assert len({report.public_key for report in signed}) == 5
    assert len({report.signature for report in signed}) == 5
    assert [report.credential for report in signed] == 5 * [None]


def test_a_flush_sends_once_what_is_due_again_until_it_is_acknowledged(bench: Bench) -> None:
    client = bench.reported()
    bench.transport.answer = UNREACHABLE
    assert client.flush(10) == Delivery(pending=1)
    assert (len(bench.transport.uploads), bench.clock.time) == (1, START)
    # The app asks again, perhaps because the network is back: it is tried again, once.
    assert client.flush(10) == Delivery(pending=1)
    assert (len(bench.transport.uploads), bench.clock.time) == (2, START)
    # The third send and later ones are a day apart, whoever asks.
    for sends in (3, 4, 5):
        bench.clock.time += DAY - 1
        assert client.flush(0.5) == Delivery(pending=1)
        assert len(bench.transport.uploads) == sends - 1
        bench.clock.time += DAY / 4 + 1
        assert client.flush(1) == Delivery(pending=1)
        assert len(bench.transport.uploads) == sends
    bench.transport.answer = DUPLICATE
    bench.clock.time += 1.25 * DAY
    for delivered in (1, 0):  # and never after
        assert client.flush() == Delivery(delivered=delivered)
    assert (len(bench.transport.uploads), len(set(bench.transport.uploads))) == (6, 1)


@pytest.mark.parametrize("ahead", [MANIFEST.schedule.closes(0) + 400 * DAY, START + 2.5 * DAY])
def test_d3_no_clock_of_the_device_ends_a_report_or_strands_it(bench: Bench, ahead: float) -> None:
    client = bench.reported()
    bench.transport.answer = UNREACHABLE
    bench.clock.time = ahead
    assert client.flush(1) == Delivery(pending=1)
    bench.clock.time = START + 0.1 * DAY  # the clock was wrong, and is set right
    bench.transport.answer = DUPLICATE
    assert client.flush(5000) == Delivery(delivered=1)


def test_d9_delivered_bytes_are_erased_after_the_grace_and_dropped_ones_now(bench: Bench) -> None:
    client = bench.reported()
    envelope = bench.envelope
    client.flush()
    bench.clock.time = MANIFEST.schedule.closes(0) - 1
    client.flush()
    assert bench.envelope == envelope
    bench.transport.answer = refused(RefusalCode.OUT_OF_DOMAIN)
    bench.clock.time = MANIFEST.schedule.closes(0)
    assert client.report(NAME, "good").ok
    ((dropped,),) = bench.rows("SELECT envelope FROM decisions WHERE status = 'pending'")
    assert client.flush() == Delivery(dropped=1)
    assert bench.on_disk(envelope[-60:-10]) + bench.on_disk(dropped[-60:-10]) == []
    ends = bench.rows("SELECT name, epoch, status, envelope FROM decisions ORDER BY epoch")
    assert ends == [(NAME, 0, "delivered", None), (NAME, 2, "dropped", None)]


@pytest.mark.parametrize("days", [0.5, 2, 30])  # before, as and after they close
def test_d7_what_has_waited_long_is_not_sent_in_one_burst(bench: Bench, days: float) -> None:
    # A device that was offline: even reports that are too late by its clock would be linked.
    uploader = engine_of(bench.several(5)).uploader
    now = bench.clock.time = START + days * DAY
    pause = uploader.send_due()
    dues = [due for (due,) in bench.rows("SELECT due FROM decisions WHERE status = 'pending'")]
    assert len(set(dues)) == 4
    assert all(now < due <= now + 3600 for due in dues)
    assert pause == min(dues) - now
    for _ in range(10):
        uploader.send_due()
    assert len(bench.transport.uploads) == 1
    bench.clock.time += 3600
    for _ in range(10):
        uploader.send_due()
    assert 2 <= len(bench.transport.uploads) <= 5


def test_what_was_sent_before_an_error_counts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = bench.several(3)
    follow = Outbox.follow

    def fail_after_two(outbox: Outbox, *arguments: Any) -> None:
        if len(bench.transport.uploads) > 2:
            raise StateUnavailable("the disk is full")
        follow(outbox, *arguments)

    monkeypatch.setattr(Outbox, "follow", fail_after_two)
    delivery = client.flush()
    assert (delivery.delivered, delivery.pending) == (2, None)
    assert str(delivery.error) == "the disk is full"
    monkeypatch.undo()
    bench.transport.answer = DUPLICATE
    assert client.flush() == Delivery(delivered=1)
    assert len(set(bench.transport.uploads)) == 3


def test_consent_is_read_as_reports_go(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    client = bench.reported()
    bench.rows("UPDATE device SET consent = 'off'")
    # As if it had been read just before the withdrawal.
    before = ConsentRecord(Consent.ON, Consent.ON, 0, "app")
    monkeypatch.setattr(State, "consent", lambda *_: before)
    client.flush()
    assert bench.transport.uploads == []


def test_each_outage_is_logged_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "deniable")
    client = bench.several(3)
    for number in range(2):
        bench.transport.answer = UNREACHABLE
        client.flush(100)
        bench.transport.answer = refused(RefusalCode.OVERLOADED)
        bench.clock.time += 1.5 * DAY
        client.flush(1)
        bench.clock.time += 1.5 * DAY
        outages = [record for record in caplog.records if "cannot be" in record.getMessage()]
        assert len(outages) == number + 1
    assert {record.name for record in caplog.records} == {"deniable"}


def daily(bench: Bench, days: int, offered: Manifest = LONG, **changes: Any) -> Client:
    """Return a client that has reported on so many days, and could send nothing."""
    bench.transport.publish(offered)
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


def age(bench: Bench, client: Client, days: int) -> None:
    """Let days of use pass, during which the device looks at its clock."""
    for _ in range(days // 6):
        bench.clock.time += 6 * DAY
        client.flush(0)


def test_a_closed_report_that_waited_too_long_is_dropped_with_the_next_send(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    client = daily(bench, 5, UNGRACIOUS)
    ((envelope,),) = bench.rows("SELECT envelope FROM decisions WHERE epoch = 0")
    with unchanged_budget(bench):
        age(bench, client, 174)
        assert client.flush(0).pending == 5
        age(bench, client, 6)
        delivery = client.flush(0)
    assert (delivery.pending, client.journal().dropped) == (1, {"too-old": 4})
    assert [verdict for _, _, verdict in ends(bench)] == [*["too-old"] * 4, ""]
    assert bench.on_disk(envelope[-60:-10]) == []
    (line,) = [record for record in caplog.records if "too long" in record.getMessage()]
    assert line.getMessage() == "reports that waited too long were dropped: 4"
    assert (line.name, line.levelno) == ("deniable", logging.WARNING)


@pytest.mark.parametrize("jump", [30 * DAY, 1000 * DAY])
def test_a_clock_put_forward_makes_nothing_older_than_a_week(bench: Bench, jump: int) -> None:
    client = daily(bench, 1, UNGRACIOUS)
    age(bench, client, 168)
    bench.clock.time += jump
    assert client.flush(0).pending == 1
    bench.clock.time += WEEK  # real use
    assert client.flush(0).pending == 0
    assert client.journal().dropped == {"too-old": 1}
