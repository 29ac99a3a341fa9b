"""How many reports an accuracy takes: the check values, and the worst case."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import norm

from deniable.estimates import Model, covariance, reports_for_half_width, reports_for_mean
from deniable.estimates.decoders.dense import left_inverse, solution_matrix
from deniable.mechanisms import Mechanism, RandomisedResponse
from tests.estimates.matrices import MECHANISMS, SURVEYED
from tests.support.geometric import clamped_geometric

MECHANISM = RandomisedResponse(5, "1")
NINE = clamped_geometric(9, "1")
NINE_VALUES = [Fraction(10 + 2 * x) for x in range(9)]


_PLANS: list[Callable[..., int]] = [
    partial(reports_for_half_width, MECHANISM),
    partial(reports_for_mean, NINE, NINE_VALUES),
]


@pytest.mark.parametrize("plan", _PLANS)
def test_what_no_plan_is_for_is_refused_with_an_example(plan: Callable[..., int]) -> None:
    for width in (0.0, -0.05, -math.inf, math.inf, math.nan):
        with pytest.raises(ValueError, match=r"margin of error must be .* such as"):
            plan(width)
    for level in (0.0, 1.0, 95.0, math.nan):
        with pytest.raises(ValueError, match="level must be in"):
            plan(0.1, level=level)
    if plan is not _PLANS[1]:
        with pytest.raises(ValueError, match=r"such as 0\.05 for ± 5 percentage points"):
            plan(5)
    for share in (-0.1, 1.5, math.inf, math.nan):
        with pytest.raises(
            ValueError, match=r"largest share must be a number from 0 to 1, such as"
        ):
            reports_for_half_width(MECHANISM, 0.05, share)
    with pytest.raises(ValueError, match="9 values are expected"):
        reports_for_mean(NINE, NINE_VALUES[1:], 1)


OTHERS = {**SURVEYED, "wide": MECHANISMS["wide"], "skewed": MECHANISMS["skewed square"]}


@pytest.mark.parametrize("largest", [0.4, 1.0])
@pytest.mark.parametrize("mechanism", OTHERS.values(), ids=OTHERS)
def test_the_worst_case_is_attained_by_no_more_than_two_categories(
    mechanism: Mechanism, largest: float
) -> None:
    # The variance is linear in what the others share, so the worst is on an edge of the simplex,
    # where it is concave: a grid of steps of 1/100 comes within (1/200)^2 of its top.
    k = mechanism.categories
    edges = (
        (x, t * np.eye(k)[x] + (1 - t) * np.eye(k)[z])
        for x, z in permutations(range(k), 2)
        for t in np.linspace(0, largest, 101)
    )
    worst = max(float(covariance(mechanism, f, 1, Model.SAMPLED)[x, x]) for x, f in edges)
    needed = reports_for_half_width(mechanism, 0.001, largest)
    scale = (norm.ppf(0.975) / 0.001) ** 2
    assert worst - 1e-9 <= needed / scale <= worst + 1 / 200**2 + 1 / scale


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
def test_the_mean_takes_what_even_answers_and_the_worst_noise_take(epsilon: str) -> None:
    mechanism = clamped_geometric(9, epsilon)
    values = [Fraction(10 + 2 * x) for x in range(9)]
    matrix, numbers = solution_matrix(mechanism), np.array([float(value) for value in values])
    kernel = left_inverse(matrix).T @ numbers
    noise = [float(kernel**2 @ matrix[x] - numbers[x] ** 2) for x in range(9)]
    expected = (max(noise) + numbers.var()) * (1.959964 / 0.5) ** 2
    planned = reports_for_mean(mechanism, values, 0.5)
    assert planned == pytest.approx(expected, abs=1.01)
    # Even answers have no more than that, since all their noise is no more than the worst.
    lam = matrix.T @ np.full(9, 1 / 9)
    assert (kernel**2 @ lam - (kernel @ lam) ** 2) * (1.959964 / 0.5) ** 2 <= planned
