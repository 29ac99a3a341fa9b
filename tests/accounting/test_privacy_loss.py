"""Privacy losses against sums over every response: exact when small."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.accounting import PrivacyLoss
from deniable.mechanisms import RandomisedResponse
from tests.accounting.curves import randomised_response, together, worst
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))


@pytest.mark.parametrize(("categories", "epsilon"), [(2, 4.77456759), (10, 2.07071978)])
def test_a_hundred_reports_have_the_published_epsilon(categories: int, epsilon: float) -> None:
    odds = RandomisedResponse(categories, "0.1").privacy.odds
    loss = PrivacyLoss.of_design(categories, 1, 1, odds, 100)
    # All ratios r^-100, …, r^100 (every second one for k = 2), and no mass was rounded.
    assert len(loss.atoms) == (101 if categories == 2 else 201)
    assert sum(p for p, _ in loss.atoms) == sum(q for _, q in loss.atoms) == loss.grid
    assert float(loss.epsilon_at("0.000001")) == pytest.approx(epsilon, abs=5e-9)


@pytest.mark.parametrize(
    ("categories", "times"), [(2, 1), (2, 3), (3, 2), pytest.param(3, 3, marks=pytest.mark.long)]
)
def test_the_loss_of_randomised_response_covers_changing_answers_exactly(
    categories: int, times: int
) -> None:
    odds = Fraction(7, 3)
    rows = randomised_response(categories, odds)
    histories = [together(history) for history in product(rows, repeat=times)]
    loss = PrivacyLoss.of_design(categories, 1, 1, odds, times)
    for at in (Fraction(1, 2), Fraction(1), Fraction(2), odds, Fraction(5), odds**2, Fraction(9)):
        # Attained by the histories that differ every time.
        assert loss.delta_at_odds(at) == worst(histories, at)


def test_revealing_the_answer_sometimes_has_no_epsilon_below_that_delta() -> None:
    loss = PrivacyLoss.of_guarantee(Fraction(2), "0.1")
    assert loss.odds_at("0.099999999999999999") is None
    assert loss.epsilon_at("0.05") == Decimal("Infinity")
    assert loss.odds_at("0.1") == 2
    # At least one of three reveals it.
    infinite = 1 - Fraction(9, 10) ** 3
    three = PrivacyLoss.of_guarantee(Fraction(2), "0.1", 3)
    assert three.delta_at_odds(Fraction(10**9)) == infinite
    assert three.odds_at(infinite) == 8


@PROPERTY
@given(
    st.integers(2, 6),
    st.fractions(1, 30, max_denominator=30),
    st.integers(1, 3),
    st.integers(0, 999),
)
def test_odds_and_epsilon_are_the_smallest_that_hold_rounded_up_a_little(
    categories: int, odds: Fraction, times: int, thousandths: int
) -> None:
    loss = PrivacyLoss.of_design(categories, 1, 1, odds, times)
    delta = Fraction(thousandths, 1000)
    least, level = loss.odds_at(delta), loss.epsilon_at(delta)
    assert least is not None
    assert least >= 1
    assert loss.delta_at_odds(least) <= delta
    if least > 1:
        assert loss.delta_at_odds(least - Fraction(1, 10**12)) > delta
    assert loss.delta_at_odds(exp_bounds(Fraction(level))[0]) <= delta
    if level > 0:
        assert loss.delta_at_odds(exp_bounds(Fraction(level - Decimal("1e-12")))[1]) > delta


def test_what_is_no_number_of_reports_and_no_odds_is_refused() -> None:
    half = Fraction(1, 2)
    refused: list[tuple[str, Callable[[], object]]] = [
        ("at least 1", lambda: PrivacyLoss.of_design(2, 1, 1, half)),
        ("at least 1", lambda: PrivacyLoss.of_guarantee(half, "0")),
        ("delta", lambda: PrivacyLoss.of_guarantee(Fraction(2), "1")),
        ("at least one report", lambda: PrivacyLoss.of_guarantee(Fraction(2), "0", 0)),
    ]
    for reason, call in refused:
        with pytest.raises(ValueError, match=reason):
            call()
