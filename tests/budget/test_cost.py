"""The cost of a report in billionths of epsilon: exact, and rounded in the user's favour only."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.budget import NANO, epsilon_to_nano, format_nano, pure_cost
from deniable.documents import upper_text
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    RandomisedResponse,
    odds_text,
)
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(100))


@PROPERTY
@given(st.integers(2, 1000), st.integers(1, 40_000), st.integers(0, 999_999))
def test_the_cost_is_the_smallest_integer_that_covers_the_odds(
    categories: int, milli: int, millionths: int
) -> None:
    mechanism = RandomisedResponse(categories, Fraction(milli, 1000), Fraction(millionths, 10**6))
    cost = pure_cost(mechanism)
    assert cost > 0
    assert exp_bounds(Fraction(cost, NANO))[0] >= mechanism.privacy.odds
    assert exp_bounds(Fraction(cost - 1, NANO))[1] < mechanism.privacy.odds


@pytest.mark.parametrize(
    ("epsilon", "nano"),
    [
        ("0", 0),
        ("1", NANO),
        ("40", 40 * NANO),
        ("9999", 9999 * NANO),  # a lifetime's ceiling may exceed any one survey's epsilon
        ("0.000000001", 1),
        ("0.000000000999999999", 0),
        ("0.000000001999999999", 1),
        (Decimal("2.5"), 2_500_000_000),
        (Fraction(1, 3), 333_333_333),
        (7, 7 * NANO),
    ],
)
def test_a_ceiling_is_rounded_down(epsilon: str | Decimal | Fraction | int, nano: int) -> None:
    assert epsilon_to_nano("lifetime_epsilon", epsilon) == nano


@pytest.mark.parametrize(
    "epsilon", ["-1", "10000", "1.0", "1e9", Decimal("NaN"), Decimal("1e999999999"), -1]
)
def test_a_ceiling_that_is_negative_or_not_written_plainly_is_refused_by_name(
    epsilon: str | Decimal | int,
) -> None:
    with pytest.raises(InvalidPrivacyParameter, match=r"^lifetime_epsilon must"):
        epsilon_to_nano("lifetime_epsilon", epsilon)


@pytest.mark.parametrize("epsilon", [1.0, True, None])
def test_a_ceiling_of_an_inexact_type_is_refused_by_name(epsilon: object) -> None:
    with pytest.raises(TypeError, match=r"^lifetime_epsilon must"):
        epsilon_to_nano("lifetime_epsilon", epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (0, "0.000"),
        (1, "0.001"),
        (1_000_000, "0.001"),
        (1_000_001, "0.002"),
        (999_000_001, "1.000"),
        (NANO, "1.000"),
        (NANO + 1, "1.001"),
        (1_791_759_470, "1.792"),
        (123 * NANO, "123.000"),
    ],
)
def test_a_cost_is_shown_to_people_rounded_up(cost: int, shown: str) -> None:
    assert format_nano(cost) == shown


@PROPERTY
@given(st.integers(0, 10**18))
def test_what_is_shown_never_understates_and_exceeds_by_less_than_a_thousandth(cost: int) -> None:
    shown = Fraction(format_nano(cost))
    assert 0 <= shown - Fraction(cost, NANO) < Fraction(1, 1000)


def test_ten_reports_of_a_tenth_fit_a_ceiling_of_one_exactly() -> None:
    # With floats 10 × 0.1 summed one by one is not 1; integers neither drift nor round.
    cost = pure_cost(RandomisedResponse(2, "0.1"))
    assert sum([cost] * 10) == epsilon_to_nano("lifetime_epsilon", "1")


@pytest.mark.parametrize(
    ("odds", "shown"),
    [
        (Fraction(3), "3.00"),
        (Fraction("3.004166"), "3.01"),
        (Fraction("9.999"), "10.00"),
        (Fraction(99_901, 1000), "100.0"),
        (Fraction("1096.633"), "1,097"),
    ],
)
def test_printed_odds_and_levels_are_rounded_up_whatever_the_context(
    odds: Fraction, shown: str
) -> None:
    with localcontext() as context:
        context.prec = 2
        assert odds_text(odds) == shown
        assert 0 <= Fraction(upper_text(odds)) - odds < odds / 100
        assert 0 <= Fraction(upper_text(odds, 6)) - odds < odds / 100_000
    assert upper_text(Decimal("Infinity")) == "infinite"
    assert upper_text(Fraction(1, 3)) == "0.334"
