"""The theorems' closed forms, against mechanisms on databases judged exactly, set by set."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import (
    Condition,
    Database,
    DiscreteExponential,
    ExponentialSum,
    HammingUtility,
    ProductMechanism,
    SanitisedDatabase,
    SolutionMatrix,
    TheoremDoesNotApply,
    delta_of_exponent,
    delta_of_lie,
    epsilon_above,
    error_of_exponent,
    error_range,
    exponent_of_lie,
    greatest_trace,
    is_private,
    least_delta,
    least_error,
    least_lie,
    lie_of_exponent,
    odds_above,
    odds_below,
    odds_of_error,
    odds_of_lie,
    parent_matrix,
    pure_odds,
)
from deniable.mechanisms import InvalidPrivacyParameter, RandomisedResponse
from tests.audit.matrices import rational
from tests.mechanisms.laws import entries, matrices
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort, some

PROPERTY = settings(max_examples=effort(60))

term = ExponentialSum.term

sizes = st.integers(2, 40)
odds_at_least_1 = st.one_of(st.just(Fraction(1)), st.fractions(1, 60, max_denominator=50))
slacks = st.one_of(st.just(Fraction(0)), st.fractions(0, Fraction(99, 100), max_denominator=100))
ODDS = [Fraction(1), Fraction(3, 2), Fraction(4)]
DELTAS = [Fraction(0), Fraction(1, 10), Fraction(1, 2)]
SMALL = [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1)]


def value(mechanism: SanitisedDatabase, odds: Fraction) -> Fraction:
    """Return a mechanism's tight delta where it is rational."""
    return rational(least_delta(mechanism, term(odds)))


def probabilities(mechanism: SanitisedDatabase) -> dict[tuple[Database, Database], Fraction]:
    """Return every P_d(s) where they are rational."""
    pairs = product(mechanism.databases, repeat=2)
    return {(d, s): rational(mechanism.likelihood(d, [s])) for d, s in pairs}


def exponential(categories: int, rows: int, exponent_odds: Fraction) -> SanitisedDatabase:
    """Return the exponential mechanism with e^theta rational: weights T^-h."""
    if exponent_odds == 1:
        return DiscreteExponential(categories, rows, HammingUtility(0))
    return DiscreteExponential(categories, rows, HammingUtility(1), exponent_odds)


def parent(categories: int, lie: Fraction, rows: int = 1) -> ProductMechanism:
    return ProductMechanism(parent_matrix(categories, lie), rows)


@PROPERTY
@given(sizes, odds_at_least_1, odds_at_least_1)
def test_theorems_4_and_5_say_of_an_exponent_what_8_and_10_say_of_its_lie(
    categories: int, exponent_odds: Fraction, odds: Fraction
) -> None:
    # By Theorem 7, which is enumerated below, these are one mechanism.
    lie = lie_of_exponent(categories, exponent_odds)
    delta = delta_of_exponent(categories, exponent_odds, odds)
    assert delta == delta_of_lie(categories, lie, odds)
    assert error_of_exponent(categories, exponent_odds) == (categories - 1) * lie
    # The greatest private exponent: at its odds delta is used up.
    assert pure_odds(categories, odds, delta) == max(odds, exponent_odds)


@settings(PROPERTY, max_examples=effort(25))
@given(matrices((2, 3), (2, 3)), st.sampled_from(ODDS), st.sampled_from(DELTAS))
def test_theorem_6_a_product_is_private_if_and_only_if_its_parent_is(
    matrix: SolutionMatrix, odds: Fraction, delta: Fraction
) -> None:
    parent = tuple(map(tuple, entries(matrix)))
    single, double = ProductMechanism(parent, 1), ProductMechanism(parent, 2)
    condition = Condition.at_odds(odds, delta)
    assert is_private(double, condition) == is_private(single, condition)
    assert value(double, odds) == value(single, odds)


@pytest.mark.parametrize(("categories", "rows"), SMALL)
@pytest.mark.parametrize("share", [Fraction(1, 100), Fraction(1, 3), Fraction(9, 10), Fraction(1)])
def test_theorem_7_the_product_mechanism_is_the_exponential_mechanism(
    categories: int, rows: int, share: Fraction
) -> None:
    lie = share / categories
    exponent_odds = exponent_of_lie(categories, lie)
    assert lie_of_exponent(categories, exponent_odds) == lie
    one, other = parent(categories, lie, rows), exponential(categories, rows, exponent_odds)
    assert probabilities(one) == probabilities(other)


@pytest.mark.parametrize(("categories", "rows"), SMALL)
@pytest.mark.parametrize("odds", some(ODDS))
def test_theorem_8_has_the_tight_delta_on_both_branches(
    categories: int, rows: int, odds: Fraction
) -> None:
    m = categories - 1
    for share in (Fraction(i, 12) for i in range(13)):
        lie = share / m
        delta = delta_of_lie(categories, lie, odds)
        assert value(parent(categories, lie, rows), odds) == delta
        if lie <= Fraction(1, m + 1):
            assert delta == max(Fraction(0), 1 - (odds + m) * lie)
        else:
            assert delta == max(Fraction(0), lie - odds * (1 - m * lie))
    assert delta_of_lie(categories, 0, odds) == 1
    assert delta_of_lie(categories, Fraction(1, m), odds) == Fraction(1, m)


@PROPERTY
@given(sizes, st.fractions(0, 1, max_denominator=200), slacks)
def test_theorem_8_the_odds_of_a_lie_are_the_smallest_that_hold(
    categories: int, share: Fraction, delta: Fraction
) -> None:
    lie = share / (categories - 1)
    try:
        odds = odds_of_lie(categories, lie, delta)
    except TheoremDoesNotApply:
        # Without lies delta is 1 at every epsilon; without truth it is lie.
        assert share in (0, 1)
        assert delta < max(lie, 1 - (categories - 1) * lie)
        return
    assert delta_of_lie(categories, lie, odds) <= delta
    if odds > 1:
        assert delta_of_lie(categories, lie, odds) == delta
        assert delta_of_lie(categories, lie, (odds + 1) / 2) > delta


@PROPERTY
@given(sizes, odds_at_least_1, slacks)
def test_theorem_10_lie_error_trace_and_odds_state_the_same_optimum(
    categories: int, odds: Fraction, delta: Fraction
) -> None:
    m = categories - 1
    lie, error = least_lie(categories, odds, delta), least_error(categories, odds, delta)
    matrix = parent_matrix(categories, lie)
    trace = sum((matrix[x][x] for x in range(categories)), Fraction(0))
    assert error == m * lie == m * (1 - delta) / (odds + m)
    assert trace == greatest_trace(categories, odds, delta) == categories * (1 - error)
    assert odds_of_error(categories, error, delta) == odds
    assert odds_of_lie(categories, lie, delta) == odds
    assert delta_of_lie(categories, lie, odds) == delta


@pytest.mark.parametrize("categories", [2, 3, 5, 256])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
@pytest.mark.parametrize("delta", ["0", "0.000001", "0.25"])
def test_the_devices_integers_are_the_theorems_optimum_rounded_towards_privacy(
    categories: int, epsilon: str, delta: str
) -> None:
    implemented = RandomisedResponse(categories, epsilon, delta)
    # odds_above makes the optimum's lie too small, odds_below too large: by 2^-126 of it at most.
    lowest = least_lie(categories, odds_above(epsilon), delta)
    highest = least_lie(categories, odds_below(epsilon), delta) + Fraction(1, implemented.grid)
    assert lowest <= implemented.lie <= highest
    privacy = implemented.privacy
    assert privacy.odds == exponent_of_lie(categories, implemented.lie)
    assert privacy.odds_at(delta) == odds_of_lie(categories, implemented.lie, delta)
    odds = odds_below(epsilon)
    assert privacy.delta_at_odds(odds) == delta_of_lie(categories, implemented.lie, odds)
    assert privacy.delta_at(epsilon) == privacy.delta_at_odds(odds)
    assert Fraction(privacy.epsilon) == epsilon_above(exponent_of_lie(categories, implemented.lie))


@pytest.mark.parametrize("epsilon", ["0", "0.000000001", "0.1", "1", "7.5", "40"])
def test_odds_from_epsilon_are_on_the_stated_side_and_close(epsilon: str) -> None:
    below, above = odds_below(epsilon), odds_above(epsilon)
    least, most = exp_bounds(Fraction(epsilon))
    assert below <= most
    assert above >= least
    assert below <= above <= below * (1 + Fraction(1, 2**126))
    if epsilon == "0":
        assert below == above == 1
    else:
        assert below < least
        assert most < above


@PROPERTY
@given(st.fractions(1, 10**6, max_denominator=10**9))
def test_epsilon_from_odds_is_the_smallest_step_that_suffices(odds: Fraction) -> None:
    level, step = epsilon_above(odds), Fraction(1, 10**12)
    assert (level / step).denominator == 1
    if level == 0:
        assert odds == 1
    else:
        assert exp_bounds(level)[0] >= odds
        assert exp_bounds(level - step)[1] < odds


CALLS: dict[str, tuple[Callable[..., object], Sequence[Any]]] = {
    "delta_of_exponent": (delta_of_exponent, (3, 2, 2)),
    "delta_of_lie": (delta_of_lie, (3, "0.1", 2)),
    "error_of_exponent": (error_of_exponent, (3, 2)),
    "error_range": (error_range, (3, 2, 0)),
    "exponent_of_lie": (exponent_of_lie, (3, "0.1")),
    "greatest_trace": (greatest_trace, (3, 2, 0)),
    "least_error": (least_error, (3, 2, 0)),
    "least_lie": (least_lie, (3, 2, 0)),
    "lie_of_exponent": (lie_of_exponent, (3, 2)),
    "odds_of_error": (odds_of_error, (3, "0.5", 0)),
    "odds_of_lie": (odds_of_lie, (3, "0.1", 0)),
    "parent_matrix": (parent_matrix, (3, "0.1")),
    "pure_odds": (pure_odds, (3, 2, 0)),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_inexact_or_negative_is_refused_in_every_place(name: str) -> None:
    call, arguments = CALLS[name]
    call(*arguments)
    for place in range(1, len(arguments)):
        with pytest.raises(TypeError, match="not float"):
            call(*arguments[:place], 0.5, *arguments[place + 1 :])
        # Negative: neither odds, nor a delta, nor a lie, nor an error, nor an epsilon.
        with pytest.raises(InvalidPrivacyParameter):
            call(*arguments[:place], Decimal("-0.5"), *arguments[place + 1 :])


def test_bounds_of_single_parameters_are_refused_beyond() -> None:
    assert parent_matrix(3, "0.5")[0][0] == 0
    assert odds_of_error(3, Fraction(2, 3), 0) == odds_of_error(3, 1, 0) == 1
    wrong: Any
    for convert in (epsilon_above, odds_above, odds_below):
        for error, wrong in ((TypeError, 0.5), (InvalidPrivacyParameter, Decimal("-0.5"))):
            with pytest.raises(error):
                convert(wrong)
    for call in (error_range, greatest_trace, least_error, least_lie, pure_odds):
        for parameter, beyond in (("odds", ("0.999999", 0)), ("delta", (2, 1))):
            with pytest.raises(InvalidPrivacyParameter, match=parameter):
                call(3, *beyond)
    for call_lie in (parent_matrix, exponent_of_lie):
        with pytest.raises(InvalidPrivacyParameter, match="truth would be negative"):
            call_lie(3, "0.500001")
    for lie in (Fraction(0), Fraction(26, 100), Fraction(1, 3)):
        with pytest.raises(TheoremDoesNotApply, match="0 < lie <= 1/categories"):
            exponent_of_lie(4, lie)
    # A response that is impossible.
    for categories, share in ((5, Fraction(0)), (5, Fraction(1, 4)), (2, Fraction(1))):
        with pytest.raises(TheoremDoesNotApply, match="no finite epsilon"):
            odds_of_lie(categories, share, Fraction(1, 8))
    with pytest.raises(TheoremDoesNotApply, match="allow some"):
        odds_of_error(3, 0, 0)
    with pytest.raises(InvalidPrivacyParameter, match="error"):
        odds_of_error(3, 2, 0)
    for few in (1, 0, -3):
        with pytest.raises(ValueError, match="at least 2"):
            least_lie(few, 2, 0)
    for wrong in (2.0, True, "2"):
        with pytest.raises(TypeError, match="must be an int"):
            least_lie(wrong, 2, 0)
