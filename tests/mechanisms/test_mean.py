"""Means: mixtures of rows, whose mean response is the answer's own place, exactly."""

from collections import Counter
from fractions import Fraction
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.mechanisms import KINDS, MatrixPrivacy, MeanMatrix
from deniable.mechanisms.kind import InvalidManifest
from tests.mechanisms.laws import assert_sound_rows, undrawable, worst_ratio
from tests.support.effort import effort
from tests.support.entries import probability

SIXTEENTH = 2**60
Weights = tuple[tuple[int, ...], ...]


def of_sixteenths(*rows: tuple[int, ...]) -> Weights:
    return tuple(tuple(weight * SIXTEENTH for weight in row) for row in rows)


THREE = of_sixteenths((8, 4, 4), (6, 4, 6), (4, 4, 8))
TWO = of_sixteenths((11, 5), (3, 13))


def mean_response(mechanism: MeanMatrix, category: int) -> Fraction:
    """Return the mean of what the responses to an answer stand for."""
    chances = (probability(mechanism, category, y) for y in range(mechanism.responses))
    return sum((chance * mechanism.stands_for(y) for y, chance in enumerate(chances)), Fraction(0))


@pytest.mark.parametrize("weights", [TWO, THREE])
@pytest.mark.parametrize("categories", [3, 4, 5, 6, 7, 31, 4096])
def test_responses_stand_for_the_answers_place_on_average_and_betray_no_more_than_the_rows(
    categories: int, weights: Weights
) -> None:
    mechanism = MeanMatrix(categories, weights)
    some = [*range(min(categories, 40)), categories - 1]
    assert [mean_response(mechanism, x) for x in some] == some
    if categories < 40:
        assert_sound_rows(mechanism)
        assert mechanism.privacy.odds == worst_ratio(mechanism)
        for odds in (Fraction(5, 4), Fraction(2)):
            delta = MatrixPrivacy(mechanism).delta_at_odds(odds)
            assert mechanism.privacy.delta_at_odds(odds) == delta
    assert mechanism.privacy.odds == (Fraction(11, 3) if weights is TWO else 2)


@settings(max_examples=effort(60))
@given(
    st.lists(st.lists(st.integers(1, 6), min_size=3, max_size=3), min_size=2, max_size=4),
    st.integers(0, 6),
)
def test_rows_whose_means_do_not_rise_in_equal_steps_are_refused(
    rows: list[list[int]], more: int
) -> None:
    weights = tuple(
        tuple(weight * (2**64 // sum(row)) + (y == 1) * (2**64 % sum(row)) for y, weight in
              enumerate(row))
        for row in rows
    )  # fmt: skip
    sums = [sum(y * weight for y, weight in enumerate(row)) for row in weights]
    steps = {above - below for below, above in pairwise(sums)}
    if len(steps) == 1 and min(steps) > 0:
        assert MeanMatrix(len(rows) + more, weights).step == steps.pop()
    else:
        with pytest.raises(ValueError, match="must rise in equal steps"):
            MeanMatrix(len(rows) + more, weights)


@pytest.mark.parametrize("categories", [2, 3, 4, 6, 12])
def test_the_sampler_has_the_law_of_the_rows(categories: int) -> None:
    mechanism = MeanMatrix(categories, TWO)
    steps = categories - 1
    dithers = list(range(steps)) if categories > 2 else [None]
    ends = sorted({0, *(end for row in TWO for end in accumulate(row))})
    for answer in range(categories):
        counted: Counter[int] = Counter()
        for dither in dithers:
            for low, high in pairwise(ends):
                drawn = [high - 1] if dither is None else [dither, high - 1]
                counted[mechanism.randomise(answer, iter(drawn).__next__)] += high - low
        assert [counted[y] for y in range(2)] == [
            weight * len(dithers) * 2**64 // mechanism.grid for weight in mechanism.row(answer)
        ]
    # A number that is none costs another word.
    if steps & (steps - 1):
        words = iter([2**64 - 1, 0, 0])
        mechanism.randomise(0, words.__next__)
        assert not list(words)
    for outside in (-1, categories):
        with pytest.raises(IndexError):
            mechanism.randomise(outside, undrawable)


def test_a_mean_has_no_more_rows_than_categories_and_no_more_categories_than_4096() -> None:
    for categories in (0, 1, 2, 4097):
        with pytest.raises(ValueError, match="more rows than categories"):
            MeanMatrix(categories, THREE)
    assert MeanMatrix(3, THREE) == MeanMatrix(3, THREE) != MeanMatrix(4, THREE)
    assert len({MeanMatrix(3, THREE), MeanMatrix(3, THREE), MeanMatrix(3, TWO)}) == 2


_WRONG: list[tuple[object, str]] = [
    ([[1]], "2 to 49 rows"),
    (TWO[:1], "2 to 49 rows"),
    (tuple((2**64 - x, x) for x in range(50, 0, -1)), "2 to 49 rows"),
    (((2**59,) * 32 + (0,),) * 2, "2 to 32 weights"),
    (((2**64, 0), (1, 2**64 - 1)), "integers from 1"),
    (((2**63, True),) * 2, "integers from 1"),
]


def test_a_kind_reads_what_a_manifest_may_hold_and_names_responses_by_what_they_stand_for() -> None:
    kind = KINDS["mean"]
    for weights, problem in _WRONG:
        with pytest.raises(InvalidManifest, match=problem):
            kind.check({"weights": weights})
    given_ = {"weights": THREE}
    assert kind.mechanism(given_, 5, "0.69314718055994531", "0") == MeanMatrix(5, THREE)
    for categories, epsilon, delta, problem in (
        (5, "0.693147180559945309", "0", "exceed the stated epsilon"),
        (5, "1", "0.1", "is pure"),
        (2, "1", "0", "more rows"),
    ):
        with pytest.raises(InvalidManifest, match=problem):
            kind.mechanism(given_, categories, epsilon, delta)
    # From row to row the mean response moves by a quarter: from one to the next are four rows.
    assert kind.responses(given_, ("-1", "-0.5", "0", "0.5", "1")) == ("-4.0", "0.0", "4.0")
    assert kind.responses({"weights": TWO}, ("0", "100")) == ("-62", "138")
