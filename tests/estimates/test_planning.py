"""How many reports an accuracy takes: the check values, and the worst case."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import norm

from deniable.estimates import (
    Model,
    covariance,
    decoder_of,
    left_inverse,
    reports_for_half_width,
    reports_for_mean,
    reports_for_shares,
    solution_matrix,
)
from deniable.estimates.curve import blur_of
from deniable.estimates.numeric import GroupBounds, group_bounds
from deniable.estimates.planning import even_counts
from deniable.mechanisms import Mechanism, RandomisedResponse
from deniable.planning.calibration import clamped_geometric
from deniable.simulation import SimulatedWords, randomise_many
from tests.estimates.matrices import MECHANISMS, SURVEYED

MECHANISM = RandomisedResponse(5, "1")
NINE = clamped_geometric(9, "1")
NINE_VALUES = [Fraction(10 + 2 * x) for x in range(9)]


_PLANS: list[Callable[..., int]] = [
    partial(reports_for_half_width, MECHANISM),
    partial(reports_for_mean, NINE, NINE_VALUES),
    partial(reports_for_shares, NINE),
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
        with pytest.raises(ValueError, match=r"largest share must be in \[0, 1\], such as"):
            reports_for_half_width(MECHANISM, 0.05, share)
    with pytest.raises(ValueError, match="9 values are expected"):
        reports_for_mean(NINE, NINE_VALUES[1:], 1)


def bounds(mechanism: Mechanism, counts: list[int], blur: int) -> GroupBounds:
    decoder = decoder_of(mechanism)
    return group_bounds(decoder, decoder.tally(counts), blur)


SHARED = {
    f"{k} values, epsilon {epsilon}": clamped_geometric(k, epsilon)
    for k, epsilon in [(5, "1"), (9, "2"), (49, "1"), (49, "4"), (101, "1")]
}


@pytest.mark.parametrize("half_width", [0.02, 0.1, 0.2])
@pytest.mark.parametrize("mechanism", SHARED.values(), ids=SHARED)
def test_shares_take_as_many_reports_as_make_the_summarys_intervals_that_narrow(
    mechanism: Mechanism, half_width: float
) -> None:
    def reach(n: int) -> float:
        """Return how far the intervals of expected counts reach at most, before they are cut."""
        made = bounds(mechanism, even_counts(mechanism, n), blur_of(mechanism, n))
        low, high = made.intervals(1.959964)
        return float(max((high - made.values).max(), (made.values - low).max()))

    planned = reports_for_shares(mechanism, half_width)
    # But for what rounding whole counts of a small number of reports does.
    assert reach(planned) <= 1.005 * half_width
    assert reach(int(0.9 * planned)) > half_width


def test_simulated_devices_give_the_bounds_that_the_plan_has() -> None:
    mechanism, level, repeats = SHARED["49 values, epsilon 4"], 0.95, 8
    n = reports_for_shares(mechanism, 0.1, level)
    blur, z = blur_of(mechanism, n), norm.isf((1 - level) / 2)
    assert blur > 0
    expected = bounds(mechanism, even_counts(mechanism, n), blur)
    generator = np.random.default_rng(20_160_706)
    upper, lower = np.zeros(len(expected.values)), np.zeros(len(expected.values))
    for _ in range(repeats):
        answers = generator.integers(0, 49, n)
        responses = randomise_many(mechanism, answers, SimulatedWords(generator))
        made = bounds(mechanism, np.bincount(responses, minlength=49).tolist(), blur)
        upper += made.above + z * made.above_errors
        lower += made.below - z * made.below_errors
    # Averages over all reports: normal, with the error of one over the root of repeats. Right code
    # is beyond 6.5 of them with a probability of 1e-10 each, 2e-9 for both ends of ten groups.
    # (The errors' own errors are of the order 1/sqrt(n) = .002 of them, which the .5 allows for.)
    slack = 7 / math.sqrt(repeats)
    planned = expected.intervals(z)
    assert (np.abs(lower / repeats - planned[0]) <= slack * expected.below_errors).all()
    assert (np.abs(upper / repeats - planned[1]) <= slack * expected.above_errors).all()


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
def test_the_mean_takes_no_more_reports_than_planned_in_any_population(epsilon: str) -> None:
    mechanism = clamped_geometric(9, epsilon)
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
