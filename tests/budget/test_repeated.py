"""The cost of reports that share kept responses, against sums over every history and response."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from operator import ne

import pytest
from hypothesis import settings

from deniable.budget import NANO, RangeCost, changing_cost, constant_cost
from deniable.mechanisms import (
    Mechanism,
    RandomisedResponse,
    TwoRound,
    log_ceiling,
)
from deniable.mechanisms.subset import Subset
from deniable.planning.calibration import clamped_geometric
from tests.accounting.curves import curve, kept_law, randomised_response
from tests.mechanisms.laws import entries
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort, some

PROPERTY = settings(max_examples=effort(60))

Matrix = Sequence[Sequence[Fraction]]


def identity(categories: int) -> Matrix:
    return [[Fraction(x == y) for y in range(categories)] for x in range(categories)]


def rounds(mechanism: Mechanism) -> tuple[Matrix, Matrix]:
    """Return the matrix whose response is kept, and the one that each report adds."""
    if isinstance(mechanism, TwoRound):
        return entries(mechanism.kept), entries(mechanism.fresh)
    return entries(mechanism), identity(mechanism.categories)


def pattern(history: Sequence[int]) -> list[int]:
    """Return where each answer was given first: equal for histories that change alike."""
    return [history.index(answer) for answer in history]


def odds(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction | None:
    """Return the largest likelihood ratio of two laws, None if it is infinite."""
    most, least = 0, 1  # as whole numbers: a Fraction divides by common divisors each time
    for p, q in zip(one, other, strict=True):
        if p and not q:
            return None
        high, low = p.numerator * q.denominator, q.numerator * p.denominator
        if high * least > low * most:
            most, least = high, low
    return Fraction(most, least)


def partitions(reports: int, groups: int, most: int) -> Iterator[list[int]]:
    """Return all ways to split reports into at most so many groups of at most so many."""
    if reports == 0:
        yield []
    elif groups:
        for first in range(min(reports, most), 0, -1):
            for rest in partitions(reports - first, groups - 1, first):
                yield [first, *rest]


SMALL: list[Mechanism] = [
    RandomisedResponse(2, "1"),
    RandomisedResponse(3, "0.5"),
    clamped_geometric(3, "1"),
    TwoRound(Subset(2, 1), "1", "2"),
    TwoRound(Subset(2, 1), "0.1", "3"),
    TwoRound(Subset(3, 1), "1", "1.5"),
    TwoRound(Subset(3, 1), "0.5", "2"),
    TwoRound(Subset(3, 1), "0.038", "1.1"),
    TwoRound(Subset(4, 2), "0.5", "2"),
]


@pytest.mark.parametrize("mechanism", some(SMALL), ids=repr)
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_no_two_histories_are_told_apart_beyond_the_costs(
    mechanism: Mechanism, reports: int
) -> None:
    alike = exp_bounds(Fraction(RangeCost.of(mechanism).cumulative(reports), NANO))[0]
    changing = changing_cost(mechanism, reports)
    any_of_them = None if changing is None else exp_bounds(Fraction(changing, NANO))[0]
    histories = list(product(range(mechanism.categories), repeat=reports))
    laws = {history: kept_law(*rounds(mechanism), history) for history in histories}
    for one, other in product(histories, repeat=2):
        worst = odds(laws[one], laws[other])
        if pattern(one) == pattern(other):
            assert worst is not None
            assert worst <= alike
        if any_of_them is not None:
            assert worst is not None
            assert worst <= any_of_them
            if isinstance(mechanism, TwoRound) and sum(map(ne, one, other)) == 1:
                assert worst <= mechanism.fresh.privacy.odds
    if isinstance(mechanism, TwoRound):
        constant = odds(*(laws[(x,) * reports] for x in (0, 1)))
        assert constant is not None
        assert constant_cost(mechanism, reports) == log_ceiling(constant, NANO)


def test_no_budget_covers_histories_that_change_at_different_times_if_memoised() -> None:
    # FORMULAS, longitudinal collection: 1 - 2dq - (k-2)q^2 is 5/8 for E = 3 and k = 2.
    matrix = randomised_response(2, Fraction(3))
    same, changed = (kept_law(matrix, identity(2), history) for history in ((0, 0), (0, 1)))
    for allowed in (Fraction(1), Fraction(3), Fraction(9), Fraction(10**12)):
        assert curve(changed, same, allowed) >= Fraction(5, 8)
    assert curve(changed, same, Fraction(10**12)) == 1 - 2 * Fraction(3, 4) * Fraction(1, 4)
    assert odds(changed, same) is None


@pytest.mark.parametrize(
    "mechanism",
    [
        TwoRound(Subset(3, 1), "0.038", "1.1"),
        TwoRound(Subset(10, 1), "1", "2"),
        TwoRound(Subset(16, 1), "0.2", "3"),
        TwoRound(Subset(1000, 1), "0.0862", "4.605"),
        TwoRound(Subset(2, 1), "0.3", "1"),
    ],
    ids=repr,
)
def test_no_way_to_spread_answers_over_the_reports_costs_more(mechanism: TwoRound) -> None:
    cost = RangeCost.of(mechanism)
    levels = [0, *(constant_cost(mechanism, reports) for reports in range(1, 15))]
    for reports in range(15):
        worst = max(
            sum(levels[size] for size in groups)
            for groups in partitions(reports, mechanism.categories, reports or 1)
        )
        assert worst <= cost.cumulative(reports)
    # And a constant answer does cost so much, at each of the numbers that the slopes name.
    assert [cost.cumulative(reports) for reports, _ in cost.slopes] == [
        constant_cost(mechanism, reports) for reports, _ in cost.slopes
    ]


def test_beyond_what_is_looked_at_the_cost_is_bounded() -> None:
    # f(t)/t is still below kept/t after the last one looked at.
    mechanism = TwoRound(Subset(40, 1), "0.0001", "6")
    cost = RangeCost.of(mechanism)
    assert cost.slopes[-1][0] == 65
    for reports in (1, 2, 64, 65, 66, 100, 500, 2000):
        assert constant_cost(mechanism, reports) <= cost.cumulative(reports)
    assert cost.cumulative(10**7) == 40 * cost.kept


def test_a_memoised_range_costs_one_level_an_answer_and_no_more_than_there_are_answers() -> None:
    cost = RangeCost.of(RandomisedResponse(3, "0.5"))
    half = NANO // 2
    assert [cost.cumulative(reports) for reports in range(6)] == [
        0,
        half,
        2 * half,
        3 * half,
        3 * half,
        3 * half,
    ]
    assert [cost.next(before) for before in range(5)] == [half, half, half, 0, 0]
    # 10 epochs are two ranges of 4 and 2 epochs more.
    assert cost.most(10, 4) == 3 * half + 3 * half + 2 * half
    assert cost.most(0, 4) == 0


def test_the_worked_rounds_cost_what_their_levels_say() -> None:
    # k = 10, 2 and 1: f is 1, 1.753, …, so that two answers cost more than one twice.
    cost = RangeCost.of(TwoRound(Subset(10, 1), "1", "2"))
    assert cost == RangeCost(10, 2 * NANO, ((1, NANO),))
    assert [cost.cumulative(reports) for reports in (1, 2, 10, 20, 30)] == [
        NANO,
        2 * NANO,
        10 * NANO,
        20 * NANO,
        20 * NANO,
    ]


def test_what_is_no_number_of_reports_is_refused() -> None:
    cost = RangeCost.of(RandomisedResponse(2, "1"))
    with pytest.raises(ValueError, match="fewer than 0"):
        cost.cumulative(-1)
    with pytest.raises(ValueError, match="at least one"):
        cost.most(3, 0)
    with pytest.raises(ValueError, match="fewer than 0"):
        cost.most(-1, 2)
