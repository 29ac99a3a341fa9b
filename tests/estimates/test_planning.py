"""How many reports an accuracy takes: the check values, and the worst case."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from deniable.estimates import (
    Model,
    covariance,
    left_inverse,
    reports_for_half_width,
    reports_for_mean,
    solution_matrix,
)
from deniable.mechanisms import (
    ClampedGeometric,
    Mechanism,
    RandomisedResponse,
    SolutionMatrix,
)
from tests.estimates.matrices import MECHANISMS, SURVEYED

MECHANISM = RandomisedResponse(5, "1")


def test_the_check_value_of_five_categories_at_epsilon_one() -> None:
    # f = .1, half width .02 at 95 %: z^2 lam (1 - lam)/(.02 kappa)^2.
    assert reports_for_half_width(MECHANISM, 0.02, 0.1) == 21142


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4", "10"])
def test_no_frequency_takes_more_than_the_worst_case(epsilon: str) -> None:
    mechanism = RandomisedResponse(5, epsilon)
    worst = reports_for_half_width(mechanism, 0.05)
    each = [reports_for_half_width(mechanism, 0.05, f / 1000) for f in range(1001)]
    assert max(each) <= worst <= 1.01 * max(each) + 1


def test_half_the_width_takes_four_times_the_reports() -> None:
    coarse = reports_for_half_width(MECHANISM, 0.05)
    assert reports_for_half_width(MECHANISM, 0.025) == pytest.approx(4 * coarse, abs=4)


def test_more_reports_are_needed_at_every_higher_level_below_one() -> None:
    needed = [
        reports_for_half_width(MECHANISM, 0.05, level=level)
        for level in (0.1, 0.5, 0.95, 1 - 1e-12, 1 - 2**-53)
    ]
    assert needed == sorted(set(needed))


@pytest.mark.parametrize("epsilon", ["0.2", "1", "4", "12"])
@pytest.mark.parametrize("frequency", [None, 0.0, 0.1, 0.7, 1.0])
def test_structure_changes_no_plan(epsilon: str, frequency: float | None) -> None:
    mechanism = RandomisedResponse(5, epsilon)
    closed = reports_for_half_width(mechanism, 0.01, frequency)
    general = reports_for_half_width(SolutionMatrix.of(mechanism), 0.01, frequency)
    assert general == pytest.approx(closed, rel=1e-9, abs=1)


OTHERS = {**SURVEYED, "wide": MECHANISMS["wide"], "skewed": MECHANISMS["skewed square"]}


@pytest.mark.parametrize("mechanism", OTHERS.values(), ids=OTHERS)
def test_the_worst_case_is_attained_by_no_more_than_two_categories(mechanism: Mechanism) -> None:
    # The variance is linear in what the others share, so the worst is on an edge of the simplex,
    # where it is concave: a grid of steps of 1/100 comes within (1/200)^2 of its top.
    k, worst = mechanism.categories, 0.0
    for x in range(k):
        for z in range(x):
            for t in np.linspace(0, 1, 101):
                f = t * np.eye(k)[x] + (1 - t) * np.eye(k)[z]
                exact = np.diag(covariance(mechanism, f, 1, Model.SAMPLED))
                worst = max(worst, float(exact.max()))
    needed = reports_for_half_width(mechanism, 0.001)
    scale = (norm.ppf(0.975) / 0.001) ** 2
    assert worst - 1e-9 <= needed / scale <= worst + 1 / 200**2 + 1 / scale


@pytest.mark.parametrize("mechanism", OTHERS.values(), ids=OTHERS)
def test_no_population_with_that_frequency_takes_more(mechanism: Mechanism) -> None:
    generator, k = np.random.default_rng(5), mechanism.categories
    for frequency in (0.0, 0.3, 0.9):
        needed = reports_for_half_width(mechanism, 0.01, frequency)
        scale = (norm.ppf(0.975) / 0.01) ** 2
        for j in range(k):
            for _ in range(10):
                others = generator.dirichlet(np.full(k - 1, 0.3)) * (1 - frequency)
                f = np.insert(others, j, frequency)
                exact = covariance(mechanism, f, 1, Model.SAMPLED)[j, j]
                assert exact * scale <= needed + 1e-6


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
def test_the_mean_takes_no_more_reports_than_planned_in_any_population(epsilon: str) -> None:
    mechanism = ClampedGeometric.calibrated(9, epsilon)
    values = [Fraction(10 + 2 * x) for x in range(9)]
    planned = reports_for_mean(mechanism, values, 0.5)
    matrix, numbers = solution_matrix(mechanism), np.array([float(value) for value in values])
    kernel = left_inverse(matrix).T @ numbers
    needed = []
    for population in np.vstack([np.eye(9), np.random.default_rng(7).dirichlet([0.3] * 9, 200)]):
        lam = matrix.T @ population
        variance = float(kernel**2 @ lam - (kernel @ lam) ** 2)
        needed.append(variance * (1.959964 / 0.5) ** 2)
    assert max(needed) <= planned
    # Not by much: answers at both ends in equal parts have their mean in the middle.
    ends = matrix.T @ (np.eye(9)[0] + np.eye(9)[8]) / 2
    assert planned <= 1.3 * (kernel**2 @ ends - (kernel @ ends) ** 2) * (1.959964 / 0.5) ** 2 + 1
