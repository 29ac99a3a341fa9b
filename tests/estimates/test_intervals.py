"""Intervals: the binomial ones of the literature, mapped back, with the coverage they claim."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from deniable.estimates import IntervalMethod, Model
from deniable.estimates.binomial import clopper_pearson, wilson
from deniable.estimates.decoders.dense import solution_matrix
from deniable.mechanisms import Mechanism, RandomisedResponse
from tests.estimates.matrices import (
    FORMULAS,
    SURVEYED,
    WIDE,
    debias,
    exact_left_inverse,
    frequency_intervals,
    standard_errors,
)
from tests.mechanisms.laws import matrix_of
from tests.support.effort import THOROUGH

W, CP, NORMAL = IntervalMethod.WILSON, IntervalMethod.CLOPPER_PEARSON, IntervalMethod.NORMAL


@pytest.mark.parametrize("n", [1, 7, 30 if THOROUGH else 13])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_both_intervals_are_those_of_scipy(n: int, level: float) -> None:
    counts = np.arange(n + 1, dtype=np.float64)
    tests = [binomtest(count, n) for count in range(n + 1)]
    for ours, theirs in (
        (wilson(counts, n, level), [one.proportion_ci(level, "wilson") for one in tests]),
        (clopper_pearson(counts, n, level), [one.proportion_ci(level, "exact") for one in tests]),
    ):
        np.testing.assert_allclose(np.transpose(ours), theirs, rtol=1e-9, atol=1e-12)


# About the count of the nearest possible share, of the first here 27.
METHODS = [
    *[((4, 96), (W, W)), ((5, 95), (W, W)), ((96, 4), (W, W)), ((1, 14), (CP, CP))],
    *[((95, 5), (W, W)), ((0, 50, 4, 5), (W, W, W, W)), ((1, 0), (CP, CP))],
    ((0, 12, 5, 4), (CP, W, W, CP)),
]


@pytest.mark.parametrize(("counts", "methods"), METHODS)
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


@pytest.mark.parametrize("mechanism", [FORMULAS, WIDE], ids=["structured", "general"])
def test_levels_outside_the_open_unit_interval_are_refused_and_others_have_finite_ends(
    mechanism: Mechanism,
) -> None:
    for level in (0, 1, -0.1, 1.1, 2, math.nan, math.inf):
        with pytest.raises(ValueError, match="level must be"):
            frequency_intervals(mechanism, (1, 2, 3, 4), level)
    for level in (1e-300, 1e-9, 1 - 1e-9, 1 - 2**-52, 1 - 2**-53):
        intervals = frequency_intervals(mechanism, (60, 30, 27, 3), level)
        assert np.isfinite([intervals.low, intervals.high]).all()
        assert (intervals.low <= intervals.high).all()


FEW = (30, 0, 0, 0, 0, 0, 0)
UNSTRUCTURED: dict[str, tuple[Mechanism, tuple[int, ...]]] = {
    "wide": (WIDE, (40, 40, 20, 20)),
    "square": (matrix_of(FORMULAS), (48, 28, 24, 20)),
    **{f"{name}, few": (mechanism, FEW) for name, mechanism in SURVEYED.items()},
}


@pytest.mark.parametrize(("mechanism", "counts"), UNSTRUCTURED.values(), ids=UNSTRUCTURED)
def test_an_unstructured_matrix_gets_the_normal_interval_and_says_so(
    mechanism: Mechanism, counts: tuple[int, ...]
) -> None:
    n, level, inverse = sum(counts), 0.9, exact_left_inverse(mechanism)
    assert inverse is not None
    g, estimate = np.array(inverse, dtype=float), debias(mechanism, counts)
    # As if each response had been seen z^2/2 times more; and no less than the least variance of the
    # category's kernel over the true categories, which tells where the sample's is 0.
    seen = np.array(counts) + norm.ppf((1 + level) / 2) ** 2 / 2
    matrix = solution_matrix(mechanism)
    least = (g**2 @ matrix.T - np.eye(mechanism.categories)).min(axis=1)
    squares = g**2 @ seen / n - estimate**2
    half = norm.ppf((1 + level) / 2) * np.sqrt(np.maximum(squares / (n - 1), least / n))
    if counts is FEW:
        assert standard_errors(mechanism, counts, Model.SAMPLED).max() < 1e-6
        assert half.min() > 0.05
    intervals, possible = frequency_intervals(mechanism, counts, level), np.clip(estimate, 0, 1)
    assert intervals.methods == (NORMAL,) * mechanism.categories
    np.testing.assert_allclose(intervals.low, np.clip(possible - half, 0, 1), atol=1e-9)
    np.testing.assert_allclose(intervals.high, np.clip(possible + half, 0, 1), atol=1e-9)
    if counts is not FEW:
        assert intervals.outside.tolist() == (abs(estimate - 0.5) - half > 0.5).tolist()
