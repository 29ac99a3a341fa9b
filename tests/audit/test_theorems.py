"""The theorems' closed forms, against the laws of mechanisms on databases, entry by entry."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import SolutionMatrix, tight_epsilon
from deniable.mechanisms import InvalidPrivacyParameter, RandomisedResponse
from tests.audit.theorems import (
    TheoremDoesNotApply,
    delta_of_exponent,
    delta_of_lie,
    epsilon_above,
    error_of_exponent,
    error_range,
    exponent_of_lie,
    greatest_trace,
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
from tests.mechanisms.laws import entries, matrices
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort, some

PROPERTY = settings(max_examples=effort(60))

sizes = st.integers(2, 40)
odds_at_least_1 = st.one_of(st.just(Fraction(1)), st.fractions(1, 60, max_denominator=50))
slacks = st.one_of(st.just(Fraction(0)), st.fractions(0, Fraction(99, 100), max_denominator=100))
ODDS = [Fraction(1), Fraction(3, 2), Fraction(4)]
SMALL = [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1)]


Database = tuple[int, ...]
Laws = dict[Database, list[Fraction]]
"""The probability of each response, for each database."""


def product_laws(parent: Sequence[Sequence[Fraction]], rows: int) -> Laws:
    """Return the laws of randomising each row by a parent."""
    responses = list(product(range(len(parent[0])), repeat=rows))
    return {
        d: [
            prod((parent[x][y] for x, y in zip(d, s, strict=True)), start=Fraction(1))
            for s in responses
        ]
        for d in product(range(len(parent)), repeat=rows)
    }


def distance(one: Database, other: Database) -> int:
    return sum(x != y for x, y in zip(one, other, strict=True))


def neighbours(laws: Laws) -> Iterator[tuple[list[Fraction], list[Fraction]]]:
    """Yield the laws of all ordered pairs of databases that differ in one row."""
    for one, other in product(laws, repeat=2):
        if distance(one, other) == 1:
            yield laws[one], laws[other]


def value(laws: Laws, odds: Fraction) -> Fraction:
    """Return a mechanism's tight delta."""
    return max(
        sum((max(Fraction(0), p - odds * q) for p, q in zip(one, other, strict=True)), Fraction(0))
        for one, other in neighbours(laws)
    )


def exponential(categories: int, rows: int, exponent_odds: Fraction) -> Laws:
    """Return the exponential mechanism's laws: weights T^-h."""
    databases = list(product(range(categories), repeat=rows))
    weights = {d: [exponent_odds ** -distance(d, s) for s in databases] for d in databases}
    return {d: [weight / sum(row) for weight in row] for d, row in weights.items()}


def parent(categories: int, lie: Fraction, rows: int = 1) -> Laws:
    return product_laws(parent_matrix(categories, lie), rows)


@PROPERTY
@given(
    matrices((2, 4), (2, 4)),
    st.lists(st.sampled_from([(1, 0), (0, 1)]), min_size=4, max_size=4),
    odds_at_least_1,
)
def test_theorem_1_what_is_computed_from_a_response_is_no_less_private(
    matrix: SolutionMatrix, query: list[tuple[int, int]], odds: Fraction
) -> None:
    rows = map(matrix.row, range(matrix.categories))
    kept = [sum(w for w, (k, _) in zip(row, query, strict=False) if k) for row in rows]
    queried = SolutionMatrix([[w, matrix.grid - w] for w in kept], matrix.grid)
    assert queried.privacy.delta_at_odds(odds) <= matrix.privacy.delta_at_odds(odds)


def test_example_2_needs_924_checks_by_theorem_2() -> None:
    # Any weights that fall with the distance order the probabilities as powers of e do.
    weights = [[Fraction(1, 3 ** abs(x - y)) for y in range(3)] for x in range(3)]
    laws = product_laws([[weight / sum(row) for weight in row] for row in weights], 2)
    favoured = Counter(
        sum(p > q for p, q in zip(one, other, strict=True)) for one, other in neighbours(laws)
    )
    assert favoured == {3: 24, 6: 12}
    assert sum(pairs * (2**size - 1) for size, pairs in favoured.items()) == 924


def test_the_criterion_by_level_sets_is_false_with_delta() -> None:
    def law(d: int) -> list[Fraction]:
        weights = [Fraction(1, 2 ** min((d - s) % 7, (s - d) % 7)) for s in range(7)]
        return [weight / sum(weights) for weight in weights]

    levels: Counter[Fraction] = Counter()
    for p, q in zip(law(0), law(2), strict=True):
        if p > q:
            levels[p / q] += p - q  # type: ignore[assignment]
    assert max(levels.values()) == Fraction(9, 22)
    assert sum(levels.values()) == Fraction(5, 11)


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
@given(matrices((2, 3), (2, 3)), st.sampled_from(ODDS))
def test_theorem_6_a_product_is_as_private_as_its_parent(
    matrix: SolutionMatrix, odds: Fraction
) -> None:
    parent = entries(matrix)
    assert value(product_laws(parent, 2), odds) == value(product_laws(parent, 1), odds)


@pytest.mark.parametrize(("categories", "rows"), SMALL)
@pytest.mark.parametrize("share", [Fraction(1, 100), Fraction(1, 3), Fraction(9, 10), Fraction(1)])
def test_theorem_7_the_product_mechanism_is_the_exponential_mechanism(
    categories: int, rows: int, share: Fraction
) -> None:
    lie = share / categories
    exponent_odds = exponent_of_lie(categories, lie)
    assert lie_of_exponent(categories, exponent_odds) == lie
    assert parent(categories, lie, rows) == exponential(categories, rows, exponent_odds)


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
    assert tight_epsilon(implemented, delta).odds == odds_of_lie(categories, implemented.lie, delta)
    odds = odds_below(epsilon)
    assert privacy.delta_at_odds(odds) == delta_of_lie(categories, implemented.lie, odds)
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
