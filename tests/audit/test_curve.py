"""The privacy curve: the tight delta at every epsilon at once."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import (
    MatrixTooLarge,
    SolutionMatrix,
    privacy_curve,
    pure_level,
    tight_delta_at_odds,
)
from deniable.audit.tight import tight_delta
from deniable.mechanisms import InvalidPrivacyParameter
from tests.audit.matrices import G, matrices, odds
from tests.support.effort import effort
from tests.support.geometric import clamped_geometric

PROPERTY = settings(max_examples=effort(80))


@PROPERTY
@given(matrices(), odds)
def test_the_curve_is_the_tight_delta_everywhere(matrix: SolutionMatrix, level: Fraction) -> None:
    curve = privacy_curve(matrix)
    assert curve.exact
    assert curve.delta_at_odds(level) == tight_delta_at_odds(matrix, level).delta
    places = [where for where, _ in curve.points]
    assert places == sorted(set(places))
    assert places[0] == 1
    for where, delta in curve.points:
        assert tight_delta_at_odds(matrix, where).delta == delta
    last = pure_level(matrix).odds
    if last is not None:
        assert curve.points[-1] == (last, Fraction(0))
    # No point is superfluous: the line bends at each.
    slopes = [(b - a) / (right - left) for (left, a), (right, b) in pairwise(curve.points)]
    assert all(before < after < 0 for before, after in pairwise([*slopes, Fraction(0)][:-1]))


@PROPERTY
@given(matrices(), st.lists(st.integers(0, 40), max_size=3), odds)
def test_a_curve_of_some_points_is_nowhere_below_the_true_one(
    matrix: SolutionMatrix, epsilons: list[int], level: Fraction
) -> None:
    curve = privacy_curve(matrix, epsilons)
    assert not curve.exact
    assert len(curve.points) == len({0, *epsilons})
    assert curve.delta_at_odds(level) >= tight_delta_at_odds(matrix, level).delta


def test_a_curve_that_takes_too_many_comparisons_asks_for_epsilons() -> None:
    matrix = SolutionMatrix.of(clamped_geometric(102, "2"))
    with pytest.raises(MatrixTooLarge, match="give the epsilons"):
        privacy_curve(matrix)
    (_, start), (_, one), (_, end) = privacy_curve(matrix, ["1", "2"]).points
    assert start > one > end == 0
    assert one == tight_delta(matrix, "1").delta


def test_the_curve_has_no_odds_below_one() -> None:
    with pytest.raises(InvalidPrivacyParameter):
        privacy_curve(G).delta_at_odds(Fraction(1, 2))
