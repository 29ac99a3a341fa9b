"""``deniable simulate``: imagined devices, and rehearsals with a collector of one's own."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.cli import rehearsal
from deniable.estimates import estimate_histogram
from deniable.estimates.rows import chosen_rows
from deniable.messages import is_simulated
from deniable.publishing.drafts import draft
from deniable.simulation import SimulatedReports, read_truth
from tests.cli.commands import SURVEY, Workplace, fail, run, succeed
from tests.cli.serving import serving

TRIES = 20_000
"""Of which the first few hundred come before the server looks for new surveys again."""
"""The server looks for what is new once in a second; each try takes a hundredth or more."""

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
    assert "1,000,000,000 imagined ones at epsilon 1, seed 0" in shown
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
    assert f"In 400 runs, intervals of 95 % held the truth {sum(held) / 1600:.1%}" in " ".join(
        shown.split()
    )


def test_another_seed_has_other_chance(file: Path) -> None:
    one, again, other = (
        succeed("simulate", file, *ASKED, "1000", "--seed", seed) for seed in "778"
    )
    assert one == again != other


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--truth", "zipf"], "say --truth and --devices"),
        (["--truth", "bell", "--devices", "10"], "'bell' is no truth"),
        (["--truth", "never=70%, often=70%", "--devices", "10"], "sum to more than 100 %"),
        (["--truth", "zipf", "--devices", "0"], "must be a whole number"),
        (["--truth", "zipf", "--devices", "1"], "2 or more"),
        (["--truth", "never=1e308, often=1e308", "--devices", "10"], "must have one number"),
        ([*ASKED, "1000", "--level", "95"], "must be in (0, 1), such as 95% or 0.95"),
        ([*ASKED, "1000", "--into", "http://127.0.0.1:1", "--runs", "2"], "of one run"),
        ([*ASKED, "99", "--into", "http://127.0.0.1:1"], "--into sends 100 to"),
    ],
)
def test_wrong_usage_is_told(file: Path, options: list[str], message: str) -> None:
    result = run("simulate", file, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_rehearsal_takes_one_seeds_reports_and_no_others(place: Workplace, file: Path) -> None:
    place.publish()  # the real one stays what it is
    half = run("simulate", file, "--rehearse", place.directory, "--devices", "200")
    assert (half.exit_code, half.stdout) == (2, "")  # nothing is published before all is right
    shown = succeed("simulate", file, "--rehearse", place.directory)
    assert "published simulated-tea, which no device answers" in shown
    with serving(place) as server:
        url = f"http://127.0.0.1:{server.port}"
        into = [*ASKED, "200", "--into", url]
        sent = run("simulate", file, *into)
        assert "200 reports accepted, 0 were there already" in sent.stderr
        more = run("simulate", file, *ASKED, "300", "--into", url)
        assert "100 reports accepted, 200 were there already" in more.stderr
        for others in (["--seed", "1"], ["--truth", "uniform"]):
            refused = run("simulate", file, *into, *others)
            assert refused.exit_code == 1
            assert "has reports of another seed or truth" in refused.stderr
        # What a collector counted is what was simulated, to the last report.
        counted = json.loads(succeed("hist", "simulated-tea", "--dir", place.directory, "--json"))
        simulated = json.loads(run("simulate", file, *ASKED, "300", "--into", url, "--json").stdout)
        assert counted["n"] == 300
        assert [row["estimate"] for row in counted["categories"]] == [
            row["estimate"] for row in simulated["figures"]
        ]
        for form in ("--json", "--csv"):
            figures = succeed("hist", "simulated-tea", "--dir", place.directory, form)
            assert "simulated-tea" in figures
        # Another rehearsal has no reports, and takes those of another seed.
        succeed("simulate", file, "--rehearse", place.directory)
        for _ in range(TRIES):
            anew = run("simulate", file, *into, "--seed", "1")
            if anew.exit_code == 0:
                break
        assert "200 reports accepted, 0 were there already" in anew.stderr
        seen = succeed("hist", "simulated-tea", "--dir", place.directory)
        assert "!! Simulated: no real device answered." in seen
        assert "no figures yet" in fail("hist", "tea", "--dir", place.directory)


@pytest.mark.parametrize(("answers", "view"), [(30, "projected"), (4, "estimate")])
def test_people_see_the_view_that_a_histogram_shows_first(
    file: Path, answers: int, view: str
) -> None:
    names = [f"answer {number}" for number in range(answers)]
    lines = [line for line in SURVEY.splitlines() if not line.startswith("categories")]
    file.write_text("\n".join([*lines, f"categories = {json.dumps(names)}"]), "utf-8")
    survey, asked = draft(file), ("--truth", "zipf", "--devices", "5000")
    counts = SimulatedReports(survey.mechanism, read_truth("zipf", names), 0).counts(5000)
    rows = chosen_rows(estimate_histogram(survey, 0, counts.tolist())).rows
    shown = succeed("simulate", file, *asked)
    assert f" {view} " in shown
    assert ("simultaneous interval" in shown) is (view == "projected")
    for row in rows:
        (line,) = (line for line in shown.splitlines() if line.startswith(f"{row['category']} "))
        value = row["shown" if view == "projected" else "estimate"]
        assert f" {100 * value:.1f}%" in line
        assert f"{100 * row['low']:.1f}% to {100 * row['high']:.1f}%" in line
    figures = json.loads(succeed("simulate", file, *asked, "--json"))["figures"]
    assert [figure["estimate"] for figure in figures] == [row["estimate"] for row in rows]


def test_several_epochs_are_rehearsed_at_once_and_their_figures_stay(
    place: Workplace, file: Path
) -> None:
    file.write_text(SURVEY.replace('"1 day"', '"1 week"'), "utf-8")
    assert "are 30: no 31 can be" in fail(
        "simulate", file, "--rehearse", place.directory, "--epochs", "31"
    )
    with serving(place) as server:
        url = f"http://127.0.0.1:{server.port}"
        rehearsing = (*ASKED, "150", "--rehearse", str(place.directory), "--into", url)
        ended = run("simulate", file, *rehearsing, "--epochs", "3")
        assert "epochs 0 to 2: 450 reports accepted, 0 were there already" in ended.stderr
    listed = json.loads(
        succeed("hist", "simulated-tea", "--epochs", "--json", "--dir", place.directory)
    )["epochs"]
    assert [(epoch["n"], epoch["state"]) for epoch in listed] == [
        *((150, "sealed"), (150, "sealed"), (150, "open"))
    ]
    watched = run(
        "watch", "simulated-tea", "--share", "never", "--above", "99%", "--dir", place.directory
    )
    first = watched.stdout.splitlines()[0]
    assert (watched.exit_code, "in epoch 1 of" in first, "Simulated" in first) == (0, True, True)


@pytest.mark.parametrize(
    ("repeat", "different"), [("", 3), ('repeat = "memoised"\nmemoised_epochs = 3\n', 1)]
)
def test_epochs_have_chance_of_their_own_unless_devices_keep_their_responses(
    file: Path, monkeypatch: pytest.MonkeyPatch, repeat: str, different: int
) -> None:
    file.write_text(SURVEY + repeat, "utf-8")
    survey = draft(file)
    sent: dict[int, list[NDArray[np.int64]]] = {}
    for epoch in 3, 4, 5:
        monkeypatch.setattr(rehearsal, "rehearsal_at", lambda *_, at=epoch: (survey, at))
        monkeypatch.setattr(
            rehearsal, "send_all", lambda *given: sent.setdefault(given[2], [*given[3:]])[2:]
        )
        run("simulate", file, *ASKED, "1000", "--into", "http://127.0.0.1:1")
    assert len({responses.tobytes() for (responses,) in sent.values()}) == different


def test_reports_go_to_no_other_survey(place: Workplace, file: Path) -> None:
    place.publish()
    with serving(place) as server:
        into = [*ASKED, "700", "--into", f"http://127.0.0.1:{server.port}"]
        assert "has no survey 'simulated-tea'" in fail("simulate", file, *into)
        file.write_text(SURVEY.replace('"always"', '"daily"'), "utf-8")
        succeed("simulate", file, "--rehearse", place.directory)
        nowhere = [*into[:-1], "http://127.0.0.1:1"]
        assert fail("simulate", file, *nowhere).startswith("no answer from http://127.0.0.1:1: ")
        file.write_text(SURVEY, "utf-8")
        for _ in range(TRIES):
            if "has no survey" not in (told := fail("simulate", file, *into)):
                break
        assert "'simulated-tea' asks something else than the file" in told


def test_only_a_rehearsal_has_such_a_name_and_no_app_bundles_it(
    place: Workplace, file: Path
) -> None:
    named = SURVEY.replace('name = "tea"', 'name = "simulated-tea"')
    refused = fail("survey", "publish", place.written(named), "--dir", place.directory)
    assert refused.startswith("name: is that of a rehearsal")
    succeed("simulate", file, "--rehearse", place.directory)
    exported = fail("survey", "export", "simulated-tea", "--dir", place.directory)
    assert exported == "'simulated-tea' is a rehearsal, which no app answers"


def test_a_rehearsal_of_a_certified_survey_needs_no_issuer(place: Workplace, file: Path) -> None:
    key = "2c546f64f07df4fe1863ca51669193f90cd593a49ab9ec5d493dcf3b07321228"
    file.write_text(f'{SURVEY}enrolment = "certificate"\nissuers = ["{key}"]\n', "utf-8")
    succeed("simulate", file, "--rehearse", place.directory)
    assert place.manifest("simulated-tea").enrolment.mode == "open"
