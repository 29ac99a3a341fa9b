"""Surveys of every kind at the operator's, the auditor's and the analyst's terminal."""

import json
from pathlib import Path

import pytest

from deniable.documents import bound_text
from deniable.messages import Repeat, sign_manifest
from deniable.presenting.cautions import reports_text
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from tests.cli.commands import Workplace, changed, fail, succeed, without_places
from tests.support.surveys import AUTHORITY, manifest

NUMERIC = {
    "question": '"How many minutes?"',
    "categories": "",
    "mechanism": '"numeric"',
    "low": "-10",
    "high": "50",
    "step": "5",
    "epsilon": '"2"',
}
QUARTILES = ("lower quartile", "median", "upper quartile")
MEMOISED = {"repeat": '"memoised"', "memoised_epochs": "7"}
TWO_ROUND = MEMOISED | {"mechanism": '"two-round"', "kept": '"2"'}
SEVERAL = {
    "categories": "",
    "dimensions": '{ plan = ["free", "paid"], theme = ["A", "B", "C"], '
    'language = ["a", "b", "c", "d", "e", "f", "g", "h"] }',
}


def flat(text: str) -> str:
    return " ".join(text.split())


def named(count: int) -> str:
    return str([f"c{number}" for number in range(count)])


@pytest.mark.parametrize("epsilon", ["2", "4", "8", "10"])
def test_a_numeric_survey_shows_what_has_an_interval_that_is_worth_it(
    place: Workplace, epsilon: str
) -> None:
    place.publish(**NUMERIC | {"epsilon": f'"{epsilon}"'})
    place.count([y for y in range(13) for _ in range(16 - abs(y - 6) * 2)])
    shown, whole = place.succeed("hist tea"), json.loads(place.succeed("hist tea --json"))
    numeric, prose = whole["numeric"], flat(shown)
    quartiles = dict(zip(QUARTILES, numeric["quartiles"], strict=True))
    bins = {group["bin"]: group for group in numeric["bins"]}
    figures = {"mean": numeric["mean"], **quartiles, **bins}
    for name, figure in figures.items():
        possible = 1 if name in bins else 60
        assert figure["too_wide"] == (figure["high"] - figure["low"] > possible / 2)
        rows = [line for line in shown.splitlines() if line.lstrip().startswith(f"{name}  ")]
        assert len(rows) == (not figure["too_wide"])
    hidden = [name for name, figure in figures.items() if figure["too_wide"]]
    note = (
        f"since intervals cover more than half of what is possible: {', '.join(hidden)}. Shares "
        f"within ± 10 percentage points take {reports_text(whole['reports_for_shares'])}"
    )
    assert (note in prose) == ("more than half" in prose) == bool(hidden)
    # The standard error is that of shares with blurred ends, and the interval of sharp ones.
    blurred, shares = numeric["blur"] > 0, not set(bins) <= set(hidden)
    assert ("smoothed share" in shown) == (shares and blurred)
    assert ("std error" in shown) == (shares and not blurred)
    smoothed = blurred and not {*quartiles, *bins} <= set(hidden)
    assert (f"are smoothed over {5 * numeric['blur']} either way" in prose) == smoothed
    moved = f"the mean is off by up to {bound_text(numeric['influence'] / 100)}"
    assert f"If 1 % of the reports are fake, {moved}" in prose
    assert "-10\n" not in shown  # single values are in --json only
    assert max(map(len, shown.splitlines())) <= 100
    assert place.fail("hist tea --view projected") == "a numeric survey is shown unbiased only"


def test_single_values_with_impossible_counts_are_named(place: Workplace) -> None:
    place.publish(start="2026-01-05T00:00:00Z", **NUMERIC)
    place.count([y for y in range(13) for _ in range(20)])
    assert "Not to be used" not in place.succeed("hist tea")
    place.count([3] * 400, epoch=1)
    shown, rows = flat(place.succeed("hist tea")), json.loads(place.succeed("hist tea --json"))
    flagged = [row["category"] for row in rows["categories"] if row["impossible"]]
    assert "5" in flagged
    assert f"that honest devices do not cause: {', '.join(flagged[:5])}" in shown
    assert shown.index("Not to be used") < shown.index("median")
    assert "Mostly noise" not in shown


def test_terms_accuracy_and_declaration_of_numbers_are_told_when_publishing_and_after(
    place: Workplace,
) -> None:
    published = place.publish(**NUMERIC, epochs="8")
    shown = place.succeed("survey show tea")
    for text in (published, shown):
        assert "mechanism numeric: " in text
        assert "tight epsilon below" in text
        assert max(map(len, without_places(text))) <= 80
    assert "takes at most" in published
    assert "sent with probability at least" in flat(shown)
    for part in (
        "-10 to 50 in steps of 5",
        "Survey.numeric(",
        "low='-10',\n    high='50',\n    st",
    ):
        assert part in shown


def test_publishing_and_showing_explain_the_choice(place: Workplace) -> None:
    published = place.publish(categories=named(105), epsilon='"0.5"', epochs="52")
    for text in (published, place.succeed("survey show tea")):
        for part in (
            "mechanism affine (q = 113, m = 1, s = 43), a design of 904 responses; each supports "
            "about 40 of 105 answers",
            "users all shares together: within 0.2 % of the fewest possible in the "
            "worst case; randomised response would take 16.26 times as",
            "adds up 52 reports of a device favour its answers over any one alternative by at most "
            "epsilon 15.000, except with a chance of 1 in 1,000,000 (randomised response: 3.500, "
            "with 16.26 times as many users); devices charge the plain sum, 26.000",
            "guarantee: epsilon 0.5 exactly",
        ):
            assert part in flat(text)
    for part in (
        'no device answers this unless its app sets lifetime_epsilon = "26": it costs 26.000, and '
        "devices spend 20 at most. It fits with 40 epochs, with epsilon 0.38, or with fewer, ",
        "whatever the share; within ± 0.5, as many small shares need, ",
        'in your app, with Client(lifetime_epsilon="26"), or bundle',
    ):
        assert part in flat(published)
    assert max(map(len, without_places(published.partition("costs")[0]))) <= 80


def test_a_large_delta_is_warned_of(place: Workplace) -> None:
    changes = {"categories": named(16), "epochs": "3"}
    shown = flat(place.publish(delta='"0.5"', **changes))
    assert "warning delta 0.5 lets a report be worth more than epsilon 1; devices charge " in shown
    assert "warning" not in place.publish(delta='"0.001"', **changes)


def test_a_memoised_survey_is_published_with_what_keeping_does(place: Workplace) -> None:
    published = place.publish(**MEMOISED)
    assert place.manifest().repeat == Repeat("memoised", 7)
    for text in (published, place.succeed("survey show tea")):
        for part in (
            "memoised: one response an answer, for 7 epochs (1 week)",
            "constant  answers reveal epsilon 1 in that time, however many reports",
            "changing  answers show that they changed: no epsilon covers that",
            "linking   equal responses link a device's epochs",
            "    max_kept_epsilon='1',\n",  # without it, devices would refuse it
        ):
            assert part in text
        assert max(map(len, without_places(text))) <= 80
    # 30 epochs are four ranges of 7, with 4 answers at most, and 2 epochs more.
    assert "costs     a device at most epsilon 18.000 in all (30 epochs in ranges of 7" in published
    assert "warning" not in published


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


@pytest.mark.parametrize("kind", ["memoised", "two-round"])
def test_an_audit_says_that_it_judges_one_report_and_what_several_do(
    kind: str, tmp_path: Path
) -> None:
    survey = manifest(repeat=Repeat("memoised", 30))
    if kind == "two-round":
        read = SurveyFile.parse(changed(**TWO_ROUND))
        categories = tuple(f"category {number}" for number in range(300))
        survey = manifest(
            repeat=read.repeat, specification=read.specification, categories=categories
        )
    file = tmp_path / "manifest"
    file.write_bytes(sign_manifest(survey, AUTHORITY))
    text = flat(succeed("privacy audit", file))
    for part in ("that of one report", "constant", "changing"):
        assert part in text
    found = json.loads(succeed("privacy audit --json --epsilon 0.5", file))
    privacy = survey.mechanism.privacy
    assert found["pure"]["odds"]["exact"] == str(privacy.odds)
    assert found["at_epsilon"]["delta"]["exact"] == str(privacy.delta_at("0.5"))
    assert found["pure"]["epsilon"] == str(privacy.epsilon) <= "1.000000000000"


def test_publishing_several_questions_says_what_either_kind_needs(place: Workplace) -> None:
    shown = flat(place.publish(**SEVERAL))
    assert "each share of each question by itself within ± 5 percentage points" in shown
    assert "17,330 reports; by joint 68,145" in shown
    assert "one of 3 questions: 2 by randomised-response, 1 by subset (d = 2)" in shown
    assert "Survey.several(" in shown
    shown = flat(place.publish(mechanism='"joint"', **SEVERAL))
    assert "each share of a single question 68,145; by one-question 17,330" in shown
    assert "older" not in shown  # apps declare the same for both
    assert "language: h" in place.succeed("survey show tea")


def test_an_audit_names_combinations(tmp_path: Path) -> None:
    def signed(**changes: str) -> Path:
        written = SurveyFile.parse(changed(**SEVERAL | changes))
        survey = next_manifest(written, [], "http://127.0.0.1:8377", bytes(16), 0)
        file = tmp_path / "usage.manifest"
        file.write_bytes(sign_manifest(survey, AUTHORITY))
        return file

    shown = flat(succeed("privacy audit", signed()))
    assert "48 categories × 33 responses" in shown
    assert 'worst set S "plan: free"' in shown
    rows = ", ".join(f'q{i} = ["no", "yes"]' for i in range(70))
    many = signed(dimensions=f"{{ {rows} }}", epochs="1")
    assert "more combinations of answers" in fail("privacy audit", many)


def test_what_is_published_shows_what_the_responses_are_called(place: Workplace) -> None:
    names = ",never,often,no comment\noften,0.3,0.5,0.2\nnever,0.5,0.3,0.2\n"
    (place.directory / "tea.csv").write_text(names, "utf-8")
    place.publish(categories='["never", "often"]', mechanism='"matrix"', matrix='"tea.csv"')
    assert "\nresponses never, often, no comment\n" in place.succeed("survey show tea")
