"""Simulated reports follow the law of the matrix, for every kind."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from deniable.estimates import decoder_of, estimate_histogram
from deniable.estimates.curve import QUARTILES
from deniable.mechanisms import Mechanism
from deniable.mechanisms.answering import sizes_of
from deniable.messages import Manifest
from deniable.planning.specification import specified
from deniable.simulation import SimulatedReports, UnknownTruth, read_truth
from deniable.simulation.beside_truth import figures, simulation_document, true_figures
from tests.support.effort import THOROUGH
from tests.support.kinds import WITH_LIST as SURVEYS
from tests.support.surveys import manifest

every_kind = pytest.mark.parametrize(
    "survey", SURVEYS, ids=lambda survey: str(survey.specification)[:60]
)
N = 1_000_000 if THOROUGH else 200_000


def exact_law(mechanism: Mechanism, population: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sum_x f_x P_xy, from the rows of integers."""
    rows = [
        [float(Fraction(weight, mechanism.grid)) for weight in mechanism.row(x)]
        for x in range(mechanism.categories)
    ]
    return np.asarray(population @ np.array(rows))


def truth_of(survey: Manifest, population: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of the survey's categories: of one-question, each question's own."""
    if survey.kind.name != "one-question":
        return population
    sizes = sizes_of(survey.dimensions)
    table = population.reshape(sizes)
    axes = range(len(sizes))
    return np.concatenate(
        [table.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    )


def surprise(counts: NDArray[np.int64], law: NDArray[np.float64]) -> float:
    """Return the chance of counts so far from their law, by Pearson's test."""
    expected = counts.sum() * law
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, len(law) - 1))


@every_kind
def test_counts_and_responses_follow_the_exact_law(survey: Manifest) -> None:
    mechanism = survey.mechanism
    # Correlated answers to several questions, too.
    population = np.random.default_rng(3).dirichlet([0.5] * mechanism.categories)
    law = exact_law(mechanism, population)
    made = SimulatedReports(mechanism, truth_of(survey, population), seed=11)
    counts = made.counts(N)
    responses = np.bincount(made.responses(N), minlength=mechanism.responses)
    assert counts.sum() == responses.sum() == N
    # 2 tests of 17 examples: 3e-6 in all, if the law is right.
    assert surprise(counts, law) > 1e-7
    assert surprise(responses, law) > 1e-7


@every_kind
def test_a_seed_gives_the_same_reports_and_more_devices_the_same_first(survey: Manifest) -> None:
    parts = [part.categories for part in decoder_of(survey.mechanism).parts]
    truth = read_truth("zipf", survey.categories, parts)
    made, again = (SimulatedReports(survey.mechanism, truth, 5) for _ in range(2))
    other = SimulatedReports(survey.mechanism, truth, 6)
    assert (made.counts(N, 3) == again.counts(N, 3)).all()
    assert (made.counts(N, 3) != again.counts(N, 4)).any()
    assert (made.counts(N, 3) != other.counts(N, 3)).any()
    some = made.responses(200_000)
    assert (again.responses(70_000) == some[:70_000]).all()
    assert (other.responses(200) != some[:200]).any()


@every_kind
def test_estimates_of_many_reports_are_near_the_true_figures(survey: Manifest) -> None:
    parts = [part.categories for part in decoder_of(survey.mechanism).parts]
    truth = read_truth("zipf", survey.categories, parts)
    devices = 10**12
    counts = SimulatedReports(survey.mechanism, truth, 2).counts(devices)
    histogram = estimate_histogram(survey, 0, counts.tolist())
    true, (estimates, low, high) = true_figures(histogram, truth), figures(histogram)
    # Errors of 1e-6 root(V), V being at most 17; of a mean, of half its range.
    of_mean = survey.specification.kind == "mean"
    unit = float(survey.values[-1] - survey.values[0]) / 2 if of_mean and survey.values else 1.0
    np.testing.assert_allclose(estimates, [*true.values()], atol=3e-5 * unit)
    assert (high - low < 1e-4 * unit).all()


ANSWERS = ("good", "bad", "x, y=z")
TRUTHS = [
    *[
        ("uniform", [1 / 3] * 3),
        ("zipf", [6 / 11, 3 / 11, 2 / 11]),
        ("good=0.5", [0.5, 0.25, 0.25]),
    ],
    *[("good=50%, bad=.3", [0.5, 0.3, 0.2]), ("good=5e-1, bad=3E1 %", [0.5, 0.3, 0.2])],
    *[("good=30,bad=10", [0.75, 0.25, 0]), ("good=1", [1, 0, 0])],  # counts
]


@pytest.mark.parametrize(("text", "shares"), TRUTHS)
def test_a_truth_is_read(text: str, shares: list[float]) -> None:
    np.testing.assert_allclose(read_truth(text, ANSWERS), shares)


def test_a_truth_of_several_questions_sums_to_one_for_each() -> None:
    found = read_truth("b=0.9,e=5,d=15", "abcde", [slice(0, 2), slice(2, 5)])
    np.testing.assert_allclose(found, [0.1, 0.9, 0, 0.75, 0.25])


def test_a_truth_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "truth.csv"
    file.write_text('answer,count\ngood,30\n"x, y=z",10\n', "utf-8")
    np.testing.assert_allclose(read_truth(str(file), ANSWERS), [0.75, 0, 0.25])


ONE = "'good' must have exactly one number"
NO_TRUTHS = [
    ("of.csv", "good,60%\nbad,70%\n", "sum to more than 100 %"),
    *[("of.csv", 'good,"1,234"\nbad,900\n', ONE), ("of.csv", "good,6O%\nbad,20%\n", ONE)],
    *[("of.csv", "good,1_0\nbad,20\n", ONE), ("of.csv", "good,\u0663\nbad,20\n", ONE)],
    ("of.csv", "good,0.1\ngood,0.2\n", ONE),
    *[("of.csv", "", "lists no answers"), ("of.csv", "answer,count\n", "lists no answers")],
    ("of.csv", 'good,"1', "cannot be read"),
    ("of.csv", "x" * 200_000 + ",1\n", "cannot be read: field larger"),
    ("of.csv", "good,1,2\nbad,1,2\n", "two columns"),
    *[
        ("", "normal", "is not a distribution: give uniform or zipf"),
        ("", "good=0.1,good=0.2", ONE),
    ],
    ("", "worse=0.3", "'worse' is not an answer; the answers are good, bad"),
    *[("", f"good={number}", ONE) for number in ("much", "-1", "nan", "inf")],
]


@pytest.mark.parametrize(("name", "text", "what"), NO_TRUTHS)
def test_what_is_no_truth_is_refused(name: str, text: str, what: str, tmp_path: Path) -> None:
    if name:
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(UnknownTruth, match=what):
        read_truth(str(tmp_path / name) if name else text, ANSWERS)


def test_shares_of_all_answers_that_sum_to_less_than_one_are_refused() -> None:
    with pytest.raises(UnknownTruth, match=r"sum to 0\.9; they must sum to 1"):
        read_truth("a=0.5,b=0.4", "ab")
    np.testing.assert_allclose(read_truth("a=0.5000001,b=0.5", "ab"), [0.5, 0.5], atol=1e-6)


@pytest.mark.long
def test_shares_of_numbers_are_compared_with_the_same_smoothed_shares() -> None:
    # All devices at one value of 101: a share with sharp ends is 1 there, a smoothed one is not.
    specification = specified("levels", 101, "1")
    numbers = manifest(categories=tuple(map(str, range(101))), specification=specification)
    truth, devices, runs = np.eye(101)[50], 3_000, 100
    reports = SimulatedReports(numbers.mechanism, truth, 1)
    made = [
        estimate_histogram(numbers, 0, reports.counts(devices, run).tolist()) for run in range(runs)
    ]
    true = true_figures(made[0], truth)
    errors = np.array([figures(one)[0] for one in made]) - [*true.values()]
    # Unbiased: off by more than seven standard errors of the mean in 3e-10 each (t).
    # Quartiles are one of the values each, and not unbiased.
    unbiased = [name not in QUARTILES.values() for name in true]
    most = 7 * np.sqrt((errors**2).mean(0) / runs)
    assert (np.abs(errors.mean(0)) <= most)[unbiased].all()


def test_of_two_answers_each_interval_holds_with_the_chance_that_both_need() -> None:
    survey = manifest(categories=("no", "yes"))
    counts = np.array([9_000, 11_000])
    reports = SimulatedReports(survey.mechanism, np.array([0.4, 0.6]), 1)
    (table,) = simulation_document(survey, reports, 20_000, counts, 0.9).tables
    wide = estimate_histogram(survey, 0, counts.tolist(), 0.95)
    assert [row["low"] for row in table.rows] == wide.low.tolist()
    assert [row["high"] for row in table.rows] == wide.high.tolist()
