"""Several manifests of a name at once: who follows which, and what all that runs costs."""

from dataclasses import replace

from deniable.budget import NANO, RangeCost, pure_cost
from deniable.directory.collector_directory import current, running
from deniable.doctor.diagnosis import Status
from deniable.doctor.survey_checks import judge_declarations, judge_lifetime
from deniable.messages import Manifest, Repeat, Schedule
from deniable.publishing.document import left_behind_text
from deniable.publishing.following import declared, followed, left_behind, reserved, reserved_by_all
from tests.cli.commands import Workplace
from tests.support.surveys import CATEGORIES, DAY, MANIFEST, START, manifest

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


def told(newest: Manifest, older: list[Manifest], offered: list[Manifest]) -> list[str]:
    return [left_behind_text(newest, *each) for each in left_behind(newest, older, offered, NOW)]


def test_published_declarations_that_the_newest_does_not_fit_are_told() -> None:
    ended = manifest(sequence=0, question="How was it?")
    older = [replace(MANIFEST, sequence=3), replace(TEN, sequence=2), MANIFEST, ended]
    newest = manifest(sequence=4, categories=("yes", "no"), epsilon="0.5")
    answers = ", ".join(CATEGORIES)
    assert told(newest, older, [newest, *older[:2]]) == [
        f"apps that declare the 5 answers {answers} keep answering sequence 3, until "
        "2023-11-22 22:13 UTC",
        "apps that declare the 6 answers very poor, poor, fair, good, very good, a tenth keep "
        "answering sequence 2, until 2023-11-22 22:13 UTC",
        'apps that declare "How was it?" get nothing any more',
    ]
    # What fits the declaration leaves nobody behind; what exceeds its ceilings does.
    assert told(manifest(sequence=1, epsilon="0.5"), [MANIFEST], [MANIFEST]) == []
    assert told(manifest(sequence=1, epsilon="2"), [MANIFEST], []) == [
        "apps that declare the ceilings of sequence 0 get nothing any more"
    ]


def test_the_doctor_adds_up_what_runs_and_names_older_declarations() -> None:
    assert judge_lifetime([TEN, MANIFEST], NOW).status is Status.OK
    costly = [manifest(name=f"survey-{number}") for number in range(5)]
    found = judge_lifetime(costly, NOW)
    assert found.status is Status.WARN
    assert f"sets aside epsilon {5 * 5 * ONE / NANO:.3f} at most" in found.text
    assert "keep answering sequence 0" in judge_declarations([TEN, MANIFEST], NOW).text
    assert "the newest" in judge_declarations([LATER, MANIFEST], NOW).text


TENTH = {"categories": '["never", "sometimes", "often", "always", "by the bucket"]', "epochs": "8"}


def test_the_list_calls_superseded_only_what_has_a_successor_for_the_same_apps(
    place: Workplace,
) -> None:
    place.publish()
    place.publish(epsilon='"0.5"')
    place.publish(**TENTH)
    rows = [line.split() for line in place.succeed("survey list").splitlines()]
    assert [(row[1], "open" in row) for row in rows[1:]] == [("2", True), ("1", True), ("0", False)]
