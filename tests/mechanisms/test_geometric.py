"""Two-sided geometric noise, clamped: the matrix is exactly what noise and clamping make."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable.mechanisms import ClampedGeometric, GridTooCoarse
from tests.mechanisms.laws import (
    EXTREME_RATIOS,
    WORDS,
    assert_sound_rows,
    clamped_rows,
    entries,
    ratios,
    tails,
)
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))


def is_resolved(categories: int, ratio: Fraction) -> bool:
    """Tell whether every distance below m keeps some weight."""
    found = tails(categories, ratio)
    return 2 * found[0] < WORDS and all(near > far for near, far in pairwise(found))


@PROPERTY
@given(st.integers(2, 13), ratios)
def test_rows_are_noise_plus_value_clamped_to_the_range(categories: int, ratio: Fraction) -> None:
    assume(is_resolved(categories, ratio))
    mechanism = ClampedGeometric(categories, ratio)
    assert_sound_rows(mechanism)
    assert [list(mechanism.row(x)) for x in range(categories)] == clamped_rows(ratio, categories)
    assert mechanism.truth == min(mechanism.probability(x, x) for x in range(categories))


@PROPERTY
@given(st.integers(2, 13), ratios)
def test_entries_are_those_of_ghosh_and_others_within_their_rounding(
    categories: int, ratio: Fraction
) -> None:
    assume(is_resolved(categories, ratio))
    mechanism, m = ClampedGeometric(categories, ratio), categories - 1
    # A tail is too large by less than 1 and a little; an entry is made of at most two of them.
    step = Fraction(1, WORDS) * (1 + Fraction(1, 2**60))
    for x in range(categories):
        for y in range(categories):
            entry = mechanism.probability(x, y)
            decay = ratio ** abs(x - y)
            if 0 < y < m:
                exact = (1 - ratio) / (1 + ratio) * decay
                assert abs(entry - exact) < (2 if x == y else 1) * step
                if x == y:
                    assert entry <= exact
            else:
                exact = decay / (1 + ratio)
                # Lies at the ends are rounded up, towards privacy, and the truth there down.
                assert (0 <= exact - entry < step) if x == y else (0 <= entry - exact < step)


@pytest.mark.parametrize("ratio", EXTREME_RATIOS)
@pytest.mark.parametrize("categories", [2, 3, 8, 17])
def test_a_grid_is_too_coarse_exactly_where_a_distance_has_no_weight(
    categories: int, ratio: Fraction
) -> None:
    if is_resolved(categories, ratio):
        assert min(map(min, entries(ClampedGeometric(categories, ratio)))) > 0
    else:
        with pytest.raises(GridTooCoarse, match="use a larger step"):
            ClampedGeometric(categories, ratio)


def test_the_ratios_of_these_tests_lie_on_both_sides_of_what_the_grid_resolves() -> None:
    resolved = [is_resolved(categories, ratio) for ratio in EXTREME_RATIOS for categories in (3, 8)]
    assert 10 < sum(resolved) < len(resolved) - 2
