"""One decision per name and epoch (D3), whatever clock, collector and app do; D4; and events."""

import hashlib
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.client import (
    Client,
    EpochUndecidable,
    ManifestRefused,
    NotChosen,
    NotReady,
    NotRunning,
    Outcome,
    OutcomeStatus,
)
from deniable.client.ledger.ledger import chosen_slot
from deniable.counterparts.signing import sign_manifest
from deniable.messages import Schedule
from tests.support.devices import NAME, Bench, took
from tests.support.effort import THOROUGH
from tests.support.surveys import AUTHORITY, DAY, MANIFEST, START, manifest

RECORDED, REPEATED = OutcomeStatus.RECORDED, OutcomeStatus.REPEATED
HOUR = 3600


def at(bench: Bench, client: Client, day: float) -> Outcome:
    """Report on some day of the survey."""
    bench.clock.time = START + day * DAY
    return client.report(NAME, "good")


_moments = st.one_of(
    st.sampled_from([day + part for day in range(9) for part in (-0.000001, 0, 0.000001)]),
    st.floats(-1, 12),
)
_turns = st.tuples(_moments, st.one_of(st.none(), st.tuples(_moments, st.integers(1, 8))))


@settings(max_examples=200 if THOROUGH else 15)
@given(st.lists(_turns, min_size=2, max_size=7))
def test_d3_whatever_clock_and_authority_do_an_epoch_and_a_moment_are_decided_once(
    turns: list[tuple[float, tuple[float, int] | None]],
) -> None:
    """Report on some days, at times after a successor was published that began on another day."""
    schedule = MANIFEST.schedule
    decided: list[tuple[int, int, int]] = []  # number, start and end of each epoch
    with tempfile.TemporaryDirectory() as folder, Bench(Path(folder)) as bench:
        client = bench.ready(lifetime_epsilon="9999")
        for sequence, (day, successor) in enumerate(turns, start=1):
            now = bench.clock.time = START + day * DAY
            if successor is not None and now >= max((end for *_, end in decided), default=START):
                began, epochs = successor
                offered = Schedule(int(min(now, START + began * DAY)), DAY, epochs, DAY)
                if now < offered.end:
                    schedule = offered
                    bench.transport.publish(manifest(sequence=sequence, schedule=offered))
                    errors = client.refresh(force=True).errors.values()
                    assert not any(isinstance(error, ManifestRefused) for error in errors)
            outcome, epoch = client.report(NAME, "good"), schedule.epoch_at(now)
            if any(now < end for *_, end in decided):
                assert (outcome.status, outcome.epoch) == (REPEATED, decided[-1][0])
            elif epoch is None:
                assert isinstance(outcome.error, NotRunning)
            else:
                start, end = schedule.epoch_start(epoch), schedule.epoch_start(epoch + 1)
                if any(epoch <= other or start < until for other, _, until in decided):
                    assert isinstance(outcome.error, EpochUndecidable)
                else:
                    assert (outcome.status, outcome.epoch) == (RECORDED, epoch)
                    decided.append((epoch, start, end))
            assert bench.draw.count == len(decided)


def test_an_answer_is_wanted_once_in_an_epoch_if_it_would_be_used(bench: Bench) -> None:
    client = bench.client(consent="unset", manifests=[sign_manifest(MANIFEST, AUTHORITY)])
    assert [*client.unanswered] == []
    assert not bench.path.exists()
    for day, consent, wanted in (
        *((1.4, "on", True), (1.8, "on", False), (2, "on", True), (2.4, "off", False)),
    ):
        bench.clock.time, draws = START + day * DAY, bench.draw.count
        if client.consent != consent:
            client.set_consent(consent)
        assert [survey.name for survey in client.unanswered] == [NAME] * wanted
        assert bench.draw.count == draws
        assert not wanted or client.report(NAME, "good").status is RECORDED
    bench.clock.time = START + 3 * DAY
    client.set_consent("on")
    client.set_consent("off", surveys=[NAME])
    assert [*client.unanswered] == []
    client.set_consent("on", surveys=[NAME])
    assert [survey.name for survey in client.unanswered] == [NAME]
    bench.clock.time = MANIFEST.schedule.end
    assert [*client.unanswered] == []


def test_d6_a_report_asks_nothing_and_without_a_manifest_stores_nothing(bench: Bench) -> None:
    client = bench.client()
    assert isinstance(client.report(NAME, "good").error, NotReady)
    assert bench.transport.requests == []
    tables = "SELECT survey_id FROM decisions UNION ALL SELECT survey_id FROM manifests"
    assert bench.rows(tables) == []
    assert bench.draw.count == 0
    client.refresh(force=True)
    asked = len(bench.transport.requests)
    bench.report_daily(client, range(8))
    assert len(bench.transport.requests) == asked


@pytest.mark.parametrize(("slots", "critical"), [(7, 38.26), (168, 268.68)])
def test_every_slot_is_drawn_as_often_over_devices_and_epochs(slots: int, critical: float) -> None:
    # Chi-squared, slots - 1 degrees of freedom: false alarm below 1e-6, and the seeds are fixed.
    draws = 20_000
    secrets = [hashlib.sha256(number.to_bytes(4)).digest() for number in range(draws)]
    over_devices = Counter(chosen_slot(each, NAME, 3, slots) for each in secrets)
    over_epochs = Counter(chosen_slot(secrets[0], NAME, epoch, slots) for epoch in range(draws))
    for found in (over_devices, over_epochs):
        assert set(found) == set(range(slots))
        expected = draws / slots
        assert sum((count - expected) ** 2 / expected for count in found.values()) < critical


def slot_of(bench: Bench, epoch: int, slots: int = 24) -> int:
    """Return the slot that this device draws for an epoch."""
    ((secret,),) = bench.rows("SELECT secret FROM device")
    return chosen_slot(secret, NAME, epoch, slots)


def hours_reported(bench: Bench, client: Client, seconds: int = HOUR) -> list[int]:
    """Report an event an hour, from a client that is made anew at times; return what counted."""
    hours = []
    for hour in range(8 * 24):
        bench.clock.time = START + hour * HOUR + 59 * 60
        outcome = client.report(NAME, "good", slot_seconds=seconds)
        if outcome.status is RECORDED:
            hours.append(hour)
        elif outcome.status is not REPEATED:
            assert isinstance(outcome.error, NotChosen)
        if hour % 25 == 0:
            client.close()
            client = bench.client()
    return hours


def test_of_each_epoch_the_event_of_the_slot_drawn_is_reported_and_no_other(bench: Bench) -> None:
    hours = hours_reported(bench, bench.ready())
    assert hours == [24 * epoch + slot_of(bench, epoch) for epoch in range(8)]
    assert len({hour % 24 for hour in hours}) > 1
    assert bench.draw.count == 8  # what is not chosen draws nothing


def test_slots_that_do_not_divide_the_epoch_leave_a_shorter_one_at_its_end(bench: Bench) -> None:
    hours = hours_reported(bench, bench.ready(), 7 * HOUR)
    assert hours == [24 * epoch + 7 * slot_of(bench, epoch, 4) for epoch in range(8)]


def test_publishing_another_manifest_within_the_epoch_draws_no_other_slot(bench: Bench) -> None:
    client = bench.ready()
    for hour in range(24):
        bench.clock.time = START + hour * HOUR
        if hour % 4 == 0:
            bench.transport.publish(manifest(sequence=hour + 1))
            assert took(client.refresh(force=True))
        if client.report(NAME, "good", slot_seconds=HOUR).status is RECORDED:
            break
    assert hour == slot_of(bench, 0)


def test_slots_are_whole_seconds_and_one_may_be_the_whole_epoch(bench: Bench) -> None:
    client = bench.ready()
    wrong: list[Any] = [0, -1, 3600.0, True, "3600"]
    for slot_seconds in wrong:
        with pytest.raises(ValueError, match="slot_seconds"):
            client.report(NAME, "good", slot_seconds=slot_seconds)
    for day, whole in enumerate((DAY, 2 * DAY, None)):
        bench.clock.time = START + day * DAY
        assert client.report(NAME, "good", slot_seconds=whole).status is RECORDED
