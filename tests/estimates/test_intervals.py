"""Intervals: the binomial ones of the literature, mapped back, with the coverage they claim."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from deniable.audit import SolutionMatrix
from deniable.estimates import (
    IntervalMethod,
    Model,
    clopper_pearson,
    debias,
    frequency_intervals,
    left_inverse,
    solution_matrix,
    standard_errors,
    wilson,
)
from deniable.mechanisms import Mechanism, RandomisedResponse
from tests.estimates.matrices import (
    FORMULAS,
    SURVEYED,
    WIDE,
    Floats,
    exact_left_inverse,
)

W, CP, NORMAL = IntervalMethod.WILSON, IntervalMethod.CLOPPER_PEARSON, IntervalMethod.NORMAL


def all_counts(n: int) -> Floats:
    return np.arange(n + 1, dtype=np.float64)


@pytest.mark.parametrize("n", [1, 7, 30])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_both_intervals_are_those_of_scipy(n: int, level: float) -> None:
    ours = {
        "wilson": np.transpose(wilson(all_counts(n), n, level)),
        "exact": np.transpose(clopper_pearson(all_counts(n), n, level)),
    }
    for count in range(n + 1):
        test = binomtest(count, n)
        for theirs, limits in (
            (test.proportion_ci(level, "wilson"), ours["wilson"][count]),
            (test.proportion_ci(level, "exact"), ours["exact"][count]),
        ):
            assert tuple(limits) == pytest.approx(tuple(theirs), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("counts", "methods"),
    [
        ((4, 96), (W, W)),  # about the count of the nearest possible share, here 27
        ((5, 95), (W, W)),
        ((96, 4), (W, W)),
        ((1, 14), (CP, CP)),
        ((95, 5), (W, W)),
        ((0, 50, 4, 5), (W, W, W, W)),
        ((0, 12, 5, 4), (CP, W, W, CP)),
        ((1, 0), (CP, CP)),
    ],
)
def test_fewer_than_five_with_or_without_a_response_get_the_guaranteed_interval(
    counts: tuple[int, ...], methods: tuple[IntervalMethod, ...]
) -> None:
    mechanism = RandomisedResponse(len(counts), "1")
    assert frequency_intervals(mechanism, counts, 0.95).methods == methods


def test_the_ends_are_the_binomial_ones_mapped_back() -> None:
    mechanism, counts, n = RandomisedResponse(4, "2"), (300, 100, 4, 96), 500
    q, kappa = float(mechanism.lie), float(mechanism.truth - mechanism.lie)
    intervals = frequency_intervals(mechanism, counts, 0.9)
    for j in range(4):
        # That of the nearest possible share.
        count = min(max(float(counts[j]), n * q), n * (q + kappa))
        low, high = wilson(np.array([count]), n, 0.9)
        ends = np.clip([(low[0] - q) / kappa, (high[0] - q) / kappa], 0, 1)
        assert (intervals.low[j], intervals.high[j]) == pytest.approx(tuple(ends), abs=1e-14)


def test_an_estimate_beyond_any_interval_is_flagged_and_has_that_of_the_nearest_possible() -> None:
    n, q, kappa = 2000, float(FORMULAS.lie), float(FORMULAS.truth - FORMULAS.lie)
    intervals = frequency_intervals(FORMULAS, (1000, 0, 167, 833), 0.95)
    assert intervals.outside.tolist() == [False, True, True, False]
    least, most = (
        (wilson(np.array([n * rate]), n, 0.95)[side][0] - q) / kappa
        for rate, side in ((q, 1), (q + kappa, 0))
    )
    assert intervals.low[1:3].tolist() == [0, 0]
    assert intervals.high[1:3] == pytest.approx(least)
    everybody = frequency_intervals(FORMULAS, (2000, 0, 0, 0), 0.95)
    assert everybody.outside.tolist() == [True, True, True, True]
    assert everybody.low == pytest.approx([most, 0, 0, 0])
    assert everybody.high == pytest.approx([1, least, least, least])


def test_a_very_small_epsilon_gives_the_whole_interval_and_no_false_alarm() -> None:
    for epsilon in ("0.001", "0.000001", "0.000000000000001"):
        mechanism = RandomisedResponse(4, epsilon)
        intervals = frequency_intervals(mechanism, (251, 249, 260, 240), 0.95)
        assert intervals.low.tolist() == [0] * 4
        assert intervals.high.tolist() == [1] * 4
        assert not intervals.outside.any()


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.1, 2, math.nan, math.inf])
@pytest.mark.parametrize("mechanism", [FORMULAS, WIDE], ids=["structured", "general"])
def test_levels_outside_the_open_unit_interval_are_refused(
    mechanism: RandomisedResponse, level: float
) -> None:
    with pytest.raises(ValueError, match="level must be"):
        frequency_intervals(mechanism, (1, 2, 3, 4), level)


@pytest.mark.parametrize("level", [1e-300, 1e-9, 1 - 1e-9, 1 - 2**-52, 1 - 2**-53])
@pytest.mark.parametrize("mechanism", [FORMULAS, WIDE], ids=["structured", "general"])
def test_every_level_between_has_finite_intervals(
    mechanism: RandomisedResponse, level: float
) -> None:
    intervals = frequency_intervals(mechanism, (60, 30, 27, 3), level)
    assert np.isfinite([intervals.low, intervals.high]).all()
    assert (intervals.low <= intervals.high).all()


@pytest.mark.parametrize(
    ("mechanism", "counts"),
    [(WIDE, (40, 40, 20, 20)), (SolutionMatrix.of(FORMULAS), (48, 28, 24, 20))],
    ids=["wide", "square"],
)
def test_an_unstructured_matrix_gets_the_normal_interval_and_says_so(
    mechanism: Mechanism, counts: tuple[int, ...]
) -> None:
    intervals = frequency_intervals(mechanism, counts, 0.9)
    estimate = debias(mechanism, counts)
    half = norm.ppf(0.95) * np.sqrt(allowing_for_unseen(mechanism, counts, 0.9))
    assert intervals.methods == (NORMAL,) * mechanism.categories
    possible = np.clip(estimate, 0, 1)
    np.testing.assert_allclose(intervals.low, np.clip(possible - half, 0, 1), atol=1e-12)
    np.testing.assert_allclose(intervals.high, np.clip(possible + half, 0, 1), atol=1e-12)
    assert intervals.outside.tolist() == ((estimate + half < 0) | (estimate - half > 1)).tolist()


@pytest.mark.parametrize("mechanism", SURVEYED.values(), ids=SURVEYED)
def test_a_category_near_which_nobody_responded_is_not_taken_as_known(mechanism: Mechanism) -> None:
    # The sample's variance is 0, or almost; the matrix knows a least variance of every kernel.
    counts = (30, 0, 0, 0, 0, 0, 0)
    intervals = frequency_intervals(mechanism, counts, 0.95)
    assert standard_errors(mechanism, counts, Model.SAMPLED).max() < 1e-6
    least = least_variances(mechanism)
    estimate = np.clip(debias(mechanism, counts), 0, 1)
    variance = np.maximum(allowing_for_unseen(mechanism, counts, 0.95), least / 30)
    half = norm.ppf(0.975) * np.sqrt(variance)
    assert half.min() > 0.05
    np.testing.assert_allclose(intervals.low, np.clip(estimate - half, 0, 1), atol=1e-9)
    np.testing.assert_allclose(intervals.high, np.clip(estimate + half, 0, 1), atol=1e-9)


def allowing_for_unseen(mechanism: Mechanism, counts: Sequence[int], level: float) -> Floats:
    """Return the variance of each estimate if each response were seen z^2/2 times more."""
    n, inverse = sum(counts), left_inverse(solution_matrix(mechanism))
    squares = inverse**2 @ (np.array(counts) + norm.ppf((1 + level) / 2) ** 2 / 2) / n
    return np.asarray((squares - debias(mechanism, counts) ** 2) / (n - 1))


def least_variances(mechanism: Mechanism) -> Floats:
    """Return the least variance of each category's kernel over the true categories, exactly."""
    inverse, k = exact_left_inverse(mechanism), mechanism.categories
    assert inverse is not None
    return np.array(
        [
            min(
                float(
                    sum(mechanism.probability(x, y) * g**2 for y, g in enumerate(kernel)) - (x == j)
                )
                for x in range(k)
            )
            for j, kernel in enumerate(inverse)
        ]
    )
