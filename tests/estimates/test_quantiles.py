"""Quantiles: by hand where there is no noise, and always with an interval that says something."""

import math
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import SolutionMatrix
from deniable.estimates import Quantile, debias, quantiles
from deniable.estimates.curve import rising_shares
from deniable.mechanisms import Mechanism, RandomisedResponse
from deniable.planning.calibration import clamped_geometric
from tests.estimates.matrices import SURVEYED, Floats
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(100))
VALUES = [Fraction(10 * i) for i in range(7)]

PLAIN = SolutionMatrix([[int(x == y) for y in range(7)] for x in range(7)], 1)
"""No noise at all."""


def test_without_noise_intervals_are_woodruffs() -> None:
    # n = 100, F = .1, .2, .45, .55, .8, 1, 1 with errors sqrt(F(1-F)/99): at .5 and z = 1.96 both
    # .45 + .098 and .55 - .098 are on the other side, .2 + .079 and .8 - .079 are not.
    found = quantiles(PLAIN, (10, 10, 25, 10, 25, 20, 0), VALUES, (0.5,))
    assert found == (Quantile(0.5, 30, 20, 40, 0.95),)
    # At z = 0.25 nor are .45 + .012 and .55 - .012.
    assert quantiles(PLAIN, (10, 10, 25, 10, 25, 20, 0), VALUES, (0.5,), 0.2)[0] == Quantile(
        0.5, 30, 30, 30, 0.2
    )


@pytest.mark.parametrize("blur", [1, 2])
@pytest.mark.parametrize("at", range(7))
def test_blur_moves_no_interval_away_from_the_quantile(
    monkeypatch: pytest.MonkeyPatch, blur: int, at: int
) -> None:
    # Everybody at one value: F is 0 before it and 1 from it on, and nothing is uncertain. Averages
    # around the value are between 0 and 1; only those before and after it are not.
    module = import_module("deniable.estimates.curve")
    monkeypatch.setattr(module, "blur_of", lambda *_: blur)
    counts = [10**9 * (x == at) for x in range(7)]
    for quantile in quantiles(PLAIN, counts, VALUES, (0.02, 0.3, 0.5, 0.7, 0.98)):
        assert quantile.low <= VALUES[at] <= quantile.high
        assert quantile.high - quantile.low <= 2 * 2 * blur * 10
        assert abs(quantile.value - VALUES[at]) <= blur * 10


ANY_COUNTS = st.lists(st.integers(0, 3000), min_size=7, max_size=7).filter(any)


@PROPERTY
@given(
    st.sampled_from([PLAIN, RandomisedResponse(7, "1"), *SURVEYED.values()]),
    ANY_COUNTS,
    st.sampled_from([1e-9, 0.5, 0.95, 1 - 1e-12]),
)
def test_whatever_was_counted_there_is_an_interval_around_the_estimate(
    mechanism: Mechanism, counts: list[int], level: float
) -> None:
    found = quantiles(mechanism, counts, VALUES, (0.01, 0.25, 0.5, 0.75, 0.99), level)
    for quantile in found:
        assert quantile.low <= quantile.value <= quantile.high
        assert {quantile.low, quantile.value, quantile.high} <= set(map(float, VALUES))
    estimates = [quantile.value for quantile in found]
    assert estimates == sorted(estimates)


def minimum_of_maxima(shares: Floats, weights: Floats) -> list[float]:
    """Return the isotonic regression by its max-min formula: another way than pooling."""
    return [
        max(
            min(
                float(np.average(shares[a : b + 1], weights=weights[a : b + 1]))
                for b in range(i, len(shares))
            )
            for a in range(i + 1)
        )
        for i in range(len(shares))
    ]


@PROPERTY
@given(
    st.lists(st.tuples(st.integers(-40, 40), st.sampled_from([1, 3, 10])), min_size=1, max_size=8)
)
def test_shares_are_made_to_rise_by_weighted_least_squares(pairs: list[tuple[int, int]]) -> None:
    shares = np.array([share / 20 for share, _ in pairs] + [1.0])
    errors = np.array([error / 10 for _, error in pairs] + [0.0])
    rising = np.clip(minimum_of_maxima(shares[:-1], errors[:-1] ** -2.0), 0, 1)
    np.testing.assert_allclose(rising_shares(shares, errors), [*rising, 1], atol=1e-9)


def test_of_many_values_only_some_are_tested_and_the_interval_covers_the_rest() -> None:
    # 8,192 categories: 256 are tested, the last of every 32.
    k = 8_192
    mechanism = RandomisedResponse(k, "12")
    counts = [3] * k
    counts[2_500] = 10**6
    median = quantiles(mechanism, counts, [Fraction(i) for i in range(k)], (0.5,))[0]
    assert (median.low, median.value, median.high) == (78 * 32, 79 * 32 - 1, 79 * 32 - 1)
    assert debias(mechanism, counts)[2_500] > 0.9


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda m, c: quantiles(m, c, VALUES, level=1.0), "level must be"),
        (lambda m, c: quantiles(m, c, VALUES, level=math.nan), "level must be"),
        (lambda m, c: quantiles(m, c, VALUES, (0.5, 1.0)), "probability must be"),
        (lambda m, c: quantiles(m, c, VALUES, (0.0,)), "probability must be"),
        (lambda m, c: quantiles(m, c, VALUES, (math.nan,)), "probability must be"),
        (lambda m, c: quantiles(m, c, VALUES[:6]), "7 values are expected"),
        (lambda m, c: quantiles(m, c[:6], VALUES), "counts are expected"),
        (lambda m, c: quantiles(m, [0 * i for i in c], VALUES), "nothing to estimate"),
    ],
)
def test_what_allows_no_estimate_is_refused(
    call: Callable[[Mechanism, list[int]], tuple[Quantile[float], ...]], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        call(clamped_geometric(7, "1"), [5] * 7)
