"""Responses need not be the categories: families whose matrices are not square, audited whole."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from deniable.accounting import PrivacyLoss
from deniable.audit import (
    Condition,
    MatrixMechanism,
    SolutionMatrix,
    is_private,
    largest_lie,
    least_delta,
    privacy_curve,
    theorem_2,
    tight_delta_at_odds,
    tight_epsilon,
)
from deniable.audit.exponential_sum import ExponentialSum
from tests.audit.matrices import of_weights, worst_by_definition


def unary(categories: int, odds: Fraction) -> SolutionMatrix:
    """Return the matrix of a vector of bits, each told truly with these odds: 2^k responses."""
    u, v = odds.as_integer_ratio()
    return of_weights(
        [
            [
                int(np.prod([u if bit == (y == x) else v for y, bit in enumerate(bits)]))
                for bits in product([False, True], repeat=categories)
            ]
            for x in range(categories)
        ]
    )


def subsets(categories: int, size: int) -> SolutionMatrix:
    sets = list(combinations(range(categories), size))
    return of_weights([[3 if x in s else 1 for s in sets] for x in range(categories)])


FAMILIES = {
    "bits": unary(3, Fraction(2)),
    "subsets": subsets(4, 2),
    "more categories than responses": of_weights([[3, 1], [2, 2], [1, 3]]),
    "a response that excludes a category": of_weights([[1, 2, 0, 3], [2, 1, 1, 2]]),
    "one response": of_weights([[1], [1], [1]]),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_matrix_that_is_not_square_is_audited_like_any_other(name: str) -> None:
    matrix = FAMILIES[name]
    curve, loss = privacy_curve(matrix), PrivacyLoss.of_mechanism(matrix)
    whole = MatrixMechanism(matrix.categories, 1, matrix)
    assert len(whole.responses) == matrix.responses != matrix.categories
    for odds in (Fraction(1), Fraction(3, 2), Fraction(4)):
        delta, _ = worst_by_definition(matrix, odds)
        assert tight_delta_at_odds(matrix, odds).delta == delta
        assert curve.delta_at_odds(odds) == loss.delta_at_odds(odds) == delta
        exact = least_delta(whole, ExponentialSum.term(odds))
        assert exact.numerator == delta * exact.denominator
        for rule in (theorem_2, None):
            condition = Condition.at_odds(odds, delta)
            assert is_private(whole, condition, *([rule] if rule else []))
    for delta in (Fraction(0), Fraction(1, 20), Fraction(1, 3)):
        assert tight_epsilon(matrix, delta).odds == loss.odds_at(delta)
    lie = largest_lie(matrix, Fraction(1), Fraction(0))
    assert lie.value is None
    assert "square" in lie.reason
