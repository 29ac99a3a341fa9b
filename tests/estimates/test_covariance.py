"""The covariance of the estimate: exact in both models, and estimated without bias."""

from itertools import product

import numpy as np
import pytest

from deniable.audit import SolutionMatrix
from deniable.estimates import (
    Model,
    covariance,
    debias,
    estimated_covariance,
    linear_query,
    standard_errors,
)
from deniable.mechanisms import Mechanism
from tests.estimates.matrices import FORMULAS, FREQUENCIES, MECHANISMS, fixed_law, sampled_law

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
    estimated = [estimated_covariance(mechanism, counts, model) for counts, _ in law]
    mean = np.tensordot(chances, estimated, 1)
    np.testing.assert_allclose(mean, exact, rtol=1e-9, atol=1e-11)
    queries = [linear_query(mechanism, counts, weights.tolist(), model=model) for counts, _ in law]
    values = chances @ [query.value for query in queries]
    assert values == pytest.approx(weights @ f, abs=1e-10)
    if model is Model.SAMPLED:  # of fixed devices a variance may seem negative, and is 0
        variance = chances @ [query.standard_error**2 for query in queries]
        assert variance == pytest.approx(weights @ exact @ weights, rel=1e-9)


def test_one_report_has_a_standard_error_in_the_fixed_model_only() -> None:
    for mechanism in (FORMULAS, SolutionMatrix.of(FORMULAS)):
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
