"""Surveys of every kind at the operator's, the auditor's and the analyst's terminal."""

import pytest

from tests.cli.commands import Workplace, without_places

NUMERIC = {
    "question": '"How many minutes?"',
    "categories": "",
    "mechanism": '"mean"',
    "low": "-10",
    "high": "50",
    "step": "5",
    "epsilon": '"2"',
}
MEMOISED = {"repeat": '"memoised"', "memoised_epochs": "7"}
TWO_ROUND = MEMOISED | {"mechanism": '"two-round"', "kept": '"2"'}


SEVERAL = {
    "categories": "",
    "dimensions": '{ plan = ["free", "paid"], theme = ["A", "B", "C"], '
    'language = ["a", "b", "c", "d", "e", "f", "g", "h"] }',
}


def _many(count: int) -> str:
    return str([f"c{number}" for number in range(count)])


def flat(text: str) -> str:
    return " ".join(text.split())


def test_a_repeat_that_changes_is_something_new_to_publish_and_is_listed(place: Workplace) -> None:
    for sequence, (changes, told) in enumerate(
        (
            ({}, " fresh "),
            (MEMOISED, " memoised, 7 "),
            (MEMOISED | {"memoised_epochs": "8"}, " memoised, 8 "),
            (TWO_ROUND, " two-round, 7 "),
            (TWO_ROUND | {"kept": '"2.5"'}, " two-round, 7 "),
        )
    ):
        assert f"sequence {sequence}" in place.publish(**changes)
        assert "nothing has changed" in place.fail("survey publish", place.written(**changes))
        assert told in place.succeed("survey list").splitlines()[1]


TOLD: list[tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]] = [
    (
        NUMERIC,
        ("mechanism mean: ", "tight epsilon 1.9999"),
        ("needs about", "-10 to 50 in steps of 5"),
    ),
    (
        {"categories": _many(105), "epsilon": '"0.5"', "epochs": "52"},
        (
            "mechanism affine (q = 113, m = 1, s = 43), a design with 904",
            "tight epsilon 0.5, without delta",
        ),
        ("Lower epsilon, or publish the survey with fewer, longer",),
    ),
    (
        {"categories": _many(16), "delta": '"0.5"'},
        (),
        ("warning with delta 0.5, a report can cost more than epsilon 1; devices charge ",),
    ),
    (
        MEMOISED,
        (
            "memoised: one response per answer, for 7 epochs (1 week)",
            "constant answers reveal epsilon 1 in that time, however many reports are sent",
            "changing changes of answers are visible: no epsilon limits what they reveal",
        ),
        # 30 epochs are four ranges of 7, with 4 answers at most, and 2 epochs more.
        ("at most epsilon 18.000 per device in total (30 epochs in ranges of 7",),
    ),
    (
        SEVERAL,
        ("one of 3 questions: 2 by randomised-response, 1 by subset (d = 2)",),
        ("within ± 5 percentage points", "14,076 reports"),
    ),
    (
        SEVERAL | {"mechanism": '"joint"'},
        (),
        ("each combination estimated by itself within ± 5 percentage points needs at most",),
    ),
    (
        {"categories": '["never", "often"]', "mechanism": '"matrix"', "matrix": '"tea.csv"'},
        ("responses never, often, no comment",),
        (),
    ),
]
"""What publishing and showing tell of a survey, and what one of them does."""


@pytest.mark.parametrize(("changes", "both", "one"), TOLD)
def test_publishing_and_showing_tell_what_a_kind_does(
    place: Workplace, changes: dict[str, str], both: tuple[str, ...], one: tuple[str, ...]
) -> None:
    names = ",never,often,no comment\noften,0.3,0.5,0.2\nnever,0.5,0.3,0.2\n"
    (place.directory / "tea.csv").write_text(names, "utf-8")
    told = place.dry_run(**changes)
    place.publish(**changes)
    shown = place.succeed("survey show tea")
    for part in both:
        assert part in flat(told)
        assert part in flat(shown)
    assert [part for part in one if part not in flat(told + shown)] == []
    assert ("a report can cost more than" in flat(told)) is (changes.get("delta") == '"0.5"')
    assert max(map(len, without_places(shown))) <= 80
