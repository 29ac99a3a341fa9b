"""Composition of guarantees: published values, the closed sum of the optimum, rounded up only."""

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.accounting import (
    Guarantee,
    advanced_composition,
    basic_composition,
    kairouz_oh_viswanath_composition,
    optimal_composition,
)
from deniable.mechanisms import InvalidPrivacyParameter
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))

STEP = Decimal("1e-12")

levels = st.integers(1, 4000).map(lambda n: Fraction(n, 1000))
slacks = st.integers(1, 10**6 - 1).map(lambda n: Fraction(n, 10**6))


def as_decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def odds_above(epsilon: Fraction) -> Fraction:
    """Return e^epsilon rounded up to few digits, so that powers stay short."""
    return Fraction(math.ceil(exp_bounds(epsilon)[1] * 2**160), 2**160)


def optimum(odds: Fraction, delta: Fraction, times: int, i: int) -> Fraction:
    """Return delta_i at ((T - 2i) epsilon), the sum of Kairouz, Oh and Viswanath, Theorem 3.3."""
    inner = sum(
        math.comb(times, lies) * (odds ** (times - lies) - odds ** (times - 2 * i + lies))
        for lies in range(i)
    )
    return 1 - (1 - delta) ** times * (1 - Fraction(inner) / (1 + odds) ** times)


@pytest.mark.parametrize(
    ("epsilon", "published"),
    [
        (basic_composition([("0.1", "0")] * 100).epsilon, 10),
        (advanced_composition("0.1", "0", 100, "0.000001").epsilon, 6.30823095),
        (kairouz_oh_viswanath_composition("0.1", "0", 100, "0.000001").epsilon, 5.75610552),
        (optimal_composition("0.1", "0", 100).epsilon_at("0.000001"), 4.77456759),
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


@PROPERTY
@given(levels, slacks, st.integers(1, 500), slacks)
@example(Fraction(4), Fraction(0), 500, Fraction(1, 10**15))
@example(Fraction(0), Fraction(0), 500, Fraction(1, 10**15))
def test_the_closed_forms_are_never_too_small_and_hardly_too_large(
    epsilon: Fraction, delta: Fraction, times: int, slack: Fraction
) -> None:
    advanced = advanced_composition(epsilon, delta, times, slack)
    closed = kairouz_oh_viswanath_composition(epsilon, delta, times, slack)
    # Sixty digits, correctly rounded; all numbers here are below 10^5.
    with decimal.localcontext() as context:
        context.prec = 60
        level, logarithm = as_decimal(epsilon), -as_decimal(slack).ln()
        odds = level.exp()
        deviation = level * (2 * times * logarithm).sqrt()
        # The logarithm is rounded up by 10^-12, the result again.
        excess = level * (2 * times * (logarithm + STEP)).sqrt() - deviation + 2 * STEP
        drift = times * level * (odds - 1)
        noise = Decimal("1e-50")
        assert -noise <= advanced.epsilon - (drift + deviation) <= excess
        assert -noise <= closed.epsilon - (drift / (odds + 1) + deviation) <= excess
    assert advanced.delta == min(1, times * delta + slack)
    assert closed.delta == 1 - (1 - delta) ** times * (1 - slack)
    assert closed.epsilon <= advanced.epsilon
    assert closed.delta <= advanced.delta


@settings(PROPERTY, max_examples=effort(25))
@given(levels, st.integers(1, 60), st.integers(1, 9999).map(lambda n: Fraction(n, 10**6)))
def test_each_answer_is_at_least_as_good_as_the_one_before(
    epsilon: Fraction, times: int, slack: Fraction
) -> None:
    best = optimal_composition(epsilon, 0, times)
    closed = kairouz_oh_viswanath_composition(epsilon, 0, times, slack)
    # The 2^-128 by which e^epsilon is rounded up moves the optimum by less than 10^-12.
    assert best.epsilon_at(slack) <= closed.epsilon
    assert best.epsilon <= basic_composition([(epsilon, 0)] * times).epsilon + Decimal("1e-12")


def test_a_delta_below_what_the_reports_reveal_has_no_epsilon() -> None:
    loss = optimal_composition("1", "0.001", 10)
    assert loss.infinite == 1 - Fraction(999, 1000) ** 10
    assert loss.epsilon_at("0.009") == Decimal("Infinity")
    assert loss.epsilon_at("0.01").is_finite()


@pytest.mark.parametrize("compose", [advanced_composition, kairouz_oh_viswanath_composition])
def test_a_composition_needs_a_slack_and_a_report(compose: Callable[..., Guarantee]) -> None:
    with pytest.raises(InvalidPrivacyParameter, match="slack must be positive"):
        compose("1", "0", 10, "0")
    for call in (lambda: compose("1", "0", 0, "0.1"), lambda: optimal_composition("1", "0", 0)):
        with pytest.raises(ValueError, match="at least one report"):
            call()
    for epsilon, delta, name in (("1", "1", "delta"), (Fraction(-1), "0", "epsilon")):
        with pytest.raises(InvalidPrivacyParameter, match=name):
            compose(epsilon, delta, 10, "0.1")
    with pytest.raises(TypeError, match="epsilon must be"):
        compose(0.1, "0", 10, "0.1")
