"""The ceilings of a device: of a name, for its lifetime, and over a sliding period (D3)."""

from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.client import (
    BudgetExhausted,
    ManifestFault,
    NotRecorded,
    OutcomeStatus,
    SlidingCeiling,
)
from deniable.client.ledger.allowance import Reservation
from deniable.mechanisms import InvalidPrivacyParameter
from deniable.messages import Schedule
from tests.support.devices import NAME, Bench, fault_of, why
from tests.support.surveys import DAY, DECLARED, START, manifest

RECORDED = OutcomeStatus.RECORDED
LONG = Schedule(START, DAY, 400, DAY)
MANY = {"lifetime_epsilon": "1000"}


def over_budget(error: NotRecorded | None) -> str:
    """Check that a manifest was refused for what it costs; return what is said of it."""
    assert fault_of(error) is ManifestFault.OVER_BUDGET
    return str(error)


def test_a_names_manifests_cost_no_more_than_its_total_together(bench: Bench) -> None:
    client = bench.reported(surveys=[replace(DECLARED, max_total_epsilon="8")])
    # Of eight epochs one is decided and seven are ahead; a ninth does not fit.
    bench.transport.publish(manifest(sequence=1, schedule=Schedule(START, DAY, 9, DAY)))
    assert "1.000 of 8.000 is reserved" in over_budget(why(client.refresh(force=True)))


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


def test_the_sliding_ceiling_is_additional_to_the_lifetimes(bench: Bench) -> None:
    client = bench.client(lifetime_epsilon="7.9", sliding=SlidingCeiling("100", days=1))
    over_budget(why(client.refresh(force=True)))


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
    assert "2.000 of the 2.500 that this survey may ever cost" in over_budget(
        lowered.report(NAME, "good").error
    )


RESERVATIONS = st.builds(
    lambda starts, seconds, epochs, span, cost: Reservation(
        starts, seconds, epochs, span, cost, -(-epochs // span) * cost
    ),
    *(st.integers(*bounds) for bounds in ((-50, 50), (1, 9), (1, 12), (1, 5), (1, 7))),
)


@given(RESERVATIONS, st.integers(-80, 200), st.integers(-1, 13), st.integers(-80, 200))
def test_d3_what_is_reserved_is_every_range_with_an_undecided_epoch_ahead(
    of: Reservation, now: int, decided: int, until: int
) -> None:
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
