"""Categories on a line: the guarantee in O(k), and where the integers do not show it."""

from fractions import Fraction

import pytest
from hypothesis import settings

from deniable.mechanisms import GridTooCoarse, MatrixPrivacy, Ordinal
from tests.mechanisms.laws import worst_ratio
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))


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
