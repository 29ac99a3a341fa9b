"""``deniable plan`` and ``deniable simulate``: the numbers of the interface, in words and JSON."""

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deniable.estimates import reports_for_half_width, reports_for_mean
from deniable.messages import is_simulated
from deniable.planning.words import TOGETHER
from deniable.publishing.numbering import draft
from tests.cli.commands import Workplace, changed, run, succeed

NUMBERS = {"categories": "", "low": "0", "high": "240", "step": "5"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a survey file."""
    return written(tmp_path)


def written(folder: Path, **changes: str) -> Path:
    made = folder / "survey.toml"
    made.write_text(changed(**changes), "utf-8")
    return made


def test_it_says_what_publishing_says(file: Path, tmp_path: Path) -> None:
    needed = reports_for_half_width(draft(file).mechanism, 0.05)
    shown = succeed("plan", file)
    assert "each share up to 50 % within ± 5 percentage points, with 95 % intervals" in shown
    assert "a lifetime_epsilon of 20 allows 20 reports, over 20 days" in " ".join(shown.split())
    assert re.search(
        rf"randomised response \(the best for shares up to 50 %\) +{needed:,} +1\n", shown
    )
    place = Workplace.made(tmp_path / "collector")
    published = place.succeed("survey publish --dry-run", file)
    assert f"needs at most {needed:,} reports" in " ".join(published.split())


@pytest.mark.long
def test_reports_that_are_there_allow_an_epsilon(file: Path) -> None:
    found = json.loads(succeed("plan", file, "--width", "2%", "--reports", "10^4", "--json"))
    assert found["with_reports"] == 10_000
    assert found["ways"][0]["reports"] > 10_000
    assert found["reached"] > 0.02
    allowed = found["least_epsilon"]
    again = json.loads(succeed("plan", file, "--width", "2%", "--epsilon", allowed, "--json"))
    assert again["epsilon"] == allowed
    assert 9_000 < again["ways"][0]["reports"] <= 10_000
    few = succeed("plan", file, "--width", "0.1%", "--reports", "100")
    few = " ".join(few.split())
    assert "the requested precision needs more reports, at any epsilon up to 8" in few


def test_a_sum_of_answers_and_a_group_have_their_own_plans(file: Path, tmp_path: Path) -> None:
    shown = succeed("plan", file, "--share", "often, always", "--width", "3%")
    assert shown.startswith('For the share of "often or always" within ± 3 percentage points')
    questions = tmp_path / "questions.toml"
    answers = '[dimensions]\nplan = ["free", "paid"]\nuse = ["export", "none"]\n'
    text = changed(categories="", mechanism='"joint"')
    questions.write_text(text + "\n" + answers, "utf-8")
    group = ["--share", "use: export", "--given", "plan: paid", "--group-share", "20%"]
    assert 'among those with "plan: paid" (if these are 20 % of all)' in succeed(
        "plan", questions, *group
    )
    wrong = run("plan", questions, "--group-share", "20%")
    assert "--given needs --share, and --group-share needs --given" in wrong.stderr


def test_a_share_or_a_difference_takes_what_the_formula_says(file: Path) -> None:
    def needed(*options: str) -> int:
        found = json.loads(succeed("plan", file, *options, "--json"))
        return int(found["ways"][0]["reports"])

    mechanism = draft(file).mechanism
    assert needed("--width", "2%") == reports_for_half_width(mechanism, 0.02)
    at_a_tenth = reports_for_half_width(mechanism, 0.02, 0.1)
    assert needed("--width", "0.02", "--largest-share", "10%") == at_a_tenth
    assert needed("--level", "99%") == reports_for_half_width(mechanism, 0.05, level=0.99)
    error = needed("--width", "1%") / 1.959964**2
    # The factor is 2 (1.959964 + 0.841621)^2.
    assert needed("--difference", "1%") == pytest.approx(15.69776 * error, rel=1e-4)


def test_the_mechanism_is_the_best_for_the_largest_share_of_the_file(tmp_path: Path) -> None:
    many = json.dumps([f"answer {number}" for number in range(30)])
    file = written(tmp_path, categories=many, largest_share="1")
    ways = json.loads(succeed("plan", file, "--json"))["ways"]
    reports = {way["way"]: way["reports"] for way in ways}
    best, together = (reports[way] for way in ("as in the file", f"with the best for {TOGETHER}"))
    assert best < 0.95 * together
    for wrong in ("1.5", "-1", "true", '"10 %"'):
        refused = run("plan", written(tmp_path, largest_share=wrong)).stderr
        assert "largest_share: must be a number from 0 to 1, such as 0.4" in refused


def test_a_mean_is_planned_in_its_units_or_in_percent_of_their_range(tmp_path: Path) -> None:
    file = written(tmp_path, mechanism='"mean"', **NUMBERS)
    survey = draft(file)
    assert survey.values is not None
    shown = succeed("plan", file, "--width", "2%")
    assert "the mean within ± 4.8, with 95 % intervals" in shown
    assert shown == succeed("plan", file, "--width", "4.8")
    assert f"{reports_for_mean(survey.mechanism, survey.values, 4.8):,}" in shown
    assert "a numeric survey's figure is its mean" in run("plan --largest-share 10%", file).stderr


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("--width 150%", 1, "a share's margin of error must be below 1, such as 5%"),
        ("--largest-share 120%", 1, "the largest share must be a number from 0 to 1"),
        ("--epsilon 0", 1, "epsilon"),
        ("--width x", 2, "must be a number such as 2% or 0.02"),
        ("--reports 10^99", 2, "must be a whole number from 1 to 10^15"),
        ("--width 1% --difference 1%", 2, "give either --width or --difference"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    file: Path, options: str, status: int, message: str
) -> None:
    result = run(f"plan {options}", file)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr
    assert status == 2 or len(result.stderr.splitlines()) == 1


def test_a_distribution_is_planned_by_its_shares_up_to_an_answer(tmp_path: Path) -> None:
    file = written(tmp_path, tells='"distribution"', **NUMBERS)
    told = json.loads(succeed("plan", file, "--width", "5%", "--largest-share", "50%", "--json"))
    assert told["figure"] == "the share of all answers up to a chosen one"
    own, plain, without = told["ways"]
    assert own["mechanism"].endswith("(the best for shares up to 50 %)")
    assert own["reports"] < plain["reports"] / 3
    assert without["reports"] == 385  # 1.96^2 / 4 / 0.05^2, rounded up


ASKED = ["--truth", "never=10%, often=.4", "--devices"]


def test_estimates_stand_beside_the_truth_and_say_that_they_are_simulated(file: Path) -> None:
    shown = succeed("simulate", file, *ASKED, "10^9")
    assert "SIMULATED  no device answered" in shown
    assert "simulated-tea: How often do you drink tea?" in shown
    assert "1,000,000,000 simulated devices at epsilon 1, seed 0" in shown
    assert (
        "Bars are solid to the low end, half-tone to the estimate, and light to the high end"
    ) in shown
    found = json.loads(succeed("simulate", file, *ASKED, "10^9", "--json"))
    assert found["simulated"] is True
    assert is_simulated(found["survey"])
    rows = {row["name"]: row for row in found["figures"]}
    truth = {"never": 0.1, "sometimes": 0.25, "often": 0.4, "always": 0.25}
    assert {name: row["truth"] for name, row in rows.items()} == pytest.approx(truth)
    # Errors of 4.5e-5: 7 of them are missed with a chance of 1e-11.
    assert all(abs(row["estimate"] - row["truth"]) < 3.2e-4 for row in rows.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--truth", "zipf"], "Missing option '--devices'"),
        (["--truth", "bell", "--devices", "10"], "'bell' is not a distribution"),
        (["--truth", "never=70%, often=70%", "--devices", "10"], "sum to more than 100 %"),
        (["--truth", "zipf", "--devices", "0"], "must be a whole number"),
        (["--truth", "zipf", "--devices", "1"], "2 reports or more"),
        (
            ["--truth", "never=1e308, often=1e308", "--devices", "10"],
            "must have exactly one number",
        ),
        ([*ASKED, "1000", "--level", "95"], "must be between 0 and 1, such as 95% or 0.95"),
    ],
)
def test_wrong_usage_is_told(file: Path, options: list[str], message: str) -> None:
    result = run("simulate", file, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_published_survey_is_planned_by_its_name_and_its_reports(place: Workplace) -> None:
    week = 7 * 86_400
    start = datetime.fromtimestamp(time.time() - 4 * week, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    place.publish(start=start, epoch='"1 week"', grace='"1 day"')
    for epoch in range(3):
        place.count([at % 4 for at in range(300)], epoch)
    found = json.loads(place.succeed("plan tea --width 10% --json"))
    assert found["reports_an_epoch"] == 300
    assert found["reached_at"] > start
    shown = " ".join(place.succeed("plan tea --width 10%").split())
    assert "About 300 reports arrive a week. So far, " in shown
    assert " To see this average, choose all " in shown
    assert "give the survey's file" in run("plan tea --epsilon 2 --dir", place.directory).stderr
    assert "no survey 'coffee' is published" in place.fail("plan coffee")


def test_only_a_simulated_survey_has_such_a_name(place: Workplace) -> None:
    named = place.written(name='"simulated-tea"')
    refused = place.fail("survey publish", named)
    assert refused.startswith(f"{named}: name: is only for simulated surveys")
