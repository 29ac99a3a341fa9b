"""Privacy losses against sums over every response: exact when small, never too small when large."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.accounting import PrivacyLoss
from deniable.audit import SolutionMatrix
from deniable.mechanisms import InvalidPrivacyParameter, RandomisedResponse
from tests.accounting.curves import (
    curve,
    fractions,
    odds_values,
    randomised_response,
    together,
    weight_rows,
    worst,
)
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))

# A matrix whose levels were worked out by hand.
G = SolutionMatrix([[60, 30, 10], [20, 50, 30], [25, 25, 50]], 100)


def matrix(weights: Sequence[Sequence[int]]) -> SolutionMatrix:
    return SolutionMatrix(weights, sum(weights[0]))


@pytest.mark.parametrize(("categories", "epsilon"), [(2, 4.77456759), (10, 2.07071978)])
def test_a_hundred_reports_have_the_published_epsilon(categories: int, epsilon: float) -> None:
    loss = PrivacyLoss.of_mechanism(RandomisedResponse(categories, "0.1")).repeat(100)
    # All ratios r^-100, …, r^100 (every second one for k = 2), and no mass was rounded.
    assert len(loss.atoms) == (101 if categories == 2 else 201)
    assert sum(p for p, _ in loss.atoms) == sum(q for _, q in loss.atoms) == loss.grid
    assert float(loss.epsilon_at("0.000001")) == pytest.approx(epsilon, abs=5e-9)


@PROPERTY
@given(weight_rows(), odds_values)
@example([[24, 0], [0, 24]], Fraction(7))  # says everything
@example([[12, 12], [12, 12]], Fraction(1))  # says nothing
@example([[6, 18, 0], [0, 18, 6]], Fraction(0))
def test_a_mechanisms_loss_is_the_largest_of_all_pairs_of_rows_at_every_odds(
    weights: list[list[int]], odds: Fraction
) -> None:
    # Below 1 too: that is what composition needs.
    loss = PrivacyLoss.of_mechanism(matrix(weights))
    assert loss.delta_at_odds(odds) == worst(fractions(weights), odds)


@pytest.mark.parametrize(
    ("categories", "times"), [(2, 1), (2, 3), (3, 2), pytest.param(3, 3, marks=pytest.mark.long)]
)
def test_the_loss_of_randomised_response_covers_changing_answers_exactly(
    categories: int, times: int
) -> None:
    odds = Fraction(7, 3)
    rows = randomised_response(categories, odds)
    histories = [together(history) for history in product(rows, repeat=times)]
    loss = PrivacyLoss.of_randomised_response(categories, odds).repeat(times)
    for at in (Fraction(1, 2), Fraction(1), Fraction(2), odds, Fraction(5), odds**2, Fraction(9)):
        # Attained by the histories that differ every time.
        assert loss.delta_at_odds(at) == worst(histories, at)


@settings(PROPERTY, max_examples=effort(30))
@given(weight_rows(), odds_values)
def test_a_mechanisms_loss_covers_changing_answers(
    weights: list[list[int]], odds: Fraction
) -> None:
    histories = [together(history) for history in product(fractions(weights), repeat=2)]
    loss = PrivacyLoss.of_mechanism(matrix(weights)).repeat(2)
    assert loss.delta_at_odds(odds) >= worst(histories, odds)


@settings(PROPERTY, max_examples=effort(40))
@given(st.lists(weight_rows(categories=2), min_size=1, max_size=3), odds_values)
def test_losses_of_pairs_compose_exactly_in_any_order(
    pairs: list[list[list[int]]], odds: Fraction
) -> None:
    losses = [PrivacyLoss.of_pair(*pair[:2]) for pair in pairs]
    laws = [fractions(pair[:2]) for pair in pairs]
    exact = curve(together([law[0] for law in laws]), together([law[1] for law in laws]), odds)
    total = PrivacyLoss.of_reports((loss, 1) for loss in losses)
    assert total.delta_at_odds(odds) == exact
    one_by_one = losses[0]
    for loss in losses[1:]:
        one_by_one = loss.compose(one_by_one)
    assert one_by_one == total
    assert PrivacyLoss.of_reports((loss, 1) for loss in reversed(losses)) == total


def test_no_report_loses_nothing_and_telling_the_answer_itself_protects_nothing() -> None:
    nothing, some = PrivacyLoss.of_mechanism(G).repeat(0), PrivacyLoss.of_mechanism(G)
    assert nothing.odds == 1
    assert nothing.delta_at_odds(Fraction(1)) == 0
    assert nothing.compose(some) == some
    loss = PrivacyLoss.of_pair([1, 0], [0, 1])
    for total in (loss, loss.repeat(1000), loss.compose(some)):
        assert total.infinite == total.delta_at(10_000) == 1
        assert total.odds_at("0.999999999999999999") is None


def test_revealing_the_answer_sometimes_has_no_epsilon_below_that_delta() -> None:
    loss = PrivacyLoss.of_guarantee(Fraction(2), "0.1")
    assert loss.infinite == Fraction(1, 10)
    assert loss.odds is None
    assert loss.odds_at("0.099999999999999999") is None
    assert loss.epsilon == loss.epsilon_at("0.05") == Decimal("Infinity")
    assert loss.odds_at("0.1") == 2
    # At least one of three reveals it.
    assert loss.repeat(3).infinite == 1 - Fraction(9, 10) ** 3
    assert loss.repeat(3).odds_at(loss.repeat(3).infinite) == 8


@PROPERTY
@given(weight_rows(), st.integers(1, 3), st.integers(0, 999), st.integers(0, 10**6))
def test_odds_epsilon_and_delta_are_the_smallest_that_hold_rounded_up_a_little(
    weights: list[list[int]], times: int, thousandths: int, millionths: int
) -> None:
    loss = PrivacyLoss.of_mechanism(matrix(weights)).repeat(times)
    epsilon, delta = Fraction(millionths, 10**5), Fraction(thousandths, 1000)
    (below, above), stated = exp_bounds(epsilon), loss.delta_at(epsilon)
    assert loss.delta_at_odds(above) <= stated
    assert stated <= loss.delta_at_odds(below) + Fraction(1, 2**128)
    odds, level = loss.odds_at(delta), loss.epsilon_at(delta)
    if odds is None:
        assert loss.infinite > delta
        assert level == Decimal("Infinity")
        return
    assert odds >= 1
    assert loss.delta_at_odds(odds) <= delta
    if odds > 1:
        assert loss.delta_at_odds(odds - Fraction(1, 10**12)) > delta
    assert loss.delta_at_odds(exp_bounds(Fraction(level))[0]) <= delta
    assert loss.satisfies(level, delta) or level == 0 or delta == 0
    if level > 0:
        assert loss.delta_at_odds(exp_bounds(Fraction(level - Decimal("1e-12")))[1]) > delta


def test_epsilons_of_many_reports_may_exceed_those_of_a_survey() -> None:
    loss = PrivacyLoss.of_mechanism(RandomisedResponse(4, "1")).repeat(100)
    assert Decimal("99.999999999") < loss.epsilon <= 100
    assert loss.satisfies("100", "0")
    assert not loss.satisfies("99.9", "0")
    assert loss.delta_at(10_000) == 0
    with pytest.raises(InvalidPrivacyParameter, match="10000"):
        loss.delta_at(10_001)
    with pytest.raises(TypeError, match="epsilon must be"):
        loss.delta_at(1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("grid", "pairs", "reason"),
    [
        *((4, pairs, "positive") for pairs in (((1, 0), (3, 4)), ((0, 1), (4, 3)))),
        *((4, pairs, "falling") for pairs in (((1, 3), (3, 1)), ((1, 1), (2, 2)))),
        *((4, pairs, "at most 1") for pairs in (((4, 1), (1, 2)), ((2, 2), (2, 3)))),
        (0, (), "positive"),
    ],
)
def test_atoms_that_are_no_pair_of_laws_are_refused(
    grid: int, pairs: tuple[tuple[int, int], ...], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        PrivacyLoss(grid, pairs)


def test_what_is_no_randomised_response_guarantee_or_number_of_reports_is_refused() -> None:
    loss, half = PrivacyLoss.of_mechanism(G), Fraction(1, 2)
    refused: list[tuple[str, Callable[[], object]]] = [
        ("at least 2", lambda: PrivacyLoss.of_randomised_response(1, Fraction(2))),
        ("odds of 1", lambda: PrivacyLoss.of_randomised_response(2, half)),
        ("at least 1", lambda: PrivacyLoss.of_guarantee(half, "0")),
        ("delta", lambda: PrivacyLoss.of_guarantee(Fraction(2), "1")),
        ("reports must be at least 0", lambda: loss.repeat(-1)),
        ("reports must be at least 0", lambda: loss.repeat(2, steps=0)),
        ("negative", lambda: loss.delta_at_odds(Fraction(-1))),
    ]
    for reason, call in refused:
        with pytest.raises(ValueError, match=reason):
            call()
