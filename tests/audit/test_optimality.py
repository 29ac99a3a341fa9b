"""How far a matrix is from the optimum: the published figures, and bounds that nothing beats."""

from fractions import Fraction
from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings

from deniable.audit import (
    SolutionMatrix,
    largest_lie,
    odds_above,
    pure_level,
    tight_epsilon,
)
from deniable.estimates.decoders import NotInvertible, left_inverse, solution_matrix
from deniable.mechanisms import RandomisedResponse
from deniable.planning.candidates import design_variance, least_variance
from tests.audit.matrices import deltas, matrices, of_weights
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))


def subset_selection(categories: int, chosen: int, odds: Fraction) -> SolutionMatrix:
    """Return the matrix whose responses are all sets of a size, E times likelier with the truth."""
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
    [("0.5", 16, 616.53), ("1", 4, 7.5562), ("1", 16, 98.747), ("1", 128, 5653.7)],
)
def test_the_variance_of_randomised_response_is_the_published_one(
    epsilon: str, categories: int, expected: float
) -> None:
    mechanism = RandomisedResponse(categories, epsilon)
    assert mechanism.privacy.odds is not None
    stated = design_variance(categories, categories, 1, 0, mechanism.privacy.odds - 1)
    assert float(stated) == pytest.approx(expected, rel=1e-5)
    assert total_variance(SolutionMatrix.of(mechanism)) == pytest.approx(expected, rel=1e-5)


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
    least = least_variance(categories, odds_above(epsilon))
    assert least is not None
    assert float(least) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("epsilon", "most"), [("0.5", 3), ("1", 5), ("2", 11), ("3", 29), ("4", 78)]
)
def test_randomised_response_has_the_least_variance_up_to_so_many_categories(
    epsilon: str, most: int
) -> None:
    odds = odds_above(epsilon)
    for k in (most, most + 1):
        attains = design_variance(k, k, 1, 0, odds - 1) == least_variance(k, odds)
        assert attains == (k == most)


@PROPERTY
@given(matrices(), deltas)
def test_no_matrix_beats_the_optimum_of_its_own_privacy(
    matrix: SolutionMatrix, delta: Fraction
) -> None:
    lie = largest_lie(matrix, tight_epsilon(matrix, delta).odds, delta)
    assert (lie.reason == "") == (None not in {lie.value, lie.optimum})
    assert lie.ratio is None or lie.ratio >= 1
    pure = pure_level(matrix).odds
    if pure is not None and (least := least_variance(matrix.categories, pure)) is not None:
        # Exact but for the variance, by a singular value decomposition in floats.
        assert total_variance(matrix) >= float(least) * (1 - 1e-9)


def test_without_a_finite_epsilon_there_is_no_optimum() -> None:
    truth = of_weights([[1, 0], [0, 1]])
    lie = largest_lie(truth, pure_level(truth).odds, Fraction(0))
    assert lie.value == 0
    assert lie.optimum is None
    assert lie.reason == "no finite epsilon holds with this delta"
