"""A successor numbers its epochs on: no device that comes to it, at any time, has to wait."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.messages import InvalidManifest, Manifest
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from tests.cli.commands import SURVEY
from tests.support.effort import effort

ORIGIN = "http://127.0.0.1:8377"
HOUR, DAY, WEEK = 3600, 86_400, 604_800
MIDNIGHT = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())
FILE = replace(SurveyFile.parse(SURVEY), epochs=8, epoch_seconds=DAY, start=None)


def make(
    predecessor: Manifest | Sequence[Manifest] | None,
    now: float,
    written: SurveyFile = FILE,
    after_epoch: int = -1,
    **changes: int | None,
) -> Manifest:
    survey = replace(written, **changes)  # type: ignore[arg-type]
    before = [predecessor] if isinstance(predecessor, Manifest) else predecessor or []
    return next_manifest(survey, before, ORIGIN, b"n" * 16, now, after_epoch)


def test_the_first_survey_begins_at_midnight_utc_with_epoch_0() -> None:
    for now in (MIDNIGHT, MIDNIGHT + 1.5, MIDNIGHT + DAY - 0.001):
        made = make(None, now)
        assert (made.schedule.start, made.sequence, made.nonce) == (MIDNIGHT, 0, b"n" * 16)
        assert made.schedule.epoch_at(now) == 0


@pytest.mark.parametrize("current", [0, 3])
@pytest.mark.parametrize("length", [HOUR, DAY])
def test_a_start_that_makes_devices_wait_for_more_than_an_epoch_is_refused(
    current: int, length: int
) -> None:
    # The first free number is current + 1; it may begin up to one epoch after the current one ends.
    first, now = make(None, MIDNIGHT), MIDNIGHT + current * DAY + HOUR
    ends = MIDNIGHT + (current + 1) * DAY
    latest = ends + length - (current + 1) * length
    made = make(first, now, epoch_seconds=length, start=latest)
    assert made.schedule.epoch_start(current + 1) == ends + length
    with pytest.raises(InvalidManifest, match="makes devices wait") as caught:
        make(first, now, epoch_seconds=length, start=latest + 1)
    assert caught.value.field == "start"


def test_a_start_must_do_for_those_who_stay_with_the_older_survey_to_its_end() -> None:
    # Then they have decided number 7, and number 8 of the longer epochs is to begin by then.
    first, now = make(None, MIDNIGHT), MIDNIGHT + HOUR
    latest = first.schedule.end - 7 * WEEK
    assert make(first, now, epoch_seconds=WEEK, epochs=9, start=latest).schedule.start == latest
    with pytest.raises(InvalidManifest, match="next one is number 8;"):
        make(first, now, epoch_seconds=WEEK, epochs=9, start=latest + 1)


@pytest.mark.parametrize("current", [0, 3, 6])
@pytest.mark.parametrize("length", [HOUR, DAY])
def test_a_successor_goes_on_with_the_next_number_when_the_current_epoch_ends(
    current: int, length: int
) -> None:
    first = make(None, MIDNIGHT)
    for now in (MIDNIGHT + current * DAY, MIDNIGHT + (current + 1) * DAY - 1):
        second = make(first, now, epoch_seconds=length)
        assert second.schedule.epoch_start(current + 1) == MIDNIGHT + (current + 1) * DAY
        assert second.schedule.epoch_seconds == length


def test_a_successor_of_a_survey_that_does_not_run_begins_where_that_begins_or_ended() -> None:
    coming = make(None, MIDNIGHT, start=MIDNIGHT + 3 * DAY)
    assert make(coming, MIDNIGHT).schedule.epoch_start(0) == MIDNIGHT + 3 * DAY
    ended = make(None, MIDNIGHT, start=MIDNIGHT + HOUR, epochs=2)
    now = ended.schedule.end + HOUR
    second = make(ended, now)
    assert second.schedule.epoch_start(2) == ended.schedule.end
    assert second.schedule.epoch_at(now) == 2
    # After one that is long over it would otherwise be over, or partly so, before it is published.
    first = make(None, MIDNIGHT, epochs=2)
    for later in (1, 7, 400):
        today = first.schedule.end + later * DAY
        second = make(first, today + HOUR)
        assert second.schedule.epoch_start(2) == today
        assert second.schedule.epoch_at(today + HOUR) == 2


@pytest.mark.parametrize(("current", "least"), [(0, 2), (3, 5), (6, 8)])
def test_epochs_must_exceed_the_numbers_already_used(current: int, least: int) -> None:
    first, now = make(None, MIDNIGHT), MIDNIGHT + current * DAY + HOUR
    with pytest.raises(InvalidManifest, match=f"must exceed {least - 1}:") as caught:
        make(first, now, epochs=least - 1)
    assert caught.value.field == "epochs"
    assert make(first, now, epochs=least).schedule.epochs == least


@pytest.mark.parametrize("length", [HOUR, DAY, WEEK])
def test_after_a_lost_store_no_device_waits_for_a_number_that_was_used(length: int) -> None:
    # The lost survey ran by days since midnight; its devices have decided any number up to 40.
    lost = make(None, MIDNIGHT, epochs=400)
    now = MIDNIGHT + 40 * DAY + HOUR
    made = make(None, now, epoch_seconds=length, epochs=100, after_epoch=40)
    for decided in range(41):
        comes = max(lost.schedule.epoch_start(decided + 1), made.schedule.epoch_start(41))
        epoch = made.schedule.epoch_at(comes)
        assert epoch is not None
        assert epoch > decided
    assert made.schedule.epoch_start(41) <= now
    again = make(made, now, epoch_seconds=length, epochs=101)  # it need not be said twice
    assert (again.schedule.start, again.sequence) == (made.schedule.start, 1)
    with pytest.raises(InvalidManifest, match="must exceed 41:"):
        make(None, now, epochs=41, after_epoch=40)
    with pytest.raises(InvalidManifest, match="is to be left out"):
        make(None, now, epochs=100, start=MIDNIGHT, after_epoch=40)


def test_an_epoch_too_long_and_a_start_before_1970_are_named() -> None:
    first = make(None, MIDNIGHT)
    with pytest.raises(InvalidManifest, match="too long") as caught:
        make(first, MIDNIGHT, epoch_seconds=MIDNIGHT + 2 * DAY, epochs=9)
    assert caught.value.field == "epoch"
    for predecessor in (None, first):
        with pytest.raises(InvalidManifest) as caught:
            make(predecessor, MIDNIGHT, start=-1)
        assert caught.value.field == "start"


steps = st.lists(
    st.tuples(
        st.integers(0, 40 * DAY),  # how much later it is published
        st.sampled_from([HOUR, DAY, WEEK, WEEK + 7]),  # its epoch
        st.integers(1, 30),  # how many of them devices can use
    ),
    min_size=1,
    max_size=5,
)


def published(steps: list[tuple[int, int, int]]) -> list[tuple[Manifest, float]]:
    """Return manifests of one name, oldest first, and when each was published."""
    made: list[tuple[Manifest, float]] = []
    now = MIDNIGHT + 0.0
    for wait, length, usable in steps:
        now += wait
        before = [manifest for manifest, _ in reversed(made)]
        try:
            manifest = make(before, now, epoch_seconds=length, epochs=usable)
        except InvalidManifest as error:
            first = int(error.reason.removeprefix("must exceed ").partition(":")[0])
            manifest = make(before, now, epoch_seconds=length, epochs=first + usable)
        made.append((manifest, now))
    return made


@settings(max_examples=effort(500))
@given(steps)
def test_whoever_comes_from_any_older_manifest_at_any_time_has_a_free_number(
    steps: list[tuple[int, int, int]],
) -> None:
    made = published(steps)
    for position, (successor, now) in enumerate(made[1:], 1):
        newest = made[position - 1][0].schedule
        offered = min(max(now, newest.start), newest.end - 1)
        current = newest.epoch_at(offered) if now >= newest.start else -1
        assert current is not None
        begins = max(newest.epoch_start(current + 1), now)
        assert successor.schedule.end > begins
        for older, _ in made[:position]:
            for decided in range(older.schedule.epochs):
                comes = max(older.schedule.epoch_start(decided + 1), begins)
                epoch = successor.schedule.epoch_at(comes)
                assert comes >= successor.schedule.end if epoch is None else epoch > decided
