"""Events: an epoch is reported from one of its slots, drawn ahead, wherever most of them happen."""

import hashlib
from collections import Counter
from typing import Any

import pytest

from deniable.client import Client, NotChosen, OutcomeStatus
from deniable.client.ledger.event_slot import chosen_slot
from deniable.client.testing import Capture
from tests.support.devices import NAME, Bench, took
from tests.support.surveys import DAY, DECLARED, START, manifest

HOUR = 3600
RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED


def secrets(count: int) -> list[bytes]:
    return [hashlib.sha256(number.to_bytes(4)).digest() for number in range(count)]


@pytest.mark.parametrize(("slots", "critical"), [(7, 38.26), (168, 268.68)])
def test_every_slot_is_drawn_as_often_over_devices_and_over_epochs(
    slots: int, critical: float
) -> None:
    # Chi-squared, slots - 1 degrees of freedom: false alarm below 1e-6, and the seeds are fixed.
    draws = 20_000
    (one,) = secrets(1)
    over_devices = Counter(chosen_slot(each, NAME, 3, slots) for each in secrets(draws))
    over_epochs = Counter(chosen_slot(one, NAME, epoch, slots) for epoch in range(draws))
    for found in (over_devices, over_epochs):
        assert set(found) == set(range(slots))
        expected = draws / slots
        assert sum((count - expected) ** 2 / expected for count in found.values()) < critical


def hours_reported(bench: Bench, client: Client, epochs: int) -> list[int]:
    """Report an event an hour, from a client that is made anew at times; return what counted."""
    hours = []
    for hour in range(epochs * 24):
        bench.clock.time = START + hour * HOUR + 59 * 60
        outcome = client.report(NAME, "good", slot_seconds=HOUR)
        if outcome.status is RECORDED:
            hours.append(hour)
        elif outcome.status is not REPEATED:
            assert isinstance(outcome.error, NotChosen)
        if hour % 5 == 0:
            client.close()
            client = bench.client()
    return hours


def test_of_each_epoch_the_event_of_the_slot_drawn_is_reported_and_no_other(bench: Bench) -> None:
    hours = hours_reported(bench, bench.ready(), 8)
    ((secret,),) = bench.rows("SELECT secret FROM device")
    assert hours == [24 * epoch + chosen_slot(secret, NAME, epoch, 24) for epoch in range(8)]
    assert len({hour % 24 for hour in hours}) > 1
    assert bench.draw.count == 8  # what is not chosen draws nothing


def test_publishing_another_manifest_within_the_epoch_draws_no_other_slot(bench: Bench) -> None:
    client = bench.ready()
    ((secret,),) = bench.rows("SELECT secret FROM device")
    for hour in range(24):
        bench.clock.time = START + hour * HOUR
        if hour % 4 == 0:
            bench.transport.publish(manifest(sequence=hour + 1))
            assert took(client.refresh(force=True))
        if client.report(NAME, "good", slot_seconds=HOUR).status is RECORDED:
            break
    assert hour == chosen_slot(secret, NAME, 0, 24)


def test_an_epoch_whose_slot_had_no_event_has_no_report(bench: Bench) -> None:
    client = bench.ready()
    client.report(NAME, "good", slot_seconds=HOUR)
    ((secret,),) = bench.rows("SELECT secret FROM device")
    chosen = chosen_slot(secret, NAME, 2, 24)
    for hour in set(range(24)) - {chosen}:
        bench.clock.time = START + 2 * DAY + hour * HOUR
        assert isinstance(client.report(NAME, "good", slot_seconds=HOUR).error, NotChosen)
        with pytest.raises(NotChosen, match="nothing to do"):
            client.report(NAME, "good", strict=True, slot_seconds=HOUR)
    assert bench.rows("SELECT count(*) FROM decisions WHERE epoch = 2") == [(0,)]


def test_a_preview_is_of_the_same_event_as_a_report_would_be(bench: Bench) -> None:
    client = bench.ready()
    client.set_consent("local")
    found = []
    for hour in range(24):
        bench.clock.time = START + hour * HOUR
        if client.report(NAME, "good", slot_seconds=HOUR).ok:
            found.append(hour)
    ((secret,),) = bench.rows("SELECT secret FROM device")
    assert found == list(range(chosen_slot(secret, NAME, 0, 24), 24))


@pytest.mark.parametrize("slot_seconds", [DAY, 2 * DAY, None])
def test_one_slot_is_the_whole_epoch(bench: Bench, slot_seconds: int | None) -> None:
    assert bench.ready().report(NAME, "good", slot_seconds=slot_seconds).status is RECORDED


def test_slots_that_do_not_divide_the_epoch_leave_a_shorter_one_at_its_end(bench: Bench) -> None:
    client = bench.ready()
    found = []
    for hour in range(8 * 24):
        bench.clock.time = START + hour * HOUR
        if client.report(NAME, "good", slot_seconds=7 * HOUR).status is RECORDED:
            found.append(hour % 24)
    ((secret,),) = bench.rows("SELECT secret FROM device")
    assert found == [7 * chosen_slot(secret, NAME, epoch, 4) for epoch in range(8)]


@pytest.mark.parametrize("slot_seconds", [0, -1, 3600.0, True, "3600"])
def test_slots_are_whole_seconds(bench: Bench, slot_seconds: Any) -> None:
    with pytest.raises(ValueError, match="slot_seconds"):
        bench.ready().report(NAME, "good", slot_seconds=slot_seconds)


def test_in_an_apps_tests_every_event_is_captured(bench: Bench) -> None:
    with Capture() as capture:
        client = bench.client()
        for _ in range(2):
            client.report(DECLARED, "good", slot_seconds=HOUR)
    assert capture.answers(DECLARED) == ["good", "good"]
