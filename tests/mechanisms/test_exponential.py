"""The enclosure of e^x and the ceiling of ln x, against the bare series and published digits."""

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.mechanisms import exp_enclosure, log_ceiling
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(150))


DIGITS = {
    "0.1": "1.1051709180756476248117078264902466682245471947375",
    "1": "2.7182818284590452353602874713526624977572470936999",
    "10": "22026.465794806716516957900645284244366353512618556",
    "40": "235385266837019985.40789991074903480450887161725455",
}


exponents = st.one_of(
    st.fractions(0, 40, max_denominator=10**18),
    st.integers(1, 10**6).map(lambda n: Fraction(n, 10**18)),  # the smallest the protocol writes
    st.integers(0, 7).map(lambda j: Fraction(2**j, 2)),  # where the number of halvings changes
)


@pytest.mark.parametrize(("x", "digits"), DIGITS.items())
def test_the_judge_itself_holds_the_published_digits(x: str, digits: str) -> None:
    below, above = exp_bounds(Fraction(x))
    unit = Fraction(1, 10 ** len(digits.partition(".")[2]))
    assert Fraction(digits) <= above
    assert below < Fraction(digits) + unit
    assert above - below < above / 2**270


@PROPERTY
@given(exponents, st.integers(1, 400))
@example(Fraction(40), 1)
@example(Fraction(40), 180)
@example(Fraction(1, 10**18), 64)
@example(Fraction(1, 2**1000), 128)
@example(Fraction(0), 1024)
def test_the_enclosure_holds_e_to_the_x_and_is_narrow(x: Fraction, bits: int) -> None:
    # Derivation, with j halvings and w = bits + 2j + 16 working bits. Each of the J terms of the
    # series is off by at most 2 units of 2^-w on either side (its own rounding and half of its
    # predecessor's error), and the tail adds 2: a relative gap of (4J + 2) 2^-w, less than
    # 2^(9-w) since J < 120 at these precisions. Each squaring doubles it and adds 2 units; after
    # j of them it is below 2^(j+10-w) = 2^-(bits+j+6). Rounding to the grid adds 2 units of it.
    low, high = exp_enclosure(x, bits)
    assert high - low <= 2 + (high >> (bits + 6))
    # below <= e^x <= above, less than 2^-270 of it apart: an end on the wrong side by more fails.
    # Rounding to so coarse a grid as 2^-180 moves the ends by far more than that.
    below, above = exp_bounds(x)
    assert Fraction(low, 1 << bits) <= (below if bits <= 180 else above)
    assert Fraction(high, 1 << bits) >= (above if bits <= 180 and x else below)
    if x == 0:
        assert low == high == 1 << bits
    else:
        with pytest.raises(ValueError, match="must not be negative"):
            exp_enclosure(-x, bits)


odds_at_least_one = st.one_of(
    st.fractions(1, 10**6).filter(lambda odds: odds > 1),
    st.builds(Fraction, st.integers(2**64 + 1, 2**90), st.integers(1, 2**64)),
    # Odds just above 1, which a float cannot tell from 1.
    st.integers(1, 2**20).map(lambda n: 1 + Fraction(n, 2**80)),
)


@PROPERTY
@given(odds_at_least_one, st.sampled_from([1, 3, 1000, 10**9, 10**12]))
@example(1 + Fraction(1, 2**1000), 10**12)
@example(Fraction(2**57), 10**9)
def test_the_logarithm_is_the_smallest_integer_that_suffices(odds: Fraction, unit: int) -> None:
    ceiling = log_ceiling(odds, unit)
    # e^(c/unit) >= odds and e^((c-1)/unit) < odds, decided by the bare series.
    assert exp_bounds(Fraction(ceiling, unit))[0] >= odds
    assert ceiling > 0
    assert exp_bounds(Fraction(ceiling - 1, unit))[1] < odds


@pytest.mark.parametrize("odds", [Fraction(0), Fraction(-1), 1 - Fraction(1, 10**30)])
def test_odds_below_one_have_no_cost(odds: Fraction) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        log_ceiling(odds, 1)
