"""Categories on a line: the rule of the rows, the sampler, and the guarantee in O(k)."""

from fractions import Fraction
from itertools import pairwise

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
    MatrixPrivacy,
    Metric,
    Ordinal,
)
from deniable.mechanisms.distance import falling_powers
from tests.mechanisms.laws import (
    EXTREME_RATIOS,
    WORDS,
    assert_samples_its_rows,
    assert_sound_rows,
    entries,
    ideal_rows,
    odds_bounds,
    on_a_circle,
    on_a_line,
    ratios,
    rounded_powers,
    row_by_boundaries,
    worst_ratio,
)
from tests.support.effort import effort, some

PROPERTY = settings(max_examples=effort(60))


@PROPERTY
@given(ratios, st.integers(0, 40))
def test_powers_fall_by_the_ratio_rounded_up_each_time(ratio: Fraction, largest: int) -> None:
    powers = falling_powers(ratio, largest)
    assert powers == rounded_powers(ratio, largest)
    for d, power in enumerate(powers):
        # An error grows by less than 1 a step and shrinks by r: less than min(d, 1/(1-r)) in all.
        excess = power - ratio**d * 2**192
        assert 0 <= excess <= min(Fraction(d), 1 / (1 - ratio))


@PROPERTY
@given(st.integers(2, 12), ratios)
def test_rows_follow_the_rule_of_boundaries_and_lie_within_1_of_the_ideal(
    categories: int, ratio: Fraction
) -> None:
    mechanism = Ordinal(categories, ratio)
    assert_sound_rows(mechanism)
    ideal = ideal_rows(ratio, on_a_line(categories))
    for x, distances in enumerate(on_a_line(categories)):
        row = mechanism.row(x)
        assert row == row_by_boundaries(ratio, distances)
        assert row == [mechanism.weight(x, y) for y in range(categories)]
        for weight, entry in zip(row, ideal[x], strict=True):
            # One for the two boundaries, and next to nothing for the rounded powers.
            assert abs(weight - WORDS * entry) < 1 + Fraction(1, 2**60)
    assert mechanism.truth == min(mechanism.probability(x, x) for x in range(categories))


def test_a_row_by_hand() -> None:
    # r = 1/2, row 1 of 3 weighs 1, 2, 1: quarters of 2^64. Row 0 weighs 4, 2, 1 of 7.
    mechanism = Ordinal(3, Fraction(1, 2))
    assert mechanism.row(1) == [1 << 62, 1 << 63, 1 << 62]
    first, second = (1 << 64) * 4 // 7, (1 << 64) * 6 // 7
    assert mechanism.row(0) == [first, second - first, (1 << 64) - second]
    assert mechanism.categories == mechanism.responses == 3
    assert mechanism.grid == 1 << 64
    assert mechanism.ratio == Fraction(1, 2)
    assert mechanism.truth == Fraction(1, 2)
    assert repr(mechanism) == "Ordinal(3, ratio=1/2)"


@pytest.mark.parametrize("ratio", some(EXTREME_RATIOS))
@pytest.mark.parametrize("categories", [2, 3, 8, 17])
def test_the_sampler_has_the_law_of_the_rows(categories: int, ratio: Fraction) -> None:
    assert_samples_its_rows(Ordinal(categories, ratio), range(categories))


def test_the_sampler_has_the_law_of_the_rows_with_many_categories_too() -> None:
    assert_samples_its_rows(Ordinal(600, Fraction(99, 100)), [0, 1, 299, 300, 598, 599])


def test_a_weight_is_of_a_response_that_there_is() -> None:
    with pytest.raises(IndexError):
        Ordinal(5, Fraction(2, 3)).weight(0, 5)


def ends_against_the_diagonal(mechanism: Ordinal) -> Fraction:
    """Return what the odds were if every column's extremes stood where they stand on paper."""
    m = mechanism.categories - 1
    return max(
        Fraction(mechanism.weight(y, y), min(mechanism.weight(0, y), mechanism.weight(m, y)))
        for y in range(m + 1)
    )


@pytest.mark.parametrize(
    ("categories", "ratio", "shortcut_is_right"),
    [
        # Rounding moves an extreme away from where it stands on paper.
        (18, 1 - Fraction(1, 2**62), False),
        (19, 1 - Fraction(1, 2**62), False),
        (27, 1 - Fraction(1, 2**61), False),
        (28, Fraction(2**63 - 2, 2**63 - 1), False),
        # Here it does not, but that is chance: the integers do not show it.
        (5, 1 - Fraction(1, 2**61), True),
    ],
)
def test_where_rounding_may_move_the_extremes_all_columns_are_compared(
    categories: int, ratio: Fraction, shortcut_is_right: bool
) -> None:
    mechanism = Ordinal(categories, ratio)
    privacy = mechanism.privacy
    assert not mechanism.falls_towards_the_ends
    assert privacy.odds == worst_ratio(mechanism)
    assert (ends_against_the_diagonal(mechanism) == privacy.odds) == shortcut_is_right


@pytest.mark.parametrize("categories", [2, 3, 40, 300])
@pytest.mark.parametrize("ratio", [Fraction(9, 10), Fraction(97, 100), 1 - Fraction(1, 2**30)])
def test_where_it_cannot_the_short_way_is_taken(categories: int, ratio: Fraction) -> None:
    mechanism = Ordinal(categories, ratio)
    assert mechanism.falls_towards_the_ends
    assert mechanism.privacy.odds == ends_against_the_diagonal(mechanism) == worst_ratio(mechanism)


@pytest.mark.parametrize("categories", [3, 4, 10])
def test_where_a_weight_vanishes_there_is_no_pure_guarantee(categories: int) -> None:
    mechanism = Ordinal(categories, Fraction(1, 2**33))
    assert mechanism.row(categories - 1)[0] == 0
    assert mechanism.privacy.odds is None
    assert not mechanism.privacy.satisfies("40", "0")
    assert mechanism.privacy.delta_at("40") > 0


@PROPERTY
@given(st.integers(2, 30), ratios)
def test_the_pure_level_is_that_of_the_two_ends_m_ln_1_over_r(
    categories: int, ratio: Fraction
) -> None:
    m = categories - 1
    ideal = ideal_rows(ratio, on_a_line(categories))
    columns = list(zip(*ideal, strict=True))
    exact = max(max(column) / min(column) for column in columns)
    assert exact == max(columns[0]) / min(columns[0]) == ratio**-m
    # Half of the exponential mechanism's general bound e^(2 max|du|), and no column reaches it.
    assert exact < ratio ** (-2 * m)
    least = WORDS * min(columns[0])
    if least > 2:
        low, high = odds_bounds(WORDS * ideal[0][0], least, exact)
        odds = Ordinal(categories, ratio).privacy.odds
        assert odds is not None
        assert low <= odds <= high


@PROPERTY
@given(st.integers(2, 40), ratios)
def test_normalisers_grow_towards_the_middle_by_less_than_1_over_r_a_step(
    categories: int, ratio: Fraction
) -> None:
    totals = [sum(ratio ** abs(x - y) for y in range(categories)) for x in range(categories)]
    for here, there in pairwise(totals):
        assert ratio < there / here < 1 / ratio
    mechanism = Ordinal(categories, ratio)
    for x, total in enumerate(totals):
        assert (
            0
            <= mechanism.total(x) - total * 2**192
            <= categories * min(Fraction(categories), 1 / (1 - ratio))
        )


@PROPERTY
@given(ratios)
def test_two_categories_are_randomised_response_within_a_word(ratio: Fraction) -> None:
    # d = 1/(1+r) and q = r/(1+r), so d/q = 1/r; boundaries round d and q down, one in each row,
    # from a power of r that is a little too large.
    mechanism = Ordinal(2, ratio)
    truth, lie = 1 / (1 + ratio), ratio / (1 + ratio)
    (d0, q0), (q1, d1) = entries(mechanism)
    step, little = Fraction(1, WORDS), Fraction(1, 2**180)
    assert truth - step - little < d0 <= truth
    assert lie - step < q1 <= lie + little
    assert d0 + q0 == d1 + q1 == 1
    if q1:
        assert mechanism.privacy.odds == max(d0 / q1, d1 / q0)


def test_a_line_is_a_metric() -> None:
    for ratio in (Fraction(1, 2), Fraction(19, 20)):
        line, table = Ordinal(7, ratio), Metric(on_a_line(7), ratio)
        assert [line.row(x) for x in range(7)] == [table.row(x) for x in range(7)]


# --- What holds for all mechanisms of distance ---------------------------------------------------

Kind = type[Ordinal] | type[Circular] | type[ClampedGeometric]

KINDS: list[Kind] = [Ordinal, Circular, ClampedGeometric]


def assert_one_pass_finds_the_odds_of_all_columns(
    kind: Kind, categories: int, ratio: Fraction
) -> None:
    try:
        mechanism = kind(categories, ratio)
    except GridTooCoarse:
        assert kind is ClampedGeometric
    else:
        assert mechanism.privacy.odds == worst_ratio(mechanism)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("categories", some(range(2, 41)))
def test_the_guarantee_in_one_pass_is_that_of_all_columns(kind: Kind, categories: int) -> None:
    for ratio in EXTREME_RATIOS:
        assert_one_pass_finds_the_odds_of_all_columns(kind, categories, ratio)


@pytest.mark.parametrize("kind", KINDS)
@PROPERTY
@given(categories=st.integers(2, 24), ratio=ratios)
def test_the_guarantee_in_one_pass_is_that_of_all_columns_at_any_ratio(
    kind: Kind, categories: int, ratio: Fraction
) -> None:
    assert_one_pass_finds_the_odds_of_all_columns(kind, categories, ratio)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "ratio",
    [
        Fraction(0),
        Fraction(1),
        Fraction(-1, 2),
        Fraction(3, 2),
        Fraction(1, RATIO_LIMIT),
        Fraction(2**63, 2**63 + 1),
    ],
)
def test_a_ratio_lies_between_0_and_1_in_integers_below_2_to_the_63(
    kind: Kind, ratio: Fraction
) -> None:
    with pytest.raises(InvalidPrivacyParameter, match=r"ratio must be in \(0, 1\)"):
        kind(3, ratio)


@pytest.mark.parametrize("kind", KINDS)
def test_a_ratio_is_a_fraction_and_a_size_an_int(kind: Kind) -> None:
    for ratio in (0.5, "0.5", 1, None):
        with pytest.raises(TypeError, match="it is exact"):
            kind(3, ratio)  # type: ignore[arg-type]
    for categories in (3.0, "3", True, None):
        with pytest.raises(TypeError, match="must be an int"):
            kind(categories, Fraction(1, 2))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("categories", [-1, 0, 1, 4097, 10**18])
def test_there_are_2_to_4096_categories(kind: Kind, categories: int) -> None:
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
    assert Ordinal(3, half) != "Ordinal(3, ratio=1/2)"


def test_what_would_take_all_rows_to_judge_is_refused_for_many_categories() -> None:
    # 1 - 2^-62: neighbours in 2^64 do not differ by 2. Up to 512 categories all rows are compared.
    flat = 1 - Fraction(1, 2**62)
    with pytest.raises(GridTooCoarse):
        Ordinal(513, flat)
    assert not Ordinal(64, flat).falls_towards_the_ends
    assert Ordinal(64, flat).privacy.odds == MatrixPrivacy(Ordinal(64, flat)).odds


def test_a_matrix_whose_ends_are_out_of_reach_is_judged_by_them_alone() -> None:
    steep = Ordinal(512, Fraction(1, 2))
    assert steep.privacy.odds is None
    assert not steep.privacy.satisfies(40, 0)
    assert not Ordinal(64, Fraction(1, 2)).privacy.satisfies(40, 0)
