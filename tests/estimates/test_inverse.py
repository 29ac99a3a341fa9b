"""Debiasing: unbiased by enumeration, and in closed form what any left inverse gives."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import settings

from deniable.audit import SolutionMatrix
from deniable.estimates import (
    NotInvertible,
    debias,
    left_inverse,
    solution_matrix,
)
from deniable.mechanisms import ClampedGeometric, Mechanism, RandomisedResponse
from deniable.planning.calibration import clamped_geometric
from tests.estimates.matrices import (
    FORMULAS,
    incidence,
)
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(150))


@pytest.mark.parametrize("epsilon", ["0.001", "0.000001", "0.000000000000001"])
@pytest.mark.parametrize("counts", [(501, 499), (10**9, 10**9 + 1), (1, 0), (3, 7)])
def test_nothing_cancels_at_a_very_small_epsilon(epsilon: str, counts: tuple[int, int]) -> None:
    mechanism = RandomisedResponse(2, epsilon)
    q, kappa = mechanism.lie, mechanism.truth - mechanism.lie
    exact = [float((Fraction(c, sum(counts)) - q) / kappa) for c in counts]
    assert debias(mechanism, counts).tolist() == exact
    assert exact[0] != exact[1]


@pytest.mark.parametrize(
    "counts", [(), (1, 2, 3), (1, 2, 3, 4, 5), (0, 0, 0, 0), (5, -1, 0, 0), (-1, 0, 0, 0)]
)
@pytest.mark.parametrize(
    "mechanism", [FORMULAS, SolutionMatrix.of(FORMULAS)], ids=["closed", "general"]
)
def test_counts_that_allow_no_estimate_are_refused(
    mechanism: Mechanism, counts: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match=r"counts are expected|nothing to estimate|less than 0"):
        debias(mechanism, counts)


@pytest.mark.parametrize(
    "matrix",
    [
        incidence([{0}, {0}], 2, 3),
        SolutionMatrix.exact(
            ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)), (Fraction(1, 2),) * 2)
        ),
    ],
    ids=["equal rows", "fewer responses than categories"],
)
def test_categories_that_no_response_tells_apart_are_refused(matrix: SolutionMatrix) -> None:
    with pytest.raises(NotInvertible):
        debias(matrix, (3, 4))


@pytest.mark.parametrize("epsilon", ["0.1", "1", "8"])
def test_the_inverse_of_two_hundred_categories_undoes_the_matrix(epsilon: str) -> None:
    matrix = solution_matrix(clamped_geometric(200, epsilon))
    np.testing.assert_allclose(left_inverse(matrix) @ matrix.T, np.eye(200), atol=1e-9)


def test_a_matrix_that_floats_cannot_invert_is_refused_with_what_to_do() -> None:
    hardly = ClampedGeometric(200, Fraction(2**62 - 2**30, 2**62))
    with pytest.raises(NotInvertible, match=r"condition number .*; raise epsilon or use fewer"):
        debias(hardly, [1] * 200)


def test_a_response_that_never_occurs_leaves_too_few() -> None:
    with pytest.raises(NotInvertible, match="fewer responses occur"):
        left_inverse(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.125, 0.875, 0.0]]))


@pytest.mark.parametrize("split", [1, 3])
def test_a_matrix_nearly_singular_is_refused_whatever_its_shape(split: int) -> None:
    near = np.array([[0.5, 0.3, 0.2], [0.5, 0.3 + 3e-14, 0.2 - 3e-14], [0.1, 0.2, 0.7]])
    matrix = np.repeat(near / split, split, axis=1)
    with pytest.raises(NotInvertible, match=r"condition number .*; raise epsilon or use fewer"):
        left_inverse(matrix)
    assert left_inverse(np.repeat(near[1:] / split, split, axis=1)).shape == (2, 3 * split)
