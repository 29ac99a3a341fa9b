"""The guarantee of a two-valued matrix: tight, exact, and rounded against the collector only."""

import decimal
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import tight_epsilon
from deniable.mechanisms import RandomisedResponse, TwoValuedPrivacy, odds_floor
from deniable.mechanisms.exact import GridTooCoarse
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(150))

# Example 3 of the paper: m = 4 other categories, each lie with probability 1/10.
EXAMPLE_3 = TwoValuedPrivacy(Fraction(6, 10), Fraction(1, 10))


def test_example_3_of_the_paper_has_its_published_levels() -> None:
    assert EXAMPLE_3.odds == 6
    # ln 6 = 1.791759469228055…, rounded up; and .6 - e/10 = .328171817154095…
    assert EXAMPLE_3.epsilon == Decimal("1.791759469229")
    delta = EXAMPLE_3.delta_at_odds(odds_floor(Fraction(1)))
    assert abs(delta - Fraction("0.328171817154095476")) < Fraction(1, 10**17)
    below, above = exp_bounds(Fraction(1))
    excess = delta - (Fraction(6, 10) - above / 10)
    assert 0 <= excess <= Fraction(1, 2**128) + above - below


@PROPERTY
@given(st.integers(2, 65_536), st.integers(1, 40_000), st.integers(0, 999_999), st.integers(1, 64))
def test_a_mechanism_certifies_what_was_asked_of_it(
    categories: int, milli: int, millionths: int, bits: int
) -> None:
    epsilon, delta = Fraction(milli, 1000), Fraction(millionths, 10**6)
    try:
        mechanism = RandomisedResponse(categories, epsilon, delta, bits=bits)
    except GridTooCoarse:
        return
    assert mechanism.privacy.satisfies(epsilon, delta)
    assert Fraction(tight_epsilon(mechanism, delta).epsilon) <= epsilon + Fraction(1, 10**12)
    assert mechanism.privacy.odds * mechanism.lie == mechanism.truth


def test_truth_and_lie_alike_give_epsilon_0_and_a_certain_truth_nearly_delta_1() -> None:
    assert TwoValuedPrivacy(Fraction(1, 2), Fraction(1, 2)).epsilon == 0
    assert TwoValuedPrivacy(Fraction(1, 2), Fraction(1, 2)).delta_at_odds(Fraction(1)) == 0
    nearly = TwoValuedPrivacy(1 - Fraction(1, 2**64), Fraction(1, 2**64))
    assert nearly.delta_at_odds(Fraction(1)) == 1 - Fraction(2, 2**64)
    assert Decimal("44.361419555") < nearly.epsilon < Decimal("44.361419556")  # ln(2^64 - 1)


@pytest.mark.parametrize("rounding", [decimal.ROUND_HALF_EVEN, decimal.ROUND_FLOOR])
def test_the_applications_decimal_context_does_not_round_a_level_down(rounding: str) -> None:
    # An app may compute money with seven digits; that must not make a guarantee look stronger.
    with decimal.localcontext() as context:
        context.prec, context.rounding = 7, rounding
        level = EXAMPLE_3.epsilon
    assert level >= Decimal("1.791759469229")  # ln 6, rounded up; 1.791759 would be too little
