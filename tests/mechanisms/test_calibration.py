"""From an epsilon to a ratio: the guarantee holds in integers, and hardly any of it is given away.

How near the tight level comes to what was asked: let r be the ratio found, r' the next one below it
on the grid of 2^-62, which breaks the guarantee, and L the number of steps. An ideal mechanism has
the level L ln 1/r. Weights within 1 of the ideal move it by less than about 2/s either way, where s
is the least weight, at least 2^64 e^-epsilon/k. So the gap is at most

    L (ln 1/r' - ln 1/r) + 4/s  <  2^-61 (L e^(epsilon/L) + k e^epsilon)

with a factor of 2 to spare for what "about" leaves out while the bound is small: below 1e-9 where
k e^epsilon < 10^9, such as 256 categories up to epsilon = 15. Far above that, the integers coarsen:
at epsilon = 40 the least weight is about 78/C, and a hundredth of epsilon may be lost.
"""

from fractions import Fraction
from functools import lru_cache
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.mechanisms import (
    ClampedGeometric,
    GridTooCoarse,
    InvalidPrivacyParameter,
    Number,
    Privacy,
    TwoValuedPrivacy,
)
from deniable.planning.calibration import calibrated_ratio, clamped_geometric
from tests.mechanisms.laws import worst_ratio
from tests.mechanisms.taylor import exp_bounds as uncached_exp_bounds
from tests.support.effort import effort, some

STEPS = 1 << 62

exp_bounds = lru_cache(maxsize=None)(uncached_exp_bounds)


def gap_bound(categories: int, epsilon: str | Fraction) -> Fraction:
    """Return the bound at the head of this file, rounded up to 18 places."""
    largest = categories - 1
    _, steepness = exp_bounds(Fraction(epsilon) / largest)
    _, odds = exp_bounds(Fraction(epsilon))
    return Fraction(ceil((largest * steepness + categories * odds) / 2**61 * 10**18), 10**18)


def holds(categories: int, ratio: Fraction, epsilon: str) -> bool:
    """Judge by the columns themselves, and by bounds of e^epsilon from the bare series."""
    try:
        odds = worst_ratio(ClampedGeometric(categories, ratio))
    except GridTooCoarse:
        return False
    below, above = exp_bounds(Fraction(epsilon))
    assert odds is None or not below < odds < above
    return odds is not None and odds <= below


@pytest.mark.parametrize("categories", some([2, 4, 5, 8, 16, 3, 33]))
@pytest.mark.parametrize("epsilon", some(["0.0000001", "0.01", "0.5", "1", "3", "20", "40"]))
def test_the_calibrated_mechanism_is_as_private_as_was_asked_and_that_of_a_smaller_ratio_is_not(
    categories: int, epsilon: str
) -> None:
    mechanism = clamped_geometric(categories, epsilon)
    assert mechanism.privacy.satisfies(epsilon, "0")
    assert STEPS % mechanism.ratio.denominator == 0
    assert mechanism == ClampedGeometric(categories, mechanism.ratio)
    assert mechanism.truth > 0
    assert holds(categories, mechanism.ratio, epsilon)
    assert not holds(categories, mechanism.ratio - Fraction(1, STEPS), epsilon)
    assert_nearly_tight(mechanism, epsilon)


def assert_nearly_tight(mechanism: ClampedGeometric, epsilon: str) -> None:
    odds, gap = mechanism.privacy.odds, gap_bound(mechanism.categories, epsilon)
    assert odds is not None
    if gap < Fraction(epsilon):
        assert odds > exp_bounds(Fraction(epsilon) - gap)[0]


@pytest.mark.parametrize("epsilon", ["1", pytest.param("40", marks=pytest.mark.long)])
def test_4096_categories_are_calibrated_too(epsilon: str) -> None:
    mechanism = clamped_geometric(4096, epsilon)
    assert mechanism.categories == 4096
    assert mechanism.privacy.odds is not None
    assert mechanism.privacy.odds <= exp_bounds(Fraction(epsilon))[0]
    assert_nearly_tight(mechanism, epsilon)


LAST = range(1, 41)
"""How many steps of 2^-62 below 1: epsilons of a few 10^-18 are decided among these ratios."""


@pytest.mark.parametrize("categories", [2, 3, 4, 7, 10])
def test_at_the_smallest_epsilons_the_smallest_ratio_is_found_or_there_is_none(
    categories: int,
) -> None:
    odds: dict[int, Fraction] = {}
    for steps in LAST:
        try:
            found = worst_ratio(ClampedGeometric(categories, 1 - Fraction(steps, STEPS)))
        except GridTooCoarse:
            continue
        assert found is not None
        odds[steps] = found
    for attos in (1, 2, 3, 5, 8):
        epsilon = Fraction(attos, 10**18)
        good = [steps for steps, most in odds.items() if most <= exp_bounds(epsilon)[0]]
        if good:
            assert clamped_geometric(categories, epsilon).ratio == 1 - Fraction(max(good), STEPS)
        else:
            with pytest.raises(GridTooCoarse, match="raise epsilon or use fewer"):
                clamped_geometric(categories, epsilon)


@pytest.mark.parametrize(
    ("epsilon", "error"),
    [
        *((e, InvalidPrivacyParameter) for e in ("0", 0, "-1", Fraction(-1, 10**9), "40.0000001")),
        *((1.0, TypeError), (True, TypeError)),
    ],
)
def test_epsilon_is_exact_positive_and_at_most_40(epsilon: Number, error: type[Exception]) -> None:
    with pytest.raises(error):
        clamped_geometric(3, epsilon)


KEEPS, BREAKS = (
    TwoValuedPrivacy(Fraction(1, 2), Fraction(1, 2)),
    TwoValuedPrivacy(1 - Fraction(1, 2**64), Fraction(1, 2**64)),
)


@settings(max_examples=effort(100))
@given(
    st.integers(2, 61),
    st.lists(st.sampled_from(["keeps", "breaks", "coarse"]), min_size=1, max_size=5),
    st.sampled_from(["0.000001", "1", "40"]),
    st.sampled_from([1, 7, 4095]),
)
def test_the_search_returns_only_what_was_found_to_hold(
    width: int, pattern: list[str], epsilon: str, largest: int
) -> None:
    def verdict(ratio: Fraction) -> str:
        assert 0 < ratio < 1
        steps = ratio * STEPS
        assert steps.denominator == 1
        return pattern[(int(steps) >> width) % len(pattern)]

    def privacy_at(ratio: Fraction) -> Privacy:
        if verdict(ratio) == "coarse":
            raise GridTooCoarse
        return KEEPS if verdict(ratio) == "keeps" else BREAKS

    try:
        found = calibrated_ratio(privacy_at, epsilon, largest)
    except GridTooCoarse:
        # Never while the last ratio of all would do.
        assert verdict(1 - Fraction(1, STEPS)) != "keeps"
    else:
        assert verdict(found) == "keeps"
