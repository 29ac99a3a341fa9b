"""Groups of rows: exact where rows are randomised one by one, sharp where nothing else is known."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.accounting import PrivacyLoss, group_delta, group_guarantee
from tests.accounting.curves import curve, randomised_response, together
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_product_mechanisms_group_loss_is_that_of_all_responses_together(rows: int) -> None:
    one, other = randomised_response(3, Fraction(5, 2))[:2]
    loss = PrivacyLoss.of_randomised_response(3, Fraction(5, 2)).repeat(rows)
    for at in (Fraction(1), Fraction(2), Fraction(5, 2), Fraction(6), Fraction(15)):
        assert loss.delta_at_odds(at) == curve(together([one] * rows), together([other] * rows), at)


@PROPERTY
@given(
    st.integers(2, 6),
    st.fractions(1, 6, max_denominator=20),
    st.fractions(0, Fraction(1, 5), max_denominator=100),
    st.integers(1, 8),
)
def test_exact_is_at_most_sharp_and_sharp_at_most_the_taught_bound(
    categories: int, odds: Fraction, delta: Fraction, rows: int
) -> None:
    # Of the (ln odds, delta)-private randomised response: q = (1 - delta)/(E + m), d/q = 1/q - m.
    m = categories - 1
    loss = PrivacyLoss.of_randomised_response(categories, (odds + m) / (1 - delta) - m)
    assert loss.delta_at_odds(odds) == delta
    sharp = group_delta(odds, delta, rows)
    assert loss.repeat(rows).delta_at_odds(odds**rows) <= sharp
    assert sharp <= rows * odds ** (rows - 1) * delta  # the looser bound that is often taught
    terms = (odds**rows - 1) / (odds - 1) if odds > 1 else rows
    assert sharp == min(1, delta * terms)


@PROPERTY
@given(
    st.integers(0, 4000).map(lambda n: Fraction(n, 1000)),
    st.integers(0, 10**6 - 1).map(lambda n: Fraction(n, 10**9)),
    st.integers(1, 12),
)
def test_a_groups_guarantee_is_never_too_small(
    epsilon: Fraction, delta: Fraction, rows: int
) -> None:
    guarantee = group_guarantee(epsilon, delta, rows)
    assert Fraction(guarantee.epsilon) == rows * epsilon
    below, above = exp_bounds(epsilon)
    assert guarantee.delta >= group_delta(below, delta, rows)
    excess = guarantee.delta - group_delta(above, delta, rows)
    # e^epsilon is rounded up by 2^-128, which g E^(g-1) multiplies; E^g < 2^70 here.
    assert excess <= Fraction(rows**2, 2**58)


def test_a_large_group_has_no_guarantee_and_an_empty_one_is_refused() -> None:
    assert group_guarantee("1", "0.000001", 1000).delta == 1
    assert group_guarantee("0.333333333333333333", "0", 2).epsilon == Decimal("0.666666666667")
    with pytest.raises(ValueError, match="at least one row"):
        group_guarantee("1", "0", -1)
    with pytest.raises(ValueError, match="at least 1"):
        group_delta(Fraction(1, 2), "0", 2)
