"""The cost of reports that share kept responses, against sums over every history and response."""

from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.budget import (
    NANO,
    RangeCost,
    constant_cost,
    epsilon_to_nano,
    format_nano,
    pure_cost,
)
from deniable.documents import upper_text
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Mechanism,
    RandomisedResponse,
    TwoRound,
    log_ceiling,
    odds_text,
)
from deniable.mechanisms.subset import Subset
from tests.accounting.curves import curve, kept_law, randomised_response
from tests.mechanisms.laws import entries
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort, some
from tests.support.geometric import clamped_geometric

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
    histories = list(product(range(mechanism.categories), repeat=reports))
    laws = {history: kept_law(*rounds(mechanism), history) for history in histories}
    for one, other in product(histories, repeat=2):
        worst = odds(laws[one], laws[other])
        if pattern(one) == pattern(other):
            assert worst is not None
            assert worst <= alike
        if isinstance(mechanism, TwoRound):  # whatever changes when
            assert worst is not None
            assert worst <= mechanism.fresh.privacy.odds**reports
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


SPREAD = [
    *[(3, "0.038", "1.1"), (10, "1", "2"), (16, "0.2", "3"), (1000, "0.0862", "4.605")],
    (2, "0.3", "1"),
]


@pytest.mark.parametrize(("k", "epsilon", "kept"), SPREAD)
def test_no_way_to_spread_answers_over_the_reports_costs_more(
    k: int, epsilon: str, kept: str
) -> None:
    mechanism = TwoRound(Subset(k, 1), epsilon, kept)
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
    costs = [cost.cumulative(reports) for reports in range(6)]
    assert costs == [number * half for number in (0, 1, 2, 3, 3, 3)]
    assert [cost.next(before) for before in range(5)] == [half, half, half, 0, 0]
    # 10 epochs are two ranges of 4 and 2 epochs more.
    assert cost.most(10, 4) == 3 * half + 3 * half + 2 * half
    assert cost.most(0, 4) == 0


def test_the_worked_rounds_cost_what_their_levels_say() -> None:
    # k = 10, 2 and 1: f is 1, 1.753, …, so that two answers cost more than one twice.
    cost = RangeCost.of(TwoRound(Subset(10, 1), "1", "2"))
    assert cost == RangeCost(10, 2 * NANO, ((1, NANO),))
    costs = [cost.cumulative(reports) for reports in (1, 2, 10, 20, 30)]
    assert costs == [number * NANO for number in (1, 2, 10, 20, 20)]


def test_what_is_no_number_of_reports_is_refused() -> None:
    cost = RangeCost.of(RandomisedResponse(2, "1"))
    with pytest.raises(ValueError, match="number of reports"):
        cost.cumulative(-1)
    with pytest.raises(ValueError, match="must not be empty"):
        cost.most(3, 0)
    with pytest.raises(ValueError, match="number of epochs"):
        cost.most(-1, 2)


PROPERTY = settings(max_examples=effort(100))


@PROPERTY
@given(st.integers(2, 1000), st.integers(1, 40_000), st.integers(0, 999_999))
def test_the_cost_is_the_smallest_integer_that_covers_the_odds(
    categories: int, milli: int, millionths: int
) -> None:
    mechanism = RandomisedResponse(categories, Fraction(milli, 1000), Fraction(millionths, 10**6))
    cost = pure_cost(mechanism)
    assert cost > 0
    assert exp_bounds(Fraction(cost, NANO))[0] >= mechanism.privacy.odds
    assert exp_bounds(Fraction(cost - 1, NANO))[1] < mechanism.privacy.odds


CEILINGS = [
    *[("0", 0), ("1", NANO), ("40", 40 * NANO), (7, 7 * NANO), (Decimal("2.5"), 2_500_000_000)],
    ("9999", 9999 * NANO),  # a lifetime's ceiling may exceed any one survey's epsilon
    *[("0.000000001", 1), ("0.000000000999999999", 0), ("0.000000001999999999", 1)],
    (Fraction(1, 3), 333_333_333),
]


@pytest.mark.parametrize(("epsilon", "nano"), CEILINGS)
def test_a_ceiling_is_rounded_down(epsilon: str | Decimal | Fraction | int, nano: int) -> None:
    assert epsilon_to_nano("lifetime_epsilon", epsilon) == nano


def test_a_ceiling_that_is_negative_inexact_or_not_written_plainly_is_refused_by_name() -> None:
    for wrong in ("-1", "10000", "1.0", "1e9", Decimal("NaN"), Decimal("1e999999999"), -1):
        with pytest.raises(InvalidPrivacyParameter, match=r"^lifetime_epsilon must"):
            epsilon_to_nano("lifetime_epsilon", wrong)
    for inexact in (1.0, True, None):
        with pytest.raises(TypeError, match=r"^lifetime_epsilon must"):
            epsilon_to_nano("lifetime_epsilon", inexact)  # type: ignore[arg-type]


def test_a_cost_is_shown_to_people_rounded_up() -> None:
    costs = (0, 1, 1_000_000, 1_000_001, 999_000_001, NANO, NANO + 1, 1_791_759_470, 123 * NANO)
    shown = "0.000 0.001 0.001 0.002 1.000 1.000 1.001 1.792 123.000"
    assert " ".join(map(format_nano, costs)) == shown


@PROPERTY
@given(st.integers(0, 10**18))
def test_what_is_shown_never_understates_and_exceeds_by_less_than_a_thousandth(cost: int) -> None:
    shown = Fraction(format_nano(cost))
    assert 0 <= shown - Fraction(cost, NANO) < Fraction(1, 1000)


def test_ten_reports_of_a_tenth_fit_a_ceiling_of_one_exactly() -> None:
    # With floats 10 × 0.1 summed one by one is not 1; integers neither drift nor round.
    cost = pure_cost(RandomisedResponse(2, "0.1"))
    assert sum([cost] * 10) == epsilon_to_nano("lifetime_epsilon", "1")


ODDS = [
    *[(Fraction(3), "3.00"), (Fraction("3.004166"), "3.01"), (Fraction("9.999"), "10.00")],
    *[(Fraction(99_901, 1000), "100.0"), (Fraction("1096.633"), "1,097")],
]


@pytest.mark.parametrize(("odds", "shown"), ODDS)
def test_printed_odds_and_levels_are_rounded_up_whatever_the_context(
    odds: Fraction, shown: str
) -> None:
    with localcontext() as context:
        context.prec = 2
        assert odds_text(odds) == shown
        assert 0 <= Fraction(upper_text(odds)) - odds < odds / 100
        assert 0 <= Fraction(upper_text(odds, 6)) - odds < odds / 100_000
    assert upper_text(Decimal("Infinity")) == "infinite"
    assert upper_text(Fraction(1, 3)) == "0.334"
