"""Intervals of linear queries; that these are unbiased is enumerated in test_covariance.py."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import norm

from deniable.audit import SolutionMatrix
from deniable.estimates import (
    Histogram,
    compare,
    decoder_of,
    linear_query,
    mean,
)
from deniable.estimates.decoders import Decoder, Tally
from deniable.estimates.queries import cautious_values
from deniable.mechanisms import Mechanism, RandomisedResponse
from deniable.planning.calibration import clamped_geometric
from tests.estimates.matrices import (
    FORMULAS,
    MECHANISMS,
    SURVEYED,
    WIDE,
    Floats,
)

every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
every_survey = pytest.mark.parametrize("mechanism", SURVEYED.values(), ids=SURVEYED)

WEIGHTS = (Fraction(-2), Fraction(1, 3), Fraction(5))
COUNTS = (31, 12, 25, 40, 8, 21, 63)


def cautious(mechanism: Mechanism, counts: Sequence[int], w: Floats) -> tuple[Floats, Floats]:
    decoder = decoder_of(mechanism)
    return cautious_values(decoder, decoder.tally(counts), w)


def weights_of(mechanism: Mechanism) -> tuple[Fraction, ...]:
    return WEIGHTS[: mechanism.categories]


@every_survey
def test_the_interval_is_normal_and_cut_to_what_is_possible(mechanism: Mechanism) -> None:
    weights = (0, 0, 0, 1, 2, 3, 4)
    for counts in (COUNTS, tuple(reversed(COUNTS)), (90, 5, 5, 5, 5, 5, 5)):
        found = linear_query(mechanism, counts, weights, 0.8)
        value, error = cautious(mechanism, counts, np.array(weights, dtype=np.float64))
        half = norm.ppf(0.9) * float(error)
        assert error >= found.standard_error * (1 - 1e-12)
        assert found.low == pytest.approx(min(max(float(value) - half, 0), 4), abs=1e-9)
        assert found.high == pytest.approx(min(max(float(value) + half, 0), 4), abs=1e-9)
        assert found.level == 0.8


@every_mechanism
def test_identical_reports_leave_the_least_variance_of_a_population_with_that_value(
    mechanism: Mechanism,
) -> None:
    # Their sample variance is 0. The least by linear programming: of all populations whose mean of
    # the kernel is the value, cut to what is possible.
    w = np.array([float(weight) for weight in weights_of(mechanism)])
    matrix = np.array(
        [
            [float(mechanism.probability(x, y)) for y in range(mechanism.responses)]
            for x in range(mechanism.categories)
        ]
    )
    for response in (0, mechanism.responses // 2):
        counts = [0] * mechanism.responses
        counts[response] = 40
        found, error = cautious(mechanism, counts, w)
        moments = matrix @ decoder_of(mechanism).kernels(w) ** 2
        value = min(max(float(found), w.min()), w.max())
        population = linprog(moments, A_eq=[w, np.ones(len(w))], b_eq=[value, 1])
        assert float(error) ** 2 * 40 == pytest.approx(population.fun - value**2, rel=1e-6)


def test_a_mean_far_from_zero_keeps_its_digits() -> None:
    mechanism = clamped_geometric(7, "1")
    near = mean(mechanism, COUNTS, [Fraction(i, 10**6) for i in range(7)])
    far = mean(mechanism, COUNTS, [10**9 + Fraction(i, 10**6) for i in range(7)])
    assert far.standard_error == near.standard_error
    assert far.value - 10**9 == pytest.approx(near.value, abs=2e-7)  # one step of floats there


_FOUR = (1, 2, 3, 4)
_REFUSED: list[tuple[Callable[[Mechanism], object], str]] = [
    *((lambda m, w=w: linear_query(m, _FOUR, [1] * w), "weights are expected") for w in (0, 2, 5)),
    (lambda m: linear_query(m, _FOUR, [1] * m.categories, 1.0), "level must be"),
    (lambda m: linear_query(m, _FOUR, [1] * m.categories, math.nan), "level must be"),
    (lambda m: linear_query(m, (1, 2, 3), [1] * m.categories), "counts are expected"),
    (lambda m: linear_query(m, (0, 0, 0, 0), [1] * m.categories), "nothing to estimate"),
    (lambda m: mean(m, (1, 2, 3, -4), [1] * m.categories), "less than 0"),
]


@pytest.mark.parametrize("mechanism", [FORMULAS, SolutionMatrix.of(FORMULAS), WIDE])
def test_what_allows_no_estimate_is_refused(mechanism: Mechanism) -> None:
    for call, problem in _REFUSED:
        with pytest.raises(ValueError, match=problem):
            call(mechanism)


def test_a_comparison_of_more_answers_makes_intervals_no_more_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = 0
    decoder = type(decoder_of(RandomisedResponse(5, "1")))
    made = decoder.intervals

    def counted(self: Decoder, tally: Tally, level: float, *, possible: bool = False) -> Any:
        nonlocal calls
        calls += 1
        return made(self, tally, level, possible=possible)

    monkeypatch.setattr(decoder, "intervals", counted)
    took = []
    for answers in (5, 40):
        before = calls
        one, other = (
            Histogram.of_counts(RandomisedResponse(answers, "1"), [n] * answers) for n in (90, 80)
        )
        compare(one, None, other).to_dict()
        took.append(calls - before)
    assert took[0] == took[1] > 0
