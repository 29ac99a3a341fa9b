"""The ceilings of a device (D3), and what it takes from clocks: of its boot, and of a collector."""

from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.client import (
    BudgetExhausted,
    EpochUndecidable,
    ManifestFault,
    OutcomeStatus,
    SlidingCeiling,
)
from deniable.client.clock import Boot, SystemClock, http_date
from deniable.client.ledger.allowance import Reservation
from deniable.mechanisms import InvalidPrivacyParameter
from deniable.messages import Schedule
from tests.support.clock import FakeClock
from tests.support.devices import NAME, Bench, fault_of, took
from tests.support.losses import decided
from tests.support.surveys import DAY, DECLARED, START, manifest

RECORDED = OutcomeStatus.RECORDED
LONG = Schedule(START, DAY, 400, DAY)
MANY = {"lifetime_epsilon": "1000"}


@pytest.mark.parametrize("epsilon", [-1, "-1", "x", 1.5])
def test_a_ceiling_that_is_no_epsilon_is_refused(epsilon: Any) -> None:
    with pytest.raises((TypeError, InvalidPrivacyParameter)):
        replace(DECLARED, max_total_epsilon=epsilon)
    with pytest.raises((TypeError, InvalidPrivacyParameter)):
        SlidingCeiling(epsilon, days=1)
    with pytest.raises(ValueError, match="days"):
        SlidingCeiling("1", days=0)


def test_the_sliding_ceiling_holds_in_every_period(bench: Bench) -> None:
    bench.transport.publish(manifest(schedule=LONG))
    client, recorded = bench.ready(**MANY, sliding=SlidingCeiling("3", days=10)), []
    for day in range(40):
        bench.clock.time = START + day * DAY
        outcome = client.report(NAME, "good")
        assert outcome.ok or isinstance(outcome.error, BudgetExhausted)
        recorded.append(outcome.ok)
    assert recorded[:12] == [True] * 3 + [False] * 7 + [True] * 2
    assert {sum(recorded[first : first + 10]) for first in range(31)} == {3}


def test_a_clock_set_forward_frees_a_week_at_most(bench: Bench) -> None:
    bench.transport.publish(manifest(schedule=LONG))
    client = bench.reported(**MANY, sliding=SlidingCeiling("1", days=30))
    for _ in range(4):  # each look counts for seven days, however far the clock jumps
        bench.clock.time += 60 * DAY
        assert isinstance(client.report(NAME, "good").error, BudgetExhausted)
    bench.clock.time += 60 * DAY
    assert client.report(NAME, "good").status is RECORDED


def test_a_clock_put_back_ages_nothing(bench: Bench) -> None:
    bench.transport.publish(manifest(schedule=LONG))
    client = bench.ready(**MANY, sliding=SlidingCeiling("1", days=5))
    bench.clock.time = START + 3 * DAY
    assert client.report(NAME, "good").status is RECORDED
    for _ in range(20):  # to and fro over the same days
        for at in (START + DAY, START + 4 * DAY):
            bench.clock.time = at
            assert client.report(NAME, "good").status is not RECORDED
            assert bench.rows("SELECT count(*) FROM decisions") == [(1,)]
    bench.clock.time = START + 8 * DAY
    assert client.report(NAME, "good").status is RECORDED


def test_what_the_sliding_ceiling_refuses_can_be_reported_later_in_the_epoch(bench: Bench) -> None:
    bench.transport.publish(manifest(schedule=Schedule(START, 3 * DAY, 8, DAY)))
    client = bench.reported(sliding=SlidingCeiling("1", days=4))
    bench.clock.time = START + 3 * DAY
    assert isinstance(client.report(NAME, "good").error, BudgetExhausted)
    bench.clock.time = START + 4 * DAY
    assert client.report(NAME, "good").epoch == 1


def test_a_names_total_may_be_lowered_later(bench: Bench) -> None:
    bench.reported()
    lowered = bench.client(surveys=[replace(DECLARED, max_total_epsilon="2.5")])
    bench.clock.time = START + DAY
    assert lowered.report(NAME, "good").status is RECORDED
    bench.clock.time = START + 2 * DAY
    error = lowered.report(NAME, "good").error
    assert fault_of(error) is ManifestFault.OVER_BUDGET
    assert "2.000 of the 2.500 that this survey may ever cost" in str(error)


RESERVATIONS = st.builds(
    lambda starts, seconds, epochs, span, cost: Reservation(
        starts, seconds, epochs, span, cost, -(-epochs // span) * cost
    ),
    *(st.integers(*bounds) for bounds in ((-50, 50), (1, 9), (1, 12), (1, 5), (1, 7))),
)


@given(RESERVATIONS, st.integers(-80, 200), st.integers(-1, 13), st.integers(-80, 200))
def test_d3_ranges_ahead_are_reserved(of: Reservation, now: int, decided: int, until: int) -> None:
    for bound in (inf, until):
        ahead = {
            epoch // of.range_epochs
            for epoch in range(decided + 1, of.epochs)
            if of.starts + (epoch + 1) * of.epoch_seconds > now
            and of.starts + epoch * of.epoch_seconds < bound
        }
        assert of.ahead(now, decided, bound) == len(ahead) * of.range_cost
    # What a range has spent is not reserved as well.
    spent = decided + 1
    assert of.ahead(-1000, -1, inf, spent) == max(0, of.reserved - spent)


class BootedClock(SystemClock):
    """A clock that can be set, on a machine whose boot clock cannot."""

    def __init__(self) -> None:
        self.time = float(START)
        self.boot, self.seconds = "the first boot", 1000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.seconds

    def boot_time(self) -> Boot:
        return self.boot, self.seconds

    def passes(self, seconds: float) -> None:
        self.time += seconds
        self.seconds += seconds


def test_the_machines_boot_clock_is_told_or_there_is_none() -> None:
    first, second = SystemClock().boot_time(), SystemClock().boot_time()
    if first is not None and second is not None:
        assert first[0] == second[0] != ""
        assert 0 < first[1] <= second[1]


def test_in_one_boot_a_clock_set_forward_frees_nothing_and_after_it_a_week(bench: Bench) -> None:
    bench.transport.publish(manifest(schedule=Schedule(START, DAY, 400, DAY)))
    clock, sliding = BootedClock(), SlidingCeiling("1", days=7)
    client = bench.reported(clock=clock, lifetime_epsilon="1000", sliding=sliding)
    clock.passes(DAY)
    clock.time += 60 * DAY
    assert isinstance(client.report(NAME, "good").error, BudgetExhausted)
    page = client.explain().budget
    assert page is not None
    assert page.recent == 10**9
    assert bench.rows("SELECT lived FROM device") == [(DAY,)]
    clock.passes(0.5)
    clock.passes(0.5)
    assert isinstance(client.report(NAME, "good").error, BudgetExhausted)
    assert bench.rows("SELECT lived FROM device") == [(DAY + 1,)]
    clock.boot, clock.seconds = "the second boot", 5.0
    clock.time += 60 * DAY
    assert client.report(NAME, "good").status is RECORDED
    assert bench.rows("SELECT lived FROM device") == [(8 * DAY + 1,)]


def test_a_decision_keeps_the_day_of_use_and_no_finer_time(bench: Bench) -> None:
    client = bench.ready()
    bench.clock.time = START + 5 * 3600
    assert client.report(NAME, "good").status is RECORDED
    bench.clock.time = START + DAY + 1
    assert client.report(NAME, "good").status is RECORDED
    assert bench.rows("SELECT lived FROM decisions") == [(DAY,), (2 * DAY,)]


@pytest.mark.parametrize("ahead", [-400 * DAY, 3 * DAY])
def test_d5_after_a_loss_the_later_of_clock_and_date_counts(bench: Bench, ahead: int) -> None:
    decided(bench)
    bench.path.unlink()
    true, bench.clock = bench.clock, FakeClock(START + 2 * DAY + ahead)
    true.time = START + 2 * DAY
    client = bench.client()
    bench.transport.clock = true  # by which the collector tells the date
    assert took(client.refresh(force=True))
    later = max(true.time, bench.clock.time)
    ((fresh_from, unsure),) = bench.rows("SELECT fresh_from, unsure FROM device")
    assert (fresh_from, unsure) == (later, 0)
    bench.clock.time = later + 0.5
    assert isinstance(client.report(NAME, "good").error, EpochUndecidable)
    bench.clock.time = later + DAY
    assert client.report(NAME, "good").status is RECORDED


@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)))  # noqa: DTZ001 - in UTC
def test_a_date_is_read_as_it_is_written(moment: datetime) -> None:
    moment = moment.replace(tzinfo=UTC, microsecond=0)
    assert http_date(format_datetime(moment, usegmt=True)) == int(moment.timestamp())


def test_only_the_fixed_form_of_a_date_counts() -> None:
    assert http_date("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777
    for text in (
        *("", "784111777", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC"),
        *("Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 6 Nov 1994 08:49:37 GMT"),
        *("Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT"),
        *("Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"),
    ):
        assert http_date(text) is None


def test_within_one_boot_a_clock_that_was_ahead_once_holds_up_no_ceiling(bench: Bench) -> None:
    clock, sliding = BootedClock(), SlidingCeiling("1", days=2)
    bench.transport.publish(manifest(schedule=Schedule(START, DAY, 40, DAY)))
    client = bench.reported(clock=clock, sliding=sliding, lifetime_epsilon="100")
    clock.time += 15 * 365 * DAY
    client.flush()
    clock.time -= 15 * 365 * DAY
    for _ in range(4):
        clock.passes(DAY)
        client.flush()
    assert client.report(NAME, "good").ok
