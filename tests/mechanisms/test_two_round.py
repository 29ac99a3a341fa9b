"""Two rounds: their matrix, enumerated word by word, and the least noise that keeps one report."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import ceil

import pytest
from hypothesis import settings

from deniable.mechanisms import (
    GridTooCoarse,
    InvalidPrivacyParameter,
    RandomisedResponse,
    SurveyMechanism,
    TwoRound,
    TwoValuedMechanism,
)
from tests.mechanisms.laws import FOREIGN, assert_sound_rows, undrawable, worst_ratio
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort, some

PROPERTY = settings(max_examples=effort(60))

# (categories, epsilon, kept_epsilon, bits), small enough to enumerate all pairs of words.
SMALL = [
    (2, "1", "2", 5),
    (2, "0.5", "3", 6),
    (3, "1", "2", 6),
    (3, "2", "40", 6),
    (4, "1.5", "2.5", 7),
    (5, "1", "2", 7),
]

FULL_GRID = [
    (2, "1", "2", 64),
    (10, "1", "2", 64),
    (10, "0.1", "4", 64),
    (2, "0.000000001", "40", 64),
    (1000, "3.5", "3.75", 64),
    (65_536, "0.1", "3", 64),
    (65_536, "39", "40", 64),
]


@pytest.mark.parametrize(("categories", "epsilon", "kept", "bits"), SMALL)
def test_all_pairs_of_words_together_give_exactly_the_stated_probabilities(
    categories: int, epsilon: str, kept: str, bits: int
) -> None:
    mechanism = TwoRound(categories, epsilon, kept, bits=bits)
    assert mechanism.grid == 4**bits
    for answer in range(categories):
        counts = Counter(
            mechanism.randomise(answer, iter(words).__next__)
            for words in product(range(1 << bits), repeat=2)
        )
        assert [counts[response] for response in range(categories)] == mechanism.row(answer)
    assert_sound_rows(mechanism)
    assert mechanism.privacy.odds == worst_ratio(mechanism)
    assert mechanism.contraction == mechanism.kept.contraction * mechanism.fresh.contraction


@pytest.mark.parametrize(("categories", "epsilon", "kept", "bits"), SMALL + FULL_GRID)
def test_one_report_keeps_epsilon_and_one_lie_less_does_not(
    categories: int, epsilon: str, kept: str, bits: int
) -> None:
    mechanism = TwoRound(categories, epsilon, kept, bits=bits)
    k, n = categories, 1 << bits
    a1, a2 = mechanism.kept.lies, mechanism.fresh.lies
    below, above = exp_bounds(Fraction(epsilon))
    assert RandomisedResponse(categories, kept, bits=bits) == mechanism.kept

    def odds(fresh: int) -> Fraction:
        lies = a1 * n + fresh * (n - k * a1)
        return Fraction(n * n - (k - 1) * lies, lies)

    assert mechanism.privacy.odds == odds(a2) <= below
    assert odds(a2 - 1) > above
    assert mechanism.privacy.satisfies(epsilon, "0")


def test_the_published_parameters_for_ten_categories_deliver_far_less_than_was_asked_for() -> None:
    # L-GRR takes E_2 = (E_1 E_inf - 1)/(E_inf - E_1) whatever k, right for k = 2 alone: asked for
    # eps_1 = 1 beside eps_inf = 2 with k = 10, its reports have 0.69935 (and needless noise).
    mechanism = TwoRound(10, "1", "2")
    first, kept = (exp_bounds(Fraction(level))[0] for level in (1, 2))
    published = (first * kept - 1) / (kept - first)
    lies = ceil(2**64 / (published + 9))
    fresh = TwoValuedMechanism(10, lies)
    contraction = mechanism.kept.contraction * fresh.contraction
    report = TwoValuedMechanism(10, round((1 - contraction) / 10 * 2**64))
    assert float(report.privacy.epsilon) == pytest.approx(0.69935, abs=5e-6)
    assert float(fresh.privacy.epsilon) == pytest.approx(1.40761, abs=5e-6)
    assert float(mechanism.fresh.privacy.epsilon) == pytest.approx(1.95007, abs=5e-6)
    assert 1 - Fraction(1, 10**12) < mechanism.privacy.epsilon <= 1
    # For two categories there is nothing to correct, but for the rounding of a lie.
    assert abs(TwoRound(2, "1", "2").fresh.lies - 2**64 / (published + 1)) < 2


def test_each_round_takes_one_word_and_the_rounds_are_those_of_a_report() -> None:
    mechanism = TwoRound(5, "1", "2")
    words = [
        3 * mechanism.kept.lies,
        2**64 - 1,
    ]  # the first round lies: 3; the second is true to it
    draw = iter(words).__next__
    assert mechanism.randomise(1, draw) == 3
    with pytest.raises(StopIteration):
        draw()
    kept = mechanism.kept.randomise(1, iter(words[:1]).__next__)
    assert mechanism.fresh.randomise(kept, iter(words[1:]).__next__) == 3


def test_answers_stay_with_the_mechanism() -> None:
    mechanism = TwoRound(5, "1", "2")
    for answer in FOREIGN:
        with pytest.raises(IndexError) as refusal:
            mechanism.randomise(answer, undrawable)
        assert "77" not in str(refusal.value)


def test_mechanisms_with_the_same_rounds_are_equal() -> None:
    one, same = TwoRound(5, "1", "2"), TwoRound(5, 1, Fraction(2))
    assert one == same
    assert hash(one) == hash(same)
    others = [TwoRound(4, "1", "2"), TwoRound(5, "1", "3"), TwoRound(5, "0.5", "2")]
    assert len({one, same, *others}) == 4
    assert one.fresh == TwoValuedMechanism(5, one.fresh.lies)
    assert one.kept != TwoValuedMechanism(5, one.kept.lies)
    assert one != repr(one) == "TwoRound(5, epsilon=1, kept_epsilon=2)"
    assert repr(TwoValuedMechanism(5, 7)) == "TwoValuedMechanism(5, lies=7)"
    survey: SurveyMechanism = one
    assert survey.truth == one.probability(0, 0)
    assert one.epsilon == 1


@pytest.mark.parametrize(
    ("epsilon", "kept"), [("1", "1"), ("2", "1"), ("0", "1"), ("1", "41"), ("-1", "1"), ("1", "x")]
)
def test_levels_that_are_none_are_refused(epsilon: str, kept: str) -> None:
    with pytest.raises(InvalidPrivacyParameter):
        TwoRound(5, epsilon, kept)


def test_floats_and_grids_that_are_none_are_refused() -> None:
    with pytest.raises(TypeError, match="float"):
        TwoRound(5, 0.5, "1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="categories"):
        TwoRound(1, "1", "2")
    with pytest.raises(ValueError, match="bits"):
        TwoRound(5, "1", "2", bits=65)
    with pytest.raises(ValueError, match="some weight"):
        TwoValuedMechanism(5, 0)
    with pytest.raises(TypeError, match="lies"):
        TwoValuedMechanism(5, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("bits", some(range(1, 17)))
@pytest.mark.parametrize(("epsilon", "kept"), [("1", "2"), ("0.1", "0.2"), ("1", "1.01")])
@pytest.mark.parametrize("categories", [2, 3, 10])
def test_a_coarse_grid_is_refused_exactly_when_a_round_is_none(
    categories: int, epsilon: str, kept: str, bits: int
) -> None:
    k, n = categories, 1 << bits
    first, infinite = (exp_bounds(Fraction(level))[0] for level in (epsilon, kept))
    a1 = ceil(n / (infinite + k - 1))
    resolved = k * a1 < n
    a2 = ceil((n * n / (first + k - 1) - a1 * n) / (n - k * a1)) if resolved else 0
    if resolved and a2 >= 1 and k * a2 < n:
        assert TwoRound(categories, epsilon, kept, bits=bits).fresh.lies == a2
    else:
        with pytest.raises(GridTooCoarse):
            TwoRound(categories, epsilon, kept, bits=bits)


def test_levels_that_64_bits_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(GridTooCoarse, match="two levels apart"):
        TwoRound(65_536, "30", "30.000000000000000001")
