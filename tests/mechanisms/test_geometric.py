"""Two-sided geometric noise, clamped: the matrix is exactly what noise and clamping make."""

from fractions import Fraction
from itertools import accumulate, pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable.mechanisms import ClampedGeometric, GridTooCoarse, InvalidPrivacyParameter
from deniable.mechanisms.numeric import RATIO_LIMIT
from tests.mechanisms.laws import (
    EXTREME_RATIOS,
    WORDS,
    assert_samples_its_rows,
    assert_sound_rows,
    clamped_rows,
    entries,
    ratios,
    tails,
    worst_ratio,
)
from tests.support.effort import effort, some

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


@pytest.mark.parametrize("categories", [2, 3, 8, 17])
def test_a_grid_is_too_coarse_exactly_where_a_distance_has_no_weight(categories: int) -> None:
    resolved = [ratio for ratio in EXTREME_RATIOS if is_resolved(categories, ratio)]
    assert 5 < len(resolved) < len(EXTREME_RATIOS)
    for ratio in EXTREME_RATIOS:
        if ratio in resolved:
            assert min(map(min, entries(ClampedGeometric(categories, ratio)))) > 0
        else:
            with pytest.raises(GridTooCoarse, match="use a larger step"):
                ClampedGeometric(categories, ratio)


def breaks(mechanism: ClampedGeometric) -> list[int]:
    """Return the words at which some response may change: the tails, from both sides."""
    tails = list(accumulate(reversed(mechanism.row(0))))
    return [*tails, *(WORDS - tail for tail in tails)]


@pytest.mark.parametrize("categories", [2, 3, 8, 17, *some(range(18, 41))])
def test_the_guarantee_in_one_pass_is_that_of_all_columns_and_the_sampler_has_the_rows_law(
    categories: int,
) -> None:
    for ratio in some(EXTREME_RATIOS):
        if is_resolved(categories, ratio):
            mechanism = ClampedGeometric(categories, ratio)
            assert mechanism.privacy.odds == worst_ratio(mechanism)
            if categories <= 17:
                assert_samples_its_rows(mechanism, range(categories), breaks(mechanism))


@pytest.mark.parametrize(
    "ratio",
    [
        *(Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)),
        *(Fraction(1, RATIO_LIMIT), Fraction(2**63, 2**63 + 1)),
    ],
)
def test_a_ratio_lies_between_0_and_1_in_integers_below_2_to_the_63(ratio: Fraction) -> None:
    with pytest.raises(InvalidPrivacyParameter, match=r"ratio must be in \(0, 1\)"):
        ClampedGeometric(3, ratio)


def test_a_ratio_is_a_fraction_and_a_size_an_int_from_2_to_4096() -> None:
    for ratio in (0.5, "0.5", 1, None):
        with pytest.raises(TypeError, match="it is exact"):
            ClampedGeometric(3, ratio)  # type: ignore[arg-type]
    for no_int in (3.0, "3", True, None):
        with pytest.raises(TypeError, match="must be an int"):
            ClampedGeometric(no_int, Fraction(1, 2))  # type: ignore[arg-type]
    for categories in (-1, 0, 1, 4097, 10**18):
        with pytest.raises(ValueError, match=r"categories must be in \[2, 4096\]"):
            ClampedGeometric(categories, Fraction(1, 2))


def test_mechanisms_are_equal_if_size_and_ratio_are() -> None:
    half = Fraction(1, 2)
    one, same = ClampedGeometric(3, half), ClampedGeometric(3, Fraction(2, 4))
    assert (one, hash(one), repr(one)) == (same, hash(same), "ClampedGeometric(3, ratio=1/2)")
    others = ClampedGeometric(4, half), ClampedGeometric(3, Fraction(1, 3)), repr(one)
    assert all(one != other for other in others)
