"""Successors number their epochs on: who follows which, who has to wait, and what runs costs."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.budget import NANO, RangeCost, pure_cost
from deniable.directory.collector_directory import current, running
from deniable.doctor.diagnosis import Status
from deniable.doctor.survey_checks import judge_lifetime
from deniable.messages import InvalidManifest, Manifest, Repeat, Schedule
from deniable.publishing.following import declared, followed, reserved, reserved_by_all
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from tests.cli.commands import SURVEY, Workplace
from tests.support.effort import effort
from tests.support.surveys import CATEGORIES, MANIFEST, START, manifest

ORIGIN = "http://127.0.0.1:8377"
HOUR, DAY, WEEK = 3600, 86_400, 604_800
MIDNIGHT = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())
FILE = replace(SurveyFile.parse(SURVEY), epochs=8, epoch_seconds=DAY, start=None)


def make(
    predecessor: Manifest | Sequence[Manifest] | None,
    now: float,
    written: SurveyFile = FILE,
    **changes: int | None,
) -> Manifest:
    survey = replace(written, **changes)  # type: ignore[arg-type]
    before = [predecessor] if isinstance(predecessor, Manifest) else predecessor or []
    return next_manifest(survey, before, ORIGIN, b"n" * 16, now)


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
    with pytest.raises(InvalidManifest, match="would make devices wait") as caught:
        make(first, now, epoch_seconds=length, start=latest + 1)
    assert caught.value.field == "start"


def test_a_start_must_do_for_those_who_stay_with_the_older_survey_to_its_end() -> None:
    # Then they have decided number 7, and number 8 of the longer epochs is to begin by then.
    first, now = make(None, MIDNIGHT), MIDNIGHT + HOUR
    latest = first.schedule.end - 7 * WEEK
    assert make(first, now, epoch_seconds=WEEK, epochs=9, start=latest).schedule.start == latest
    with pytest.raises(InvalidManifest, match="next epoch is number 8;"):
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


NOW = START + 3 * DAY + 5
TEN = manifest(sequence=1, categories=(*CATEGORIES, "a tenth"))
LATER = manifest(sequence=2, schedule=Schedule(START + 6 * DAY, DAY, 4, DAY))
LATER_STILL = manifest(sequence=3, schedule=Schedule(START + 7 * DAY, DAY, 4, DAY))
COFFEE = manifest(name="coffee", epsilon="2")
ONE = pure_cost(MANIFEST.mechanism)


def test_what_is_over_or_ended_does_not_run() -> None:
    surveys = [LATER, TEN, MANIFEST]
    assert running(surveys, {TEN.survey_id: 1}, NOW) == [LATER, MANIFEST]
    assert running(surveys, {}, MANIFEST.schedule.end) == [LATER]
    assert current([COFFEE, *surveys]) == [COFFEE, LATER]


def test_a_device_follows_the_newest_that_fits_and_has_begun_and_the_next() -> None:
    offered = [LATER_STILL, LATER, TEN, MANIFEST]
    assert followed(declared(MANIFEST), offered, NOW) == [MANIFEST, LATER]
    assert followed(declared(TEN), offered, NOW) == [TEN]
    assert followed(declared(MANIFEST), [LATER_STILL, TEN, MANIFEST], NOW) == [
        MANIFEST,
        LATER_STILL,
    ]
    assert followed(declared(MANIFEST), offered, START + 7 * DAY) == [LATER_STILL]
    assert followed(declared(COFFEE), offered, NOW) == []
    careful = replace(declared(MANIFEST), max_epsilon="0.5")
    assert followed(careful, offered, NOW) == []


def test_what_is_set_aside_is_for_the_epochs_to_come() -> None:
    assert reserved([MANIFEST], START) == reserved([MANIFEST], START - 7 * DAY) == 8 * ONE
    assert reserved([MANIFEST], NOW) == 5 * ONE
    assert reserved([MANIFEST], MANIFEST.schedule.end) == 0
    # The next one takes the place of what is left of the one that has begun.
    assert reserved([MANIFEST, LATER], NOW) == 3 * ONE + 4 * ONE
    kept = manifest(repeat=Repeat("memoised", 4))
    assert reserved([kept], NOW) == 2 * RangeCost.of(kept.mechanism).cumulative(4)


def test_of_a_name_the_declaration_that_costs_most_counts() -> None:
    brief = manifest(sequence=1, categories=("yes", "no"), schedule=Schedule(START, DAY, 5, DAY))
    assert reserved_by_all([brief, MANIFEST], NOW) == 5 * ONE
    assert reserved_by_all([COFFEE, brief, MANIFEST], NOW) == 5 * (
        ONE + pure_cost(COFFEE.mechanism)
    )
    assert reserved_by_all([LATER, TEN, MANIFEST], NOW) == 3 * ONE + 4 * ONE


def test_the_doctor_adds_up_what_runs() -> None:
    assert judge_lifetime([TEN, MANIFEST], NOW).status is Status.OK
    costly = [manifest(name=f"survey-{number}") for number in range(5)]
    found = judge_lifetime(costly, NOW)
    assert found.status is Status.WARN
    assert f"reserves at most epsilon {5 * 5 * ONE / NANO:.3f}" in found.text


TENTH = {"categories": '["never", "sometimes", "often", "always", "by the bucket"]', "epochs": "8"}


def test_the_list_calls_superseded_only_what_has_a_successor_for_the_same_apps(
    place: Workplace,
) -> None:
    place.publish()
    place.publish(epsilon='"0.5"')
    place.publish(**TENTH)
    rows = place.succeed("survey list").splitlines()[1:]
    assert [("collecting" in row, "superseded" in row) for row in rows] == [
        *[(True, False)] * 2,
        (False, True),
    ]
