"""What holds for every mechanism of distance: rows by the rule, their sampler, their guarantee."""

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.mechanisms import (
    RATIO_LIMIT,
    Circular,
    ClampedGeometric,
    DistanceMechanism,
    GridTooCoarse,
    InvalidPrivacyParameter,
    Metric,
    Ordinal,
)
from deniable.mechanisms.distance import falling_powers
from tests.mechanisms.laws import (
    EXTREME_RATIOS,
    WORDS,
    assert_samples_its_rows,
    assert_sound_rows,
    ideal_rows,
    on_a_circle,
    on_a_line,
    ratios,
    rounded_powers,
    row_by_boundaries,
    table,
    tables,
    worst_ratio,
)
from tests.support.effort import effort, some

PROPERTY = settings(max_examples=effort(60))

Kind = type[Ordinal] | type[Circular] | type[ClampedGeometric]

KINDS: list[Kind] = [Ordinal, Circular, ClampedGeometric]


@PROPERTY
@given(ratios, st.integers(0, 40))
def test_powers_fall_by_the_ratio_rounded_up_each_time(ratio: Fraction, largest: int) -> None:
    powers = falling_powers(ratio, largest)
    assert powers == rounded_powers(ratio, largest)
    for d, power in enumerate(powers):
        # An error grows by less than 1 a step and shrinks by r: less than min(d, 1/(1-r)) in all.
        excess = power - ratio**d * 2**192
        assert 0 <= excess <= min(Fraction(d), 1 / (1 - ratio))


# --- Rows of boundaries --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "distances"),
    [
        (lambda table, ratio: Ordinal(len(table), ratio), st.integers(2, 12).map(on_a_line)),
        (lambda table, ratio: Circular(len(table), ratio), st.integers(2, 13).map(on_a_circle)),
        (Metric, tables(7, 12)),
    ],
    ids=["line", "circle", "table"],
)
@PROPERTY
@given(data=st.data(), ratio=ratios)
def test_rows_follow_the_rule_of_boundaries_and_lie_within_1_of_the_ideal(
    make: Callable[[list[list[int]], Fraction], DistanceMechanism],
    distances: st.SearchStrategy[list[list[int]]],
    data: st.DataObject,
    ratio: Fraction,
) -> None:
    given_table = data.draw(distances)
    mechanism, ideal = make(given_table, ratio), ideal_rows(ratio, given_table)
    assert_sound_rows(mechanism)
    for x, row in enumerate(given_table):
        by_rule = row_by_boundaries(ratio, row)
        if isinstance(mechanism, Circular):  # every row is the first one, turned
            first = row_by_boundaries(ratio, given_table[0])
            by_rule = [first[(y - x) % len(row)] for y in range(len(row))]
        assert mechanism.row(x) == by_rule
        if isinstance(mechanism, Ordinal):
            assert by_rule == [mechanism.weight(x, y) for y in range(len(row))]
        for weight, entry in zip(by_rule, ideal[x], strict=True):
            # One for the two boundaries, and next to nothing for the rounded powers.
            assert abs(weight - WORDS * entry) < 1 + Fraction(1, 2**60)
    assert mechanism.truth == min(mechanism.probability(x, x) for x in range(len(given_table)))
    assert mechanism.privacy.odds == worst_ratio(mechanism)


# --- The sampler ---------------------------------------------------------------------------------


def breaks(mechanism: DistanceMechanism) -> list[int] | None:
    """Return the words at which some response may change; None if each row has its own."""
    row = list(mechanism.row(0))
    if isinstance(mechanism, Circular):
        return list(accumulate(row))
    if isinstance(mechanism, ClampedGeometric):  # the tails, from both sides
        tails = list(accumulate(reversed(row)))
        return [*tails, *(WORDS - tail for tail in tails)]
    return None


@pytest.mark.parametrize("ratio", some(EXTREME_RATIOS))
@pytest.mark.parametrize("categories", [2, 3, 8, 17])
@pytest.mark.parametrize("kind", KINDS)
def test_the_sampler_has_the_law_of_the_rows(kind: Kind, categories: int, ratio: Fraction) -> None:
    try:
        mechanism = kind(categories, ratio)
    except GridTooCoarse:
        assert kind is ClampedGeometric
    else:
        assert_samples_its_rows(mechanism, range(categories), breaks(mechanism))


@pytest.mark.parametrize("ratio", some(EXTREME_RATIOS))
@pytest.mark.parametrize(
    "distances", [table(3, [1, 9, 1]), table(2, [4095]), table(4, [1, 2, 3, 1, 5, 2])]
)
def test_the_sampler_of_a_table_has_the_law_of_the_rows(
    distances: list[list[int]], ratio: Fraction
) -> None:
    assert_samples_its_rows(Metric(distances, ratio), range(len(distances)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_sampler_has_the_law_of_the_rows_with_many_categories_too(kind: Kind) -> None:
    mechanism = kind(601, Fraction(97, 100))
    assert_samples_its_rows(mechanism, [0, 1, 300, 301, 599, 600], breaks(mechanism))


# --- The guarantee -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("categories", some(range(2, 41)))
def test_the_guarantee_in_one_pass_is_that_of_all_columns(kind: Kind, categories: int) -> None:
    for ratio in EXTREME_RATIOS:
        try:
            mechanism = kind(categories, ratio)
        except GridTooCoarse:
            assert kind is ClampedGeometric
        else:
            assert mechanism.privacy.odds == worst_ratio(mechanism)


# --- What is none --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "ratio",
    [
        *(Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)),
        *(Fraction(1, RATIO_LIMIT), Fraction(2**63, 2**63 + 1)),
    ],
)
def test_a_ratio_lies_between_0_and_1_in_integers_below_2_to_the_63(
    kind: Kind, ratio: Fraction
) -> None:
    with pytest.raises(InvalidPrivacyParameter, match=r"ratio must be in \(0, 1\)"):
        kind(3, ratio)


@pytest.mark.parametrize("kind", KINDS)
def test_a_ratio_is_a_fraction_and_a_size_an_int_from_2_to_4096(kind: Kind) -> None:
    for ratio in (0.5, "0.5", 1, None):
        with pytest.raises(TypeError, match="it is exact"):
            kind(3, ratio)  # type: ignore[arg-type]
    for no_int in (3.0, "3", True, None):
        with pytest.raises(TypeError, match="must be an int"):
            kind(no_int, Fraction(1, 2))  # type: ignore[arg-type]
    for categories in (-1, 0, 1, 4097, 10**18):
        with pytest.raises(ValueError, match=r"categories must be in \[2, 4096\]"):
            kind(categories, Fraction(1, 2))


def test_mechanisms_are_equal_if_kind_size_and_ratio_are() -> None:
    half = Fraction(1, 2)
    different: list[DistanceMechanism] = [
        Ordinal(3, half),
        Ordinal(4, half),
        Ordinal(3, Fraction(1, 3)),
        Circular(3, half),
        ClampedGeometric(3, half),
        Metric(on_a_line(3), half),
        Metric(on_a_circle(3), half),
    ]
    assert len(set(different)) == len(different)
    for one in different:
        assert [other for other in different if other == one] == [one]
    assert Ordinal(3, Fraction(2, 4)) == Ordinal(3, half)
    assert hash(Metric(on_a_line(3), half)) == hash(Metric(tuple(on_a_line(3)), half))
    assert repr(Ordinal(3, half)) == "Ordinal(3, ratio=1/2)" != Ordinal(3, half)
    assert repr(Circular(4, half)) == "Circular(4, ratio=1/2)"
    assert repr(ClampedGeometric(3, half)) == "ClampedGeometric(3, ratio=1/2)"
