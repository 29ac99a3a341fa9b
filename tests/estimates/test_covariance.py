"""The covariance of the estimate: exact in both models, and estimated without bias."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import norm

from deniable.estimates import Histogram, Model, compare, covariance, decoder_of
from deniable.estimates.decoders import Decoder, Tally
from deniable.estimates.decoders.dense import solution_matrix
from deniable.estimates.queries import cautious_values
from deniable.mechanisms import Mechanism, RandomisedResponse
from tests.estimates.matrices import (
    FORMULAS,
    FREQUENCIES,
    MECHANISMS,
    SURVEYED,
    WIDE,
    Floats,
    debias,
    estimated_covariance,
    fixed_law,
    linear_query,
    mean,
    sampled_law,
    standard_errors,
)
from tests.mechanisms.laws import matrix_of
from tests.support.geometric import clamped_geometric

every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
N = 4


@every_mechanism
@pytest.mark.parametrize(("model", "n"), [(Model.SAMPLED, 2), (Model.SAMPLED, N), (Model.FIXED, N)])
def test_over_all_samples_estimates_and_covariances_are_right_on_average(
    mechanism: Mechanism, model: Model, n: int
) -> None:
    shares = FREQUENCIES[mechanism.categories]
    f, weights = np.array(shares, dtype=float), np.array([-2, 1 / 3, 5])[: len(shares)]
    if model is Model.SAMPLED:
        law = [*sampled_law(mechanism, shares, n)]
    else:
        answers = [x for x, share in enumerate(shares) for _ in range(int(share * N))]
        law = [*fixed_law(mechanism, answers)]
    chances = np.array([float(chance) for _, chance in law])
    estimates = np.array([debias(mechanism, counts) for counts, _ in law])
    np.testing.assert_allclose(chances @ estimates, f, atol=1e-12)
    off = estimates - f
    enumerated, exact = (off.T * chances) @ off, covariance(mechanism, f, n, model)
    np.testing.assert_allclose(exact, enumerated, rtol=1e-10, atol=1e-12)
    if model is Model.SAMPLED:
        estimated = [estimated_covariance(mechanism, counts) for counts, _ in law]
        mean = np.tensordot(chances, estimated, 1)
        np.testing.assert_allclose(mean, exact, rtol=1e-9, atol=1e-11)
        queries = [linear_query(mechanism, counts, weights.tolist()) for counts, _ in law]
        values = chances @ [query.value for query in queries]
        assert values == pytest.approx(weights @ f, abs=1e-10)
        variance = chances @ [query.standard_error**2 for query in queries]
        assert variance == pytest.approx(weights @ exact @ weights, rel=1e-9)


def test_one_report_has_a_standard_error_in_the_fixed_model_only() -> None:
    for mechanism in (FORMULAS, matrix_of(FORMULAS)):
        with pytest.raises(ValueError, match="a single report"):
            standard_errors(mechanism, (0, 1, 0, 0), Model.SAMPLED)
        with pytest.raises(ValueError, match="a single report"):
            estimated_covariance(mechanism, (0, 1, 0, 0))
        assert (standard_errors(mechanism, (0, 1, 0, 0), Model.FIXED) > 0).all()


@every_mechanism
def test_the_estimated_sampled_covariance_is_never_negative(mechanism: Mechanism) -> None:
    for counts in product(range(4), repeat=mechanism.responses):
        if sum(counts) > 1:
            estimated = estimated_covariance(mechanism, counts)
            assert np.linalg.eigvalsh(estimated).min() > -1e-9 * max(1.0, np.abs(estimated).max())


def test_an_estimated_variance_below_zero_gives_the_error_zero() -> None:
    # The unbiased estimate of another matrix's fixed variance may be negative by chance.
    skewed, counts = MECHANISMS["skewed square"], (2, 0, 0)
    errors = standard_errors(skewed, counts, Model.FIXED)
    assert errors[2] == 0
    assert (errors[:2] > 0).all()


every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
every_surveyed = pytest.mark.parametrize("mechanism", SURVEYED.values(), ids=SURVEYED)

WEIGHTS = (Fraction(-2), Fraction(1, 3), Fraction(5))
COUNTS = (31, 12, 25, 40, 8, 21, 63)


def cautious(mechanism: Mechanism, counts: Sequence[int], w: Floats) -> tuple[Floats, Floats]:
    decoder = decoder_of(mechanism)
    return cautious_values(decoder, decoder.tally(counts), w)


def weights_of(mechanism: Mechanism) -> tuple[Fraction, ...]:
    return WEIGHTS[: mechanism.categories]


@every_surveyed
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
    matrix = solution_matrix(mechanism)
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
_REFUSED: list[tuple[Callable[[Any], object], str]] = [
    *((lambda m, w=w: linear_query(m, _FOUR, [1] * w), "weights are expected") for w in (0, 2, 5)),
    (lambda m: linear_query(m, _FOUR, [1] * m.categories, 1.0), "level must be"),
    (lambda m: linear_query(m, _FOUR, [1] * m.categories, math.nan), "level must be"),
    (lambda m: linear_query(m, (1, 2, 3), [1] * m.categories), "counts are expected"),
    (lambda m: linear_query(m, (0, 0, 0, 0), [1] * m.categories), "no reports to estimate from"),
    (lambda m: mean(m, (1, 2, 3, -4), [Fraction(1)] * m.categories), "not be negative"),
]


@pytest.mark.parametrize("mechanism", [FORMULAS, matrix_of(FORMULAS), WIDE])
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
