"""A successor numbers its epochs on: no device decides an epoch number of a name twice."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable.cli.survey_file import SurveyFile, next_manifest
from deniable.messages import InvalidManifest, Manifest
from tests.cli.commands import SURVEY

ORIGIN = "http://127.0.0.1:8377"
HOUR, DAY, WEEK = 3600, 86_400, 604_800
MIDNIGHT = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())
FILE = replace(SurveyFile.parse(SURVEY), epochs=8, epoch_seconds=DAY, start=None)


def make(
    predecessor: Manifest | None, now: float, written: SurveyFile = FILE, **changes: int | None
) -> Manifest:
    survey = replace(written, **changes)  # type: ignore[arg-type]
    return next_manifest(survey, predecessor, ORIGIN, b"n" * 16, now)


def begins(manifest: Manifest, first: int) -> int:
    """Return when the survey's epoch with this number begins."""
    return manifest.schedule.epoch_start(first)


def test_the_first_survey_begins_at_midnight_utc_with_epoch_0() -> None:
    for now in (MIDNIGHT, MIDNIGHT + 1.5, MIDNIGHT + DAY - 0.001):
        made = make(None, now)
        assert (made.schedule.start, made.sequence, made.nonce) == (MIDNIGHT, 0, b"n" * 16)
        assert made.schedule.epoch_at(now) == 0


def test_a_start_that_is_written_is_kept() -> None:
    assert make(None, MIDNIGHT, start=MIDNIGHT + 5).schedule.start == MIDNIGHT + 5
    first = make(None, MIDNIGHT)
    assert make(first, MIDNIGHT + HOUR, start=MIDNIGHT + 5).schedule.start == MIDNIGHT + 5


@pytest.mark.parametrize("current", [0, 3])
@pytest.mark.parametrize("length", [HOUR, DAY, WEEK])
def test_a_start_that_makes_devices_wait_for_more_than_an_epoch_is_refused(
    current: int, length: int
) -> None:
    # The first free number is current + 1; it may begin up to one epoch after the current one ends.
    first, now = make(None, MIDNIGHT), MIDNIGHT + current * DAY + HOUR
    ends = MIDNIGHT + (current + 1) * DAY
    latest = ends + length - (current + 1) * length
    assert (
        begins(make(first, now, epoch_seconds=length, start=latest), current + 1) == ends + length
    )
    with pytest.raises(InvalidManifest, match="makes devices wait") as caught:
        make(first, now, epoch_seconds=length, start=latest + 1)
    assert caught.value.field == "start"


def test_the_sequence_grows_by_one() -> None:
    made = [make(None, MIDNIGHT)]
    for _ in range(3):
        made.append(make(made[-1], MIDNIGHT))
    assert [manifest.sequence for manifest in made] == [0, 1, 2, 3]


@pytest.mark.parametrize("current", [0, 3, 6])
@pytest.mark.parametrize("length", [HOUR, DAY, WEEK, 2 * WEEK + 7])
def test_a_successor_goes_on_with_the_next_number_when_the_current_epoch_ends(
    current: int, length: int
) -> None:
    first = make(None, MIDNIGHT)
    for now in (MIDNIGHT + current * DAY, MIDNIGHT + (current + 1) * DAY - 1):
        second = make(first, now, epoch_seconds=length)
        assert begins(second, current + 1) == MIDNIGHT + (current + 1) * DAY
        assert second.schedule.epoch_seconds == length


def test_a_successor_of_a_survey_not_yet_begun_takes_its_place() -> None:
    first = make(None, MIDNIGHT, start=MIDNIGHT + 3 * DAY)
    second = make(first, MIDNIGHT)
    assert begins(second, 0) == MIDNIGHT + 3 * DAY


def test_a_successor_of_a_survey_that_just_ended_begins_where_it_ended() -> None:
    first = make(None, MIDNIGHT, start=MIDNIGHT + HOUR, epochs=2)
    now = first.schedule.end + HOUR
    second = make(first, now)
    assert begins(second, 2) == first.schedule.end
    assert second.schedule.epoch_at(now) == 2


@pytest.mark.parametrize("later", [1, 7, 400])
def test_a_successor_of_a_survey_long_over_begins_today(later: int) -> None:
    # It would otherwise be over, or partly so, before it is published.
    first = make(None, MIDNIGHT, epochs=2)
    today = first.schedule.end + later * DAY
    second = make(first, today + HOUR)
    assert begins(second, 2) == today
    assert second.schedule.epoch_at(today + HOUR) == 2


@pytest.mark.parametrize(("current", "least"), [(0, 2), (3, 5), (6, 8)])
def test_epochs_must_exceed_the_numbers_already_used(current: int, least: int) -> None:
    first, now = make(None, MIDNIGHT), MIDNIGHT + current * DAY + HOUR
    with pytest.raises(InvalidManifest, match=f"must exceed {least - 1}:") as caught:
        make(first, now, epochs=least - 1)
    assert caught.value.field == "epochs"
    assert make(first, now, epochs=least).schedule.epochs == least


def test_when_every_epoch_is_used_as_many_more_must_be_asked_for() -> None:
    first = make(None, MIDNIGHT)
    with pytest.raises(InvalidManifest, match="must exceed 8:"):
        make(first, MIDNIGHT + 100 * DAY)
    assert make(first, MIDNIGHT + 100 * DAY, epochs=9).schedule.epochs == 9


def test_an_epoch_too_long_to_number_on_from_is_the_epochs_fault() -> None:
    first = make(None, MIDNIGHT)
    with pytest.raises(InvalidManifest, match="too long") as caught:
        make(first, MIDNIGHT, epoch_seconds=MIDNIGHT + 2 * DAY)
    assert caught.value.field == "epoch"


def test_a_start_before_1970_is_the_starts_fault() -> None:
    for predecessor in (None, make(None, MIDNIGHT)):
        with pytest.raises(InvalidManifest) as caught:
            make(predecessor, MIDNIGHT, start=-1)
        assert caught.value.field == "start"


steps = st.lists(
    st.tuples(
        st.sampled_from([HOUR, DAY, WEEK]),  # the successor's epoch
        st.integers(0, 40 * DAY),  # how much later it is published
    ),
    max_size=5,
)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(steps)
def test_no_number_is_given_to_two_times_that_a_device_could_have_reported_in(
    chain: list[tuple[int, int]],
) -> None:
    """Follow a device that always has the newest manifest, and reports whenever it may."""
    now = MIDNIGHT + 0.0
    held = make(None, now, epochs=9_000)
    decided = -1
    for length, wait in chain:
        # Until the next publication the device decides every epoch that begins.
        epoch = held.schedule.epoch_at(now + wait)
        decided = max(decided, -1 if epoch is None else epoch)
        now += wait
        assume(decided < 8_000)
        held = make(held, now, epochs=9_000, epoch_seconds=length)
        after = held.schedule.epoch_at(now)
        # What the successor calls the present was decided before, or has not begun; and the first
        # number that is free begins as soon as the predecessor's current epoch is over.
        assert after is None or after <= decided
        assert begins(held, decided + 1) > now
