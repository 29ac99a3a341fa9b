"""The figures of docs/choosing.md are those of the formulas."""

import math
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from benchmarks import rivals, texts
from benchmarks.linking import linking_probability
from deniable.budget import NANO, RangeCost
from deniable.estimates import Model, covariance, share_variance
from deniable.estimates.decoders import decoder_of
from deniable.mechanisms import RandomisedResponse, TwoRound
from deniable.mechanisms.two_round import SINGLE
from deniable.messages import Specification
from deniable.planning import Candidate, best, best_fresh, candidates, lower_bound
from deniable.planning.specification import specified
from deniable.publishing.numbering import next_manifest
from deniable.publishing.survey_file import SurveyFile
from tests.audit.matrices import of_weights
from tests.support.readme import outputs

FILE = Path(__file__).parents[2] / "docs" / "choosing.md"
GUIDE = FILE.read_text("utf-8")
WORDS = " ".join(GUIDE.split())
RESULTS = FILE.parents[1] / "benchmarks" / "results"
REPEATED = RESULTS / "repeated.md"


def table_rows(text: str) -> list[list[str]]:
    """Return the cells of each line of a table."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]


ROWS = table_rows(GUIDE)
OF_FOUR = [row for row in ROWS if len(row) == 4 and row[0][0].isdigit()]
DISTRIBUTIONS = [row for row in OF_FOUR if ", " in row[0]]
SHARES = [row for row in OF_FOUR if row not in DISTRIBUTIONS]
KEPT = [row for row in table_rows(REPEATED.read_text("utf-8")) if row[1].startswith("two rounds")]


@pytest.mark.parametrize(
    "question",
    ["shares", "means", "again", pytest.param("quantiles", marks=pytest.mark.long)],
)
def test_reports_here_and_by_rivals_are_as_the_tables_say(question: str) -> None:
    file = RESULTS / f"choosing-{question}.md"
    assert f"{{include}} ../benchmarks/results/{file.name}" in GUIDE
    rows, made = table_rows(file.read_text("utf-8"))[2:], [*rivals.TABLES[question]()]
    assert [(row[0], row[1], row[3]) for row in rows] == [(a, own, r.name) for a, own, _, r in made]
    shown = [int(cell.replace(",", "")) for row in rows for cell in (row[2], row[4])]
    counts = [count for _, _, n, rival in made for count in (n, rival.reports)]
    assert shown == pytest.approx(counts, rel=2e-3)  # a linear program may have several optima
    if question != "quantiles":
        fewer = max(1 - rival.reports / n for _, _, n, rival in made)
        assert fewer <= 0 or (question == "shares" and fewer < 0.004)
        assert "and save less than 0.4 % of the reports." in WORDS
    else:  # where a biased rival takes fewer, and in the last row a tree
        (_, _, n, tree) = made[-2]
        assert f"it needs {1 - tree.reports / n:.0%} fewer".replace("%", " %") in WORDS


def test_the_square_wave_stays_as_wrong_as_the_page_says() -> None:
    matrix = rivals.wave(1)
    expected = np.rint(10**7 * (matrix @ rivals.FALLING)).astype(np.int64)[None]
    wrong = np.abs((rivals.smoothed(matrix, expected) - rivals.FALLING) @ rivals.CUTS.T).max()
    assert f"by up to {100 * wrong:.1f} points here" in " ".join(GUIDE.split())


def test_the_simulated_rival_finds_texts_that_all_devices_have() -> None:
    generator = np.random.default_rng(1)
    setting = replace(texts.BITS, names=8, devices=10**6)
    truth = setting.population(generator)
    printed, length = texts.pem(setting, truth, generator)
    assert (set(printed), length) == (set(truth), 12)


def test_no_text_is_false_here_in_the_table_of_texts() -> None:
    rows = table_rows((RESULTS / "choosing-texts.md").read_text("utf-8"))[2:]
    assert "{include} ../benchmarks/results/choosing-texts.md" in GUIDE
    assert {row[3] for row in rows if row[1] == "here"} == {"0.0"}
    assert len(rows) == 2 * len(texts.SETTINGS) + 3


# The largest ratios that some 2,000 pairs had.
WORST = [("4", "0.75"), ("32", "1"), ("10", "1.75"), ("134", "6.79"), ("45000", "5")]
WORST += [("65536", "7"), ("4096", "7"), ("63200", "7.95"), ("10000", "8"), ("14000", "8")]
WORST += [("10105", "7.99")]


@pytest.mark.parametrize(("k", "epsilon"), WORST)
def test_the_choice_falls_behind_the_best_sets_by_no_more_than_is_said(
    k: str, epsilon: str
) -> None:
    share, together = (best(int(k), epsilon, largest_share=most) for most in (None, 0))
    assert share.bound is not None
    assert together.bound is not None
    assert share.cost <= (1.02 if float(epsilon) <= 7 else 1.11) * share.bound
    assert together.cost <= (1.06 if float(epsilon) <= 6 else 1.46) * together.bound


@pytest.mark.parametrize("row", SHARES)
def test_the_chosen_mechanisms_need_as_many_users_as_the_table_says(row: list[str]) -> None:
    k = int(row[0].replace(",", ""))
    choice = best(k, "1")
    kind, *parameters = re.findall(r"\d+|^[a-z ]+", row[1])
    assert kind.replace(" ", "-") == choice.candidate.kind
    assert [int(each) for each in parameters] == [*choice.candidate.parameters.values()]
    # A standard error of 1/100 takes n Var/(1/100)^2.
    own, plain = (share_variance(one) for one in (choice.mechanism(), RandomisedResponse(k, "1")))
    assert f"{own * 10_000:,.0f}" == f"{int(row[2].replace(',', '')):,}"
    assert row[3].startswith(f"{plain * 10_000:,.0f} (")
    times = float(row[3].split("(")[1].split()[0].replace(",", ""))
    assert plain / own == pytest.approx(times, rel=5e-3)


@pytest.mark.parametrize("row", DISTRIBUTIONS)
def test_distributions_take_as_many_users_as_the_table_says(row: list[str]) -> None:
    k, epsilon = int(row[0].split(", ")[0].replace(",", "")), row[0].split(", ")[1]
    levels = specified("levels", k, epsilon)
    assert ", ".join(map(str, levels.parameters["widths"])) == row[3]
    for mechanism, users in (
        (levels.mechanism(k, epsilon, "0"), row[1]),
        (best(k, epsilon).mechanism(), row[2]),
    ):
        decoder, cuts = decoder_of(mechanism), np.tri(k)[: k - 1 : k // 64 + 1 if k > 64 else 1]
        kernels, shares = decoder.kernels(cuts), decoder.even_shares
        variances = kernels**2 @ shares - (kernels @ shares) ** 2
        # Of more than 64 answers, some stand for all: at distances that no width divides.
        rel = 0.0 if k <= 64 else 0.03
        assert variances.mean() * 10_000 == pytest.approx(
            float(users.replace(",", "")), rel=rel, abs=0.5
        )


@pytest.mark.parametrize("row", KEPT)
def test_kept_responses_cost_and_reveal_what_the_table_says(row: list[str]) -> None:
    k, kept, epsilon = (text.replace(",", "") for text in row[0].split(", "))
    fresh = SINGLE if row[1].endswith("one answer") else best_fresh(int(k), epsilon, kept, 30, 0.0)
    assert re.findall(r"\d+", row[1]) == [str(value) for value in fresh[1:] if fresh != SINGLE]
    cost = Candidate.of_answering(int(k), fresh).cost(float(epsilon))
    specification = Specification("two-round", {"kept": kept, "fresh": fresh})
    mechanism = specification.mechanism(int(k), epsilon, "0")
    assert isinstance(mechanism, TwoRound)
    levels = [math.log(mechanism.constant_odds(reports)) for reports in (2, 30)]
    assert row[3] == f"{cost / lower_bound(int(k), float(epsilon)):.4g}"
    charged = RangeCost.of(mechanism).cumulative(30) / NANO
    linked = linking_probability(mechanism)
    assert row[4:-1] == [f"{levels[0]:.3f}", f"{levels[1]:.2f}", f"{charged:.1f}", f"{linked:.1%}"]


@pytest.mark.parametrize("row", [row for row in ROWS if len(row) == 3 and row[0][0].isdigit()])
def test_several_questions_cost_what_the_table_says(row: list[str]) -> None:
    *sizes, epsilon = re.findall(r"\d+", row[0])
    questions, size = (int(sizes[0]), 2) if "yes or no" in row[0] else (2, int(sizes[0]))
    one = questions * _least(size, int(epsilon))
    divided = _least(size, int(epsilon) / questions)
    assert [f"{one:.3g}", f"{divided:.3g}"] == row[1:]


def _least(categories: int, epsilon: float) -> float:
    return min(each.cost(epsilon) for each in candidates(categories, epsilon))


def dominated(k: int, epsilon: float, most: float, size: int) -> float:
    """Return the least n Var of all shares together: docs/mathematics.md, section 17."""
    m, odds = k - 1, math.exp(epsilon)
    z, whole = odds - 1, m + odds * size
    first, blocks = size / whole, m / whole
    one, other = 1 + z * most, 1 + z * (1 - most) * size / m
    b = first * odds / one + blocks * (1 + z * size / m) / other
    rest = (m - 1) ** 2 * m * other / (blocks * z**2 * size * (m - size))
    head = (1 - most) * (1 - b * (1 - most)) + m * most * (1 - b * most)
    return rest + head / (m * (1 - b)) - 1


@pytest.mark.parametrize(("k", "epsilon", "most", "size"), [(4, 1, 0.9, 1), (7, 2, 0.6, 3)])
def test_the_formula_is_the_variance_that_the_collector_s_estimates_have(
    k: int, epsilon: float, most: float, size: int
) -> None:
    sets = [(0,), *combinations(range(1, k), size)]
    odds, m = math.exp(epsilon), k - 1
    whole = (m + odds * size) * np.array([1 / size] + [(len(sets) - 1) / m] * (len(sets) - 1))
    rows = [
        [(odds if x in names else 1) / share for names, share in zip(sets, whole, strict=True)]
        for x in range(k)
    ]
    shares = np.array([most] + [(1 - most) / m] * m)
    found = covariance(
        of_weights([[round(p * 2**60) for p in row] for row in rows]), shares, 1, Model.FIXED
    )
    assert np.trace(found) == pytest.approx(dominated(k, epsilon, most, size), rel=1e-9)


@pytest.mark.parametrize("row", [row for row in ROWS if len(row) == 5 and row[0].isdigit()])
def test_a_matrix_where_one_answer_dominates_saves_what_the_table_says(row: list[str]) -> None:
    k, epsilon = int(row[0]), row[1]
    for most, cell in zip((0.8, 0.95, 0.99), row[2:], strict=True):
        least, size = min(
            (dominated(k, float(epsilon), most, size), size)
            for size in range(1, k - 1)
            if k > 12 or 1 + math.comb(k - 1, size) <= 64
        )
        times = best(k, epsilon, largest_share=0).cost / least
        assert cell == (f"{times:.2f} ({size})" if times >= 1.005 else "no")


def test_the_matrix_of_one_answer_that_dominates_is_made_and_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for printed, shown in outputs(FILE):
        assert printed == shown
    lines = ['categories = ["none", "startup", "network", "memory", "display", "other"]']
    lines += ['name = "crashes"', 'question = "What crashed?"', 'epoch = "1 week"', "epochs = 8"]
    lines += ['mechanism = "matrix"', 'matrix = "crashes.csv"', 'epsilon = "1"']
    Path("crashes.toml").write_text("\n".join(lines), "utf-8")
    loaded = SurveyFile.load(tmp_path / "crashes.toml")
    survey = next_manifest(loaded, [], "https://c.example", bytes(16), 0)
    assert survey.mechanism.privacy.satisfies("1", "0")
    assert survey.responses[:2] == ("none", "startup or network")
    shares = np.array([0.95] + [0.01] * 5)
    found = covariance(survey.mechanism, shares, 1, Model.FIXED)
    assert np.trace(found) == pytest.approx(dominated(6, 1, 0.95, 2), rel=1e-5)
