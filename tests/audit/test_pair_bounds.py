"""What floats say about pairs of rows: never too little, and hardly too much."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import (
    MatrixTooLarge,
    SolutionMatrix,
    pure_level,
    tight_delta_at_odds,
    tight_epsilon,
)
from deniable.audit.all_pairs import PairBounds
from tests.audit.matrices import entries, matrices, odds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(80))


@PROPERTY
@given(matrices(), st.one_of(odds, st.sampled_from([Fraction(2**64), Fraction(10**30)])))
def test_no_bound_is_below_what_a_pair_needs_nor_far_above(
    matrix: SolutionMatrix, level: Fraction
) -> None:
    bounds = PairBounds(matrix)
    p = entries(matrix)
    largest = bounds.largest(level, np.arange(matrix.categories))
    for x in range(matrix.categories):
        row = bounds.of_row(level, x)
        assert row[x] == -1
        assert largest[x] == max(0, *row)
        for z in set(range(matrix.categories)) - {x}:
            needed = sum(max(Fraction(0), a - level * b) for a, b in zip(p[x], p[z], strict=True))
            assert needed <= Fraction(float(row[z])) <= needed + Fraction(1, 10**13)


def test_bounds_hold_for_probabilities_that_are_no_floats() -> None:
    # 5 and 1 in 10^330, which is far below the least positive float.
    grid = 10**330
    matrix = SolutionMatrix([[grid - 5, 5], [grid - 1, 1]], grid)
    bound = PairBounds(matrix).of_row(Fraction(2), 0)[1]
    assert Fraction(float(bound)) >= Fraction(3, grid)
    assert pure_level(matrix).odds == 5
    assert tight_delta_at_odds(matrix, 2).delta == Fraction(3, grid)
    assert tight_delta_at_odds(matrix, 10**40).delta == 0
    assert tight_epsilon(matrix, "0.000000000000000001").odds == 1


def test_bounds_hold_for_odds_that_are_no_floats() -> None:
    grid = 10**330
    excluding = SolutionMatrix([[0, grid], [grid // 4, grid - grid // 4]], grid)
    for level in (Fraction(2**64), Fraction(10**400), Fraction(grid + 1)):
        assert PairBounds(excluding).of_row(level, 1)[0] >= 0.25
        assert PairBounds(excluding).of_row(level, 0)[1] < 1e-100
    assert tight_epsilon(excluding, "0.2").odds is None
    assert tight_epsilon(excluding, "0.25").odds == Fraction(1)


class _Large:
    categories = 1 << 14
    responses = (1 << 12) + 1
    grid = 1 << 64

    def row(self, category: int) -> list[int]:
        raise AssertionError("no row is to be read")


def test_a_matrix_with_too_many_entries_is_refused_before_they_are_read() -> None:
    with pytest.raises(MatrixTooLarge, match="67,108,864"):
        PairBounds(_Large())
