"""Epochs: where they begin and end, to the second, and which schedules there are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.messages import InvalidManifest, Schedule, day_text, instant_text
from deniable.messages.schedule import EARLY_SECONDS, MAX_EPOCHS
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(200))

# Three epochs of 100 seconds: [1000, 1100), [1100, 1200), [1200, 1300), and 7 seconds of grace.
SCHEDULE = Schedule(start=1000, epoch_seconds=100, epochs=3, grace_seconds=7)

schedules = st.builds(
    Schedule,
    start=st.integers(0, 2**40),
    epoch_seconds=st.integers(1, 2**30),
    epochs=st.integers(1, MAX_EPOCHS),
    grace_seconds=st.integers(0, 2**40),
)


@pytest.mark.parametrize(("epoch", "opens", "closes"), [(0, 700, 1107), (1, 800, 1207)])
def test_reports_are_taken_from_the_clock_tolerance_before_to_the_grace_after(
    epoch: int, opens: int, closes: int
) -> None:
    # PROTOCOL: open iff start(e) - 300 s <= now < end(e) + grace.
    assert EARLY_SECONDS == 300
    assert SCHEDULE.opens(epoch) == opens
    assert SCHEDULE.closes(epoch) == closes


@PROPERTY
@given(schedules, st.data())
def test_epochs_follow_each_other_without_gap_or_overlap(
    schedule: Schedule, data: st.DataObject
) -> None:
    epoch = data.draw(st.integers(0, schedule.epochs - 1))
    first, beyond = schedule.epoch_start(epoch), schedule.epoch_start(epoch + 1)
    assert beyond - first == schedule.epoch_seconds
    assert schedule.epoch_at(first) == schedule.epoch_at(beyond - 1) == epoch
    assert schedule.epoch_at(first - 1) == (epoch - 1 if epoch else None)
    assert schedule.epoch_at(beyond) == (epoch + 1 if epoch + 1 < schedule.epochs else None)
    # A clock gives floats; a quarter of a second is exact in one at these magnitudes.
    assert schedule.epoch_at(beyond - 0.25) == epoch


@pytest.mark.parametrize(
    ("values", "field"),
    [
        *(((-1, 100, 3, 7), "start"), ((1000, 100, 3, -1), "grace_seconds")),
        *(((1000, length, 3, 7), "epoch_seconds") for length in (0, -100)),
        *(((1000, 100, 0, 7), "epochs"), ((1000, 100, 10_001, 7), "epochs")),
        *(((2**53 - 307, 100, 3, 7), "epochs"), ((0, 2**53, 1, 0), "epochs")),
        *(((0, 1, 1, 2**53 - 1), "epochs"), ((2**62, 1, 1, 0), "epochs")),
    ],
)
def test_a_schedule_outside_the_domain_names_the_field(
    values: tuple[int, int, int, int], field: str
) -> None:
    with pytest.raises(InvalidManifest) as invalid:
        Schedule(*values)
    assert invalid.value.field == field


@pytest.mark.parametrize(
    "values", [(0, 1, 1, 0), (1000, 100, 10_000, 0), (2**53 - 308, 100, 3, 7), (0, 2**53 - 1, 1, 0)]
)
def test_a_schedule_at_the_edge_of_the_domain_is_taken(values: tuple[int, int, int, int]) -> None:
    schedule = Schedule(*values)
    last = schedule.closes(schedule.epochs - 1)
    # Every instant of it is exact in a float, which is what clocks give.
    assert last < 2**53
    assert int(float(last)) == last


FOREIGN = {
    -(2**62): "before the year 1",
    -1: "1969-12-31 23:59 UTC",
    **dict.fromkeys((0, 1), "1970-01-01 00:00 UTC"),
    2**31: "2038-01-19 03:14 UTC",
    **dict.fromkeys((2**53, 2**62, 2**64 - 1), "beyond the year 9999"),
}


@pytest.mark.parametrize(("instant", "shown"), FOREIGN.items())
def test_whatever_a_stranger_calls_a_time_can_be_shown(instant: int, shown: str) -> None:
    assert instant_text(instant) == shown
    assert day_text(instant) == (shown[:10] if shown.endswith("UTC") else shown)
