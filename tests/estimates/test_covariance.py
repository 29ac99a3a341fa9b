"""The covariance of the estimate: exact in both models, and estimated without bias."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.audit import SolutionMatrix
from deniable.estimates import Model, covariance, debias, estimated_covariance, standard_errors
from deniable.mechanisms import Mechanism
from tests.estimates.matrices import (
    FORMULAS,
    FREQUENCIES,
    MECHANISMS,
    Floats,
    Law,
    fixed_law,
    sampled_law,
)

every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
N = 4


def as_floats(values: Sequence[Fraction]) -> Floats:
    return np.array([float(value) for value in values])


def moments(mechanism: Mechanism, law: Law) -> tuple[Floats, Floats]:
    """Return mean and covariance of the estimate under an exact law of the counts."""
    outcomes = [(float(chance), debias(mechanism, counts)) for counts, chance in law]
    mean = np.sum([chance * estimate for chance, estimate in outcomes], axis=0)
    spread = [chance * np.outer(e - mean, e - mean) for chance, e in outcomes]
    return mean, np.asarray(np.sum(spread, axis=0))


def answers(mechanism: Mechanism) -> list[int]:
    """Return N answers with exactly the frequencies of FREQUENCIES."""
    f = FREQUENCIES[mechanism.categories]
    return [x for x, share in enumerate(f) for _ in range(int(share * N))]


def law_of(mechanism: Mechanism, model: Model, n: int = N) -> Law:
    """Return the exact law of the counts of n devices with the frequencies of FREQUENCIES."""
    if model is Model.SAMPLED:
        return sampled_law(mechanism, FREQUENCIES[mechanism.categories], n)
    return fixed_law(mechanism, answers(mechanism))


@every_mechanism
@pytest.mark.parametrize("model", Model)
def test_the_estimate_is_unbiased_and_has_the_exact_covariance(
    mechanism: Mechanism, model: Model
) -> None:
    f = as_floats(FREQUENCIES[mechanism.categories])
    mean, enumerated = moments(mechanism, law_of(mechanism, model))
    np.testing.assert_allclose(mean, f, atol=1e-12)
    np.testing.assert_allclose(
        covariance(mechanism, f, N, model), enumerated, rtol=1e-10, atol=1e-12
    )


@every_mechanism
@pytest.mark.parametrize(("model", "n"), [(Model.SAMPLED, 2), (Model.SAMPLED, N), (Model.FIXED, N)])
def test_the_estimate_of_the_covariance_is_unbiased(
    mechanism: Mechanism, model: Model, n: int
) -> None:
    mean = sum(
        float(chance) * estimated_covariance(mechanism, counts, model)
        for counts, chance in law_of(mechanism, model, n)
    )
    exact = covariance(mechanism, as_floats(FREQUENCIES[mechanism.categories]), n, model)
    np.testing.assert_allclose(mean, exact, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "mechanism", [FORMULAS, SolutionMatrix.of(FORMULAS)], ids=["closed", "general"]
)
def test_one_report_has_a_standard_error_in_the_fixed_model_only(mechanism: Mechanism) -> None:
    for call in (standard_errors, estimated_covariance):
        with pytest.raises(ValueError, match="one report"):
            call(mechanism, (0, 1, 0, 0), Model.SAMPLED)
    assert (standard_errors(mechanism, (0, 1, 0, 0), Model.FIXED) > 0).all()


@every_mechanism
def test_the_estimated_sampled_covariance_is_never_negative(mechanism: Mechanism) -> None:
    for counts in product(range(4), repeat=mechanism.responses):
        if sum(counts) > 1:
            estimated = estimated_covariance(mechanism, counts, Model.SAMPLED)
            assert np.linalg.eigvalsh(estimated).min() > -1e-9 * max(1.0, np.abs(estimated).max())


def test_an_estimated_variance_below_zero_gives_the_error_zero() -> None:
    # The unbiased estimate of another matrix's fixed variance may be negative by chance.
    skewed, counts = MECHANISMS["skewed square"], (2, 0, 0)
    assert np.diag(estimated_covariance(skewed, counts, Model.FIXED))[2] < -0.1
    errors = standard_errors(skewed, counts, Model.FIXED)
    assert errors[2] == 0
    assert (errors[:2] > 0).all()
