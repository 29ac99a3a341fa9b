"""How far a matrix is from the optimum: the published figures, and bounds that nothing beats."""

from fractions import Fraction
from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings

from deniable.audit import SolutionMatrix, pure_level
from deniable.estimates import NotInvertible
from deniable.estimates.decoders.dense import left_inverse, solution_matrix
from deniable.planning.candidates import least_cost
from tests.audit.matrices import matrices, of_weights
from tests.audit.theorems import odds_above
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))


def subset_selection(categories: int, chosen: int, odds: Fraction) -> SolutionMatrix:
    """Return the matrix whose responses are all sets of a size, E times as likely if true."""
    sets = [set(c) for c in combinations(range(categories), chosen)]
    u, v = odds.numerator, odds.denominator
    return of_weights([[u if x in s else v for s in sets] for x in range(categories)])


def total_variance(matrix: SolutionMatrix) -> float:
    """Return n times the summed variances of the estimate, of fixed data of equal frequencies."""
    rows = solution_matrix(matrix)
    try:
        return float(np.sum(left_inverse(rows) ** 2 @ rows.mean(axis=0))) - 1
    except NotInvertible:
        return inf


# Published figures. They have five digits.


@pytest.mark.parametrize(
    ("epsilon", "categories", "expected"),
    [
        ("0.5", 16, 219.44),
        ("1", 4, 7.5562),
        ("1", 16, 50.976),
        ("1", 128, 463.09),
        ("2", 128, 90.254),
        ("4", 1024, 76.706),
    ],
)
def test_the_least_variance_is_that_of_the_best_subset_selection(
    epsilon: str, categories: int, expected: float
) -> None:
    least = least_cost(categories, odds_above(epsilon))
    assert least is not None
    assert float(least) == pytest.approx(expected, rel=1e-5)


@PROPERTY
@given(matrices())
def test_no_matrix_beats_the_optimum_of_its_own_privacy(matrix: SolutionMatrix) -> None:
    pure = pure_level(matrix).odds
    if pure is not None and (least := least_cost(matrix.categories, pure)) is not None:
        # Exact but for the variance, by a singular value decomposition in floats.
        assert total_variance(matrix) >= float(least) * (1 - 1e-9)
