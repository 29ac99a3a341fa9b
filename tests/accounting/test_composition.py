"""Composition of guarantees: published values, rounded up only."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.accounting import PrivacyLoss, basic_composition
from deniable.mechanisms import odds_ceiling
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))

TENTH = odds_ceiling(Fraction("0.1"))
levels = st.integers(1, 4000).map(lambda n: Fraction(n, 1000))
slacks = st.integers(1, 10**6 - 1).map(lambda n: Fraction(n, 10**6))


@pytest.mark.parametrize(
    ("epsilon", "published"),
    [
        (basic_composition([("0.1", "0")] * 100).epsilon, 10),
        (PrivacyLoss.of_guarantee(TENTH, "0", 100).epsilon_at("0.000001"), 4.77456759),
    ],
)
def test_a_hundred_reports_have_the_published_epsilon(epsilon: Decimal, published: float) -> None:
    assert float(epsilon) == pytest.approx(published, abs=5e-9)


@PROPERTY
@given(st.lists(st.tuples(levels, slacks), max_size=6))
def test_epsilons_and_deltas_add_up(parts: list[tuple[Fraction, Fraction]]) -> None:
    total = basic_composition(parts)
    assert Fraction(total.epsilon) == sum(epsilon for epsilon, _ in parts)
    assert total.delta == min(1, sum(delta for _, delta in parts))


def test_a_delta_below_what_the_reports_reveal_has_no_epsilon() -> None:
    loss = PrivacyLoss.of_guarantee(odds_ceiling(Fraction(1)), "0.001", 10)
    assert loss.delta_at_odds(Fraction(10**9)) == 1 - Fraction(999, 1000) ** 10
    assert loss.epsilon_at("0.009") == Decimal("Infinity")
    assert loss.epsilon_at("0.01").is_finite()
