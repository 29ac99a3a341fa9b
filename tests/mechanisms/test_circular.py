"""Categories on a circle: every row is the first one, turned."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.mechanisms import Circular, Metric, TwoValuedPrivacy
from tests.mechanisms.laws import (
    EXTREME_RATIOS,
    WORDS,
    assert_samples_its_rows,
    assert_sound_rows,
    entries,
    ideal_rows,
    odds_bounds,
    on_a_circle,
    ratios,
    row_by_boundaries,
)
from tests.support.effort import effort, some

PROPERTY = settings(max_examples=effort(60))


def breaks(mechanism: Circular) -> list[int]:
    """Return the words at which some response may change: the boundaries of row 0."""
    row = mechanism.row(0)
    return [sum(row[:y]) for y in range(len(row))]


@PROPERTY
@given(st.integers(2, 13), ratios)
def test_rows_are_the_first_by_the_rule_of_boundaries_turned(
    categories: int, ratio: Fraction
) -> None:
    mechanism = Circular(categories, ratio)
    assert_sound_rows(mechanism)
    first = mechanism.row(0)
    assert first == row_by_boundaries(ratio, on_a_circle(categories)[0])
    ideal = ideal_rows(ratio, on_a_circle(categories))
    for x in range(categories):
        row = mechanism.row(x)
        assert row == [first[(y - x) % categories] for y in range(categories)]
        for weight, entry in zip(row, ideal[x], strict=True):
            assert abs(weight - WORDS * entry) < 1 + Fraction(1, 2**60)
    assert mechanism.truth == min(mechanism.probability(x, x) for x in range(categories))


def test_a_row_by_hand() -> None:
    # r = 1/2 and 4 categories weigh 4, 2, 1, 2 of 9.
    mechanism = Circular(4, Fraction(1, 2))
    cut = [WORDS * part // 9 for part in (0, 4, 6, 7, 9)]
    row = [cut[y + 1] - cut[y] for y in range(4)]
    assert mechanism.row(0) == row
    assert mechanism.row(1) == [row[3], row[0], row[1], row[2]]
    assert mechanism.categories == mechanism.responses == 4
    assert repr(mechanism) == "Circular(4, ratio=1/2)"


@pytest.mark.parametrize("ratio", some(EXTREME_RATIOS))
@pytest.mark.parametrize("categories", [2, 3, 8, 17])
def test_the_sampler_has_the_law_of_the_rows(categories: int, ratio: Fraction) -> None:
    mechanism = Circular(categories, ratio)
    assert_samples_its_rows(mechanism, range(categories), breaks(mechanism))


def test_the_sampler_has_the_law_of_the_rows_with_many_categories_too() -> None:
    mechanism = Circular(601, Fraction(97, 100))
    assert_samples_its_rows(mechanism, [0, 1, 300, 301, 600], breaks(mechanism))


def test_where_a_weight_vanishes_there_is_no_pure_guarantee() -> None:
    mechanism = Circular(5, Fraction(1, 2**33))
    assert mechanism.row(0)[2] == 0
    assert mechanism.privacy.odds is None
    assert mechanism.privacy.delta_at("40") > 0


@PROPERTY
@given(st.integers(2, 30), ratios)
def test_the_pure_level_is_that_of_opposite_categories(categories: int, ratio: Fraction) -> None:
    ideal = ideal_rows(ratio, on_a_circle(categories))
    exact = max(max(column) / min(column) for column in zip(*ideal, strict=True))
    assert exact == ratio ** -(categories // 2)
    least = WORDS * min(ideal[0])
    if least > 2:
        low, high = odds_bounds(WORDS * ideal[0][0], least, exact)
        odds = Circular(categories, ratio).privacy.odds
        assert odds is not None
        assert low <= odds <= high


@PROPERTY
@given(st.integers(2, 63).map(lambda places: Fraction(1, 2**places - 1)) | ratios)
def test_two_categories_are_randomised_response(ratio: Fraction) -> None:
    mechanism = Circular(2, ratio)
    (d, q), (other_q, other_d) = entries(mechanism)
    assert (d, q) == (other_d, other_q)
    assert mechanism.privacy.odds == max(d, q) / min(d, q)
    if d >= q:
        closed = TwoValuedPrivacy(d, q)
        assert mechanism.privacy.odds == closed.odds
        assert mechanism.privacy.delta_at("0.1") == closed.delta_at("0.1")
    # q = r/(1+r), rounded up: by d, of which the boundary rounds down.
    assert 0 <= q - ratio / (1 + ratio) < Fraction(1, WORDS) * (1 + Fraction(1, 2**60))


def test_three_categories_are_randomised_response_within_a_word() -> None:
    # On a circle of three, both others are next to each: d = 1/(1+2r), q = r/(1+2r).
    mechanism = Circular(3, Fraction(3, 7))
    truth, lie = Fraction(7, 13), Fraction(3, 13)
    for x, row in enumerate(entries(mechanism)):
        for y, entry in enumerate(row):
            assert abs(entry - (truth if x == y else lie)) < Fraction(1, WORDS)


def test_a_circle_is_a_metric_within_a_word() -> None:
    # A table cuts every row at its own boundaries, and turns none: so only row 0 is the same.
    ratio = Fraction(2, 3)
    circle, table = Circular(6, ratio), Metric(on_a_circle(6), ratio)
    assert circle.row(0) == table.row(0)
    for x in range(6):
        for weight, other in zip(circle.row(x), table.row(x), strict=True):
            assert abs(weight - other) <= 1
