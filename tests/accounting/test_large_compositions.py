"""Compositions too large to be exact: they dominate the exact ones, and hardly overstate."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.accounting import PrivacyLoss, lattice
from deniable.audit import SolutionMatrix
from tests.accounting.curves import random_weights, weight_rows
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))


def matrix(weights: list[list[int]]) -> SolutionMatrix:
    return SolutionMatrix(weights, sum(weights[0]))


LOSSES = {
    "randomised response": PrivacyLoss.of_randomised_response(10, Fraction(11, 10)),
    "no structure": PrivacyLoss.of_mechanism(matrix(random_weights(1, 4, 4))),
    "a fine lattice": PrivacyLoss.of_randomised_response(3, Fraction(101, 100)).repeat(30),
    "one order only": PrivacyLoss.of_pair([3, 40, 57], [1, 90, 9]),
    "sometimes the answer": PrivacyLoss.of_guarantee(Fraction(3, 2), "0.001").compose(
        PrivacyLoss.of_pair([5, 2, 4], [3, 4, 4])
    ),
    "excluding an answer": PrivacyLoss.of_pair([6, 90, 104], [0, 130, 70]),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("steps", [1, 200])
def test_a_rounded_composition_dominates_the_exact_one_by_no_more_than_it_says(
    name: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss, times = LOSSES[name], 6
    exact = loss.repeat(times)
    monkeypatch.setattr(lattice, "_EXACT_BITS", 0)
    rounded = loss.repeat(times, steps=steps)
    assert rounded.infinite >= exact.infinite
    assert len(rounded.atoms) <= 1 + max(steps, 2 * times) + 4 * times
    # One lattice step of epsilon per report. The lattice spans `steps` points, but at least two
    # per report; up to twice as coarse, so that the largest ratio lies on it.
    logs = [math.log(p / q) for p, q in loss.atoms]
    step = 2 * times * (max(logs) - min(logs)) / max(steps, 2 * times)
    slip = Fraction(math.exp(times * step))
    for tenth in range(60):
        at = Fraction(10 + tenth, 10)
        delta = exact.delta_at_odds(at)
        assert rounded.delta_at_odds(at) >= delta
        assert rounded.delta_at_odds(at) <= exact.delta_at_odds(at / slip) + Fraction(1, 2**64)


@pytest.mark.parametrize("name", LOSSES)
def test_a_rounded_composition_is_close_at_the_default_fineness(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = LOSSES[name]
    exact = loss.repeat(8)
    monkeypatch.setattr(lattice, "_EXACT_BITS", 0)
    rounded = loss.repeat(8)
    # Between the atoms the error is of the order of the square of a lattice step, at most
    # (8 * 6 / 2^14)^2 for these.
    for at in (Fraction(11, 10), Fraction(3, 2), Fraction(5, 2), Fraction(4)):
        assert 0 <= rounded.delta_at_odds(at) - exact.delta_at_odds(at) < Fraction(1, 10**5)
    if exact.odds is not None:
        assert rounded.odds is not None
        assert 0 <= rounded.epsilon - exact.epsilon < Decimal("1e-9")


@settings(PROPERTY, max_examples=effort(20))
@given(st.lists(st.tuples(weight_rows(least=1), st.integers(1, 4)), min_size=1, max_size=3))
def test_any_rounded_composition_dominates_the_exact_one(
    surveys: list[tuple[list[list[int]], int]],
) -> None:
    losses = [(PrivacyLoss.of_mechanism(matrix(rows)), times) for rows, times in surveys]
    exact = PrivacyLoss.of_reports(losses)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice, "_EXACT_BITS", 0)
        rounded = PrivacyLoss.of_reports(losses, steps=200)
    for at in (Fraction(n, 4) for n in range(1, 40)):
        assert rounded.delta_at_odds(at) >= exact.delta_at_odds(at)
    delta = Fraction(1, 1000)
    assert rounded.epsilon_at(delta) >= exact.epsilon_at(delta)
    # No pair of responses has more mass than 1 under either answer.
    assert sum(p for p, _ in rounded.atoms) == rounded.grid
    assert sum(q for _, q in rounded.atoms) <= rounded.grid


def test_odds_that_a_float_cannot_tell_from_1_compose_soundly() -> None:
    tiny = PrivacyLoss.of_randomised_response(2, 1 + Fraction(1, 2**70))
    total = tiny.repeat(1000)
    assert total.odds is not None
    assert 1 + Fraction(1000, 2**70) < total.odds < 1 + Fraction(1001, 2**70)
    mixed = tiny.compose(PrivacyLoss.of_randomised_response(2, 1 + Fraction(1, 2**71 + 1)))
    assert mixed.odds == (1 + Fraction(1, 2**70)) * (1 + Fraction(1, 2**71 + 1))


def test_odds_beyond_any_float_compose_soundly() -> None:
    huge = PrivacyLoss.of_randomised_response(2, Fraction(10) ** 400)
    other = PrivacyLoss.of_randomised_response(2, Fraction(7) ** 900)
    for total in (huge.compose(other), PrivacyLoss.of_reports([(huge, 4), (other, 5)])):
        assert total.infinite == 0
        assert total.delta_at_odds(Fraction(1)) > 1 - Fraction(1, 10**399)
