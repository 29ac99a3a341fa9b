"""Two layers of randomised response, against sums over every kept response and every report."""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.budget import TwoLayers
from deniable.mechanisms import InvalidPrivacyParameter, RandomisedResponse
from tests.budget.curves import kept_law, randomised_response
from tests.mechanisms.taylor import exp_bounds

PROPERTY = settings(derandomize=True, deadline=None, max_examples=60)

some_layers = st.builds(
    TwoLayers,
    st.integers(2, 6),
    st.fractions(Fraction(9, 8), 9, max_denominator=20),
    st.fractions(Fraction(9, 8), 9, max_denominator=20),
)


def transcripts(layers: TwoLayers, history: Sequence[int]) -> list[Fraction]:
    """Return the law of all reports about a history of answers: one kept response per value."""
    k = layers.categories
    return kept_law(
        randomised_response(k, layers.kept), randomised_response(k, layers.fresh), history
    )


def largest_ratio(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return max(p / q for p, q in zip(one, other, strict=True))


# Published values.


def test_the_worked_layers_have_the_published_levels() -> None:
    layers = TwoLayers.of_levels(10, "2", "1")
    assert float(layers.changing_epsilon(1)) == pytest.approx(1.95007, abs=5e-6)
    published = {1: 1.0, 2: 1.753212, 5: 1.999175, 10: 2.0}
    for reports, epsilon in published.items():
        assert float(layers.constant_epsilon(reports)) == pytest.approx(epsilon, abs=5e-7)


def test_the_published_formula_for_two_categories_makes_too_much_noise_for_ten() -> None:
    # L-GRR solves the equation of k = 2 whatever k: there E_2 = (E_1 E_inf - 1)/(E_inf - E_1).
    kept, first = math.e**2, math.e
    fresh = (first * kept - 1) / (kept - first)
    assert math.log(fresh) == pytest.approx(1.40761, abs=5e-6)
    delivered = TwoLayers(10, Fraction(kept), Fraction(fresh)).constant_epsilon(1)
    assert float(delivered) == pytest.approx(0.69935, abs=5e-6)
    # For two categories it is right.
    assert TwoLayers.of_odds(2, Fraction(7), Fraction(3)).fresh == Fraction(3 * 7 - 1, 7 - 3)


def test_two_categories_and_one_hash_are_rappor_without_its_bits() -> None:
    # RAPPOR flips a bit for good with f/2 and reports 1 with q or p: here symmetric, p = 1 - q.
    f, q = Fraction(1, 2), Fraction(3, 4)
    layers = TwoLayers(2, (1 - f / 2) / (f / 2), q / (1 - q))
    after = f * (1 - q + q) / 2 + (1 - f) * q
    other = f * (1 - q + q) / 2 + (1 - f) * (1 - q)
    assert layers.constant_odds(1) == after / other
    # Its own parameters for h = 2 hashes: a value changes h bits to 1 and h to 0.
    h, p = 2, 0.5
    assert 2 * h * math.log(float((1 - f / 2) / (f / 2))) == pytest.approx(4.39444915, abs=1e-8)
    one = float(f) * (p + 0.75) / 2 + (1 - float(f)) * 0.75
    zero = float(f) * (p + 0.75) / 2 + (1 - float(f)) * p
    level = h * math.log(one * (1 - zero) / (zero * (1 - one)))
    assert level == pytest.approx(1.07428587, abs=1e-8)


# Against enumeration.


@pytest.mark.parametrize(("categories", "most"), [(2, 5), (3, 4), (4, 3)])
def test_a_constant_answer_has_exactly_the_stated_odds(categories: int, most: int) -> None:
    layers = TwoLayers(categories, Fraction(5), Fraction(3))
    for reports in range(1, most + 1):
        laws = [transcripts(layers, [x] * reports) for x in (0, 1)]
        assert layers.constant_odds(reports) == largest_ratio(*laws)


@pytest.mark.parametrize(("categories", "reports"), [(2, 3), (3, 2)])
def test_no_two_histories_exceed_the_level_of_changing_answers(
    categories: int, reports: int
) -> None:
    layers = TwoLayers(categories, Fraction(5), Fraction(3))
    histories = list(product(range(categories), repeat=reports))
    laws = {history: transcripts(layers, history) for history in histories}
    for one, other in product(histories, repeat=2):
        differing = sum(a != b for a, b in zip(one, other, strict=True))
        ratio = largest_ratio(laws[one], laws[other])
        assert ratio <= layers.fresh**reports
        if differing == 1:
            assert ratio <= layers.fresh
        # With the same pattern of equal answers, the kept responses alone bound it too.
        if [one.index(a) for a in one] == [other.index(b) for b in other]:
            assert ratio <= layers.kept ** len(set(one))


def test_changing_answers_do_exceed_the_kept_layers_level() -> None:
    # Why that guarantee is for a constant answer only: (0, 0, 0, 0) against (0, 1, 0, 1).
    layers = TwoLayers(2, Fraction(3, 2), Fraction(9))
    laws = [transcripts(layers, history) for history in ((0, 0, 0, 0), (0, 1, 0, 1))]
    assert largest_ratio(*laws) > layers.kept**2


# As formulas.


@PROPERTY
@given(some_layers, st.integers(1, 30))
def test_the_odds_rise_from_one_reports_to_the_kept_layers(layers: TwoLayers, reports: int) -> None:
    odds = layers.constant_odds(reports)
    assert 1 < odds < layers.constant_odds(reports + 1) < layers.kept
    assert odds <= layers.fresh**reports


@PROPERTY
@given(some_layers)
def test_one_report_is_a_randomised_response_with_both_contractions(layers: TwoLayers) -> None:
    k, odds = layers.categories, layers.constant_odds(1)
    assert layers.contraction == (odds - 1) / (odds + k - 1)
    assert TwoLayers.of_odds(k, layers.kept, odds) == layers


@settings(PROPERTY, max_examples=20)
@given(
    st.integers(2, 1000),
    st.integers(1, 40_000).map(lambda n: Fraction(n, 1000)),
    st.integers(1, 999).map(lambda n: Fraction(n, 1000)),
)
def test_both_levels_that_were_asked_for_are_kept_and_used_up(
    categories: int, epsilon: Fraction, share: Fraction
) -> None:
    first = epsilon * share
    layers = TwoLayers.of_levels(categories, epsilon, first)
    for odds, level in ((layers.kept, epsilon), (layers.constant_odds(1), first)):
        below, above = exp_bounds(level)
        assert odds <= above
        assert odds > below * (1 - Fraction(1, 2**150))


@settings(PROPERTY, max_examples=30)
@given(some_layers, st.integers(1, 12))
def test_levels_are_rounded_up_to_the_next_step(layers: TwoLayers, reports: int) -> None:
    step = Decimal("1e-12")
    for level, odds in (
        (layers.constant_epsilon(reports), layers.constant_odds(reports)),
        (layers.changing_epsilon(reports), layers.fresh**reports),
    ):
        assert exp_bounds(Fraction(level))[0] >= odds
        assert exp_bounds(Fraction(level - step))[1] < odds


def test_the_contractions_are_those_of_the_mechanisms() -> None:
    layers = TwoLayers.of_levels(10, "2", "1")
    one, kept = (RandomisedResponse(10, level).contraction for level in ("1", "2"))
    # The mechanisms' lies are multiples of 2^-64.
    assert abs(layers.contraction - one) < Fraction(1, 2**60)
    fresh = (layers.fresh - 1) / (layers.fresh + 9)
    assert abs(fresh - one / kept) < Fraction(1, 2**56)


# What is refused.


@pytest.mark.parametrize(("epsilon", "first"), [("1", "1"), ("1", "2"), ("1", "0"), ("0", "0")])
def test_one_report_must_tell_something_and_less_than_all(epsilon: str, first: str) -> None:
    with pytest.raises(InvalidPrivacyParameter, match="less than that of all"):
        TwoLayers.of_levels(3, epsilon, first)


def test_what_are_no_layers_is_refused() -> None:
    with pytest.raises(ValueError, match="2 categories"):
        TwoLayers(1, Fraction(2), Fraction(2))
    with pytest.raises(ValueError, match="above 1"):
        TwoLayers(2, Fraction(2), Fraction(1))
    with pytest.raises(ValueError, match="above 1"):
        TwoLayers.of_odds(2, Fraction(2), Fraction(2))
    with pytest.raises(TypeError, match="epsilon must be"):
        TwoLayers.of_levels(2, 1.0, "0.5")  # type: ignore[arg-type]
    layers = TwoLayers(2, Fraction(2), Fraction(2))
    for level in (layers.constant_odds, layers.constant_epsilon, layers.changing_epsilon):
        with pytest.raises(ValueError, match="at least one report"):
            level(0)
