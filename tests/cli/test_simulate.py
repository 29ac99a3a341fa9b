"""``deniable simulate``: simulated devices."""

import json
from pathlib import Path

import pytest

from deniable.estimates import estimate_histogram
from deniable.messages import is_simulated
from deniable.presenting.rows import chosen_rows
from deniable.publishing.numbering import draft
from deniable.simulation import SimulatedReports, read_truth
from tests.cli.commands import SURVEY, Workplace, run, succeed

ASKED = ["--truth", "never=10%, often=.4", "--devices"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a survey file."""
    made = tmp_path / "tea.toml"
    made.write_text(SURVEY, "utf-8")
    return made


def test_estimates_stand_beside_the_truth_and_say_that_they_are_simulated(file: Path) -> None:
    shown = succeed("simulate", file, *ASKED, "10^9")
    assert "SIMULATED  no device answered" in shown
    assert "simulated-tea: How often do you drink tea?" in shown
    assert "1,000,000,000 simulated ones at epsilon 1, seed 0" in shown
    assert "Bars: solid to the low end, half-tone to the estimate, light to the high end" in shown
    found = json.loads(succeed("simulate", file, *ASKED, "10^9", "--json"))
    assert found["simulated"] is True
    assert is_simulated(found["survey"])
    rows = {row["name"]: row for row in found["figures"]}
    truth = {"never": 0.1, "sometimes": 0.25, "often": 0.4, "always": 0.25}
    assert {name: row["truth"] for name, row in rows.items()} == pytest.approx(truth)
    # Errors of 4.5e-5: 7 of them are missed with a chance of 1e-11.
    assert all(abs(row["estimate"] - row["truth"]) < 3.2e-4 for row in rows.values())


def test_many_runs_tell_how_often_intervals_hold(file: Path) -> None:
    runs = ["--runs", "400"]
    found = json.loads(succeed("simulate", file, *ASKED, "20000", *runs, "--json"))
    held = [row["covered"] for row in found["figures"]]
    # Binomial with 400 and 95 %: from 350 to 398 but with a chance below 1e-6 a side.
    assert all(350 <= each <= 398 for each in held)
    shown = succeed("simulate", file, *ASKED, "20000", *runs)
    assert (
        f"In 400 runs, intervals of 95 %, each by itself, held the truth {sum(held) / 1600:.1%}"
        in " ".join(shown.split())
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--truth", "zipf"], "Missing option '--devices'"),
        (["--truth", "bell", "--devices", "10"], "'bell' is no truth"),
        (["--truth", "never=70%, often=70%", "--devices", "10"], "sum to more than 100 %"),
        (["--truth", "zipf", "--devices", "0"], "must be a whole number"),
        (["--truth", "zipf", "--devices", "1"], "2 or more"),
        (["--truth", "never=1e308, often=1e308", "--devices", "10"], "must have one number"),
        ([*ASKED, "1000", "--level", "95"], "must be in (0, 1), such as 95% or 0.95"),
    ],
)
def test_wrong_usage_is_told(file: Path, options: list[str], message: str) -> None:
    result = run("simulate", file, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(("answers", "view"), [(30, "projected"), (4, "estimate")])
def test_people_see_the_view_that_a_histogram_shows_first(
    file: Path, answers: int, view: str
) -> None:
    names = [f"answer {number}" for number in range(answers)]
    lines = [line for line in SURVEY.splitlines() if not line.startswith("categories")]
    file.write_text("\n".join([*lines, f"categories = {json.dumps(names)}"]), "utf-8")
    survey, asked = draft(file), ("--truth", "zipf", "--devices", "5000")
    counts = SimulatedReports(survey.mechanism, read_truth("zipf", names), 0).counts(5000)
    histogram = estimate_histogram(survey, 0, counts.tolist())
    rows = chosen_rows(histogram).rows
    shown = succeed("simulate", file, *asked)
    assert f" {view} " in shown
    assert "95 % simultaneous interval" in shown
    for row in rows:
        (line,) = (line for line in shown.splitlines() if line.startswith(f"{row['category']} "))
        value = row["shown" if view == "projected" else "estimate"]
        assert f" {100 * value:.1f}%" in line
        assert f"{100 * row['low']:.1f}% to {100 * row['high']:.1f}%" in line
    figures = json.loads(succeed("simulate", file, *asked, "--json"))["figures"]
    assert [figure["estimate"] for figure in figures] == [row["estimate"] for row in rows]


def test_only_a_simulated_survey_has_such_a_name(place: Workplace) -> None:
    named = place.written(name='"simulated-tea"')
    refused = place.fail("survey publish", named)
    assert refused.startswith(f"{named}: name: is that of a simulated survey")
