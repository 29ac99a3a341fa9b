"""Two rounds: their matrix, the least noise of one report, and the odds of several together."""

from fractions import Fraction
from itertools import product
from math import ceil, log, prod

import pytest

from deniable.mechanisms import InvalidPrivacyParameter, TwoRound
from deniable.mechanisms.affine import Affine
from deniable.mechanisms.block_design import Design, TurnedDesign
from deniable.mechanisms.exact import GridTooCoarse
from deniable.mechanisms.subset import Subset
from deniable.planning.candidates import greatest_cost
from tests.mechanisms.laws import FOREIGN, assert_sound_rows, undrawable, worst_ratio
from tests.mechanisms.taylor import exp_bounds
from tests.support.entries import probability

SMALL = [
    *(TwoRound(Subset(2, 1), "1", "2"), TwoRound(Subset(3, 1), "0.038", "1.1")),
    *(TwoRound(Subset(3, 2), "2", "4"), TwoRound(Subset(5, 1), "1", "1.01")),
    *(TwoRound(Subset(6, 2), "0.9", "3"), TwoRound(Subset(5, 3), "1", "4")),
    *(TwoRound(Affine(4, 2, 2, 1), "0.5", "2"), TwoRound(Affine(5, 5, 1, 2), "1", "3")),
    *(TwoRound(Affine(4, 7, 1, 3), "0.3", "2"), TwoRound(Affine(5, 3, 2, 1), "1", "4")),
]


LARGE = [
    *(TwoRound(Subset(2, 1), "0.000000001", "40"), TwoRound(Subset(1000, 1), "3.5", "3.75")),
    *(TwoRound(Subset(65_536, 1), "39", "40"), TwoRound(Affine(105, 107, 1, 29), "1", "4")),
    *(TwoRound(Affine(1024, 1031, 1, 62), "2", "6"), TwoRound(Affine(10_000, 101, 2, 2), "1", "6")),
]


@pytest.mark.parametrize("mechanism", SMALL, ids=repr)
def test_the_rounds_one_after_the_other_give_exactly_the_stated_probabilities(
    mechanism: TwoRound,
) -> None:
    points = range(mechanism.design.points)
    fresh = [mechanism.fresh.row(u) for u in points]
    for answer in range(mechanism.categories):
        kept = mechanism.kept.row(answer)
        law = [sum(kept[u] * fresh[u][y] for u in points) for y in range(mechanism.responses)]
        assert mechanism.row(answer) == law
    assert_sound_rows(mechanism)
    assert mechanism.privacy.odds == worst_ratio(mechanism)


@pytest.mark.parametrize("mechanism", SMALL + LARGE, ids=repr)
def test_one_report_keeps_epsilon_and_the_least_more_of_a_fresh_round_does_not(
    mechanism: TwoRound,
) -> None:
    below, above = exp_bounds(mechanism.epsilon)
    kept, design = mechanism.kept, mechanism.fresh.design
    assert kept.lies == ceil(2**64 / (exp_bounds(kept.epsilon)[0] + design.points - 1))

    def odds(outside: int) -> Fraction:
        # The odds of the fresh round but for its words that tell nothing, which only lower them.
        n, s, b, v = design.positions, design.size, design.block, design.points
        fresh = Fraction(2**64 - (n - s) * outside, s * outside)
        true, even = 1 - kept.lie * v, kept.lie
        other = true + even * (b * fresh + v - b)
        return (true * fresh + even * (b * fresh + v - b)) / other

    assert mechanism.privacy.odds <= odds(mechanism.fresh.outside) <= below
    assert odds(mechanism.fresh.outside - 1) > above
    assert mechanism.privacy.satisfies(mechanism.epsilon, "0")


@pytest.mark.parametrize("mechanism", SMALL, ids=repr)
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_reports_of_one_answer_have_the_stated_odds_together(
    mechanism: TwoRound, reports: int
) -> None:
    # The bound is attained by sets, of which all of a size are blocks.
    if mechanism.responses**reports > 10**4:
        pytest.skip("too many reports to list")
    kept = [mechanism.kept.row(x) for x in range(mechanism.categories)]
    fresh = [mechanism.fresh.row(u) for u in range(mechanism.design.points)]
    worst = Fraction(1)
    for responses in product(range(mechanism.responses), repeat=reports):
        given = [prod(row[y] for y in responses) for row in fresh]
        masses = [sum(a * b for a, b in zip(row, given, strict=True)) for row in kept]
        worst = max(worst, Fraction(max(masses), min(masses)))
    bound = mechanism.constant_odds(reports)
    assert worst <= bound <= mechanism.kept.privacy.odds
    if isinstance(mechanism.design, Subset) or reports == 1:
        assert worst == bound


def test_the_published_figures_of_designs_are_these() -> None:
    exact = TwoRound(Subset(6, 2), "0.916290731874155065", "2.995732273553990993")
    assert [
        float(value) for value in (exact.privacy.truth, exact.privacy.lie, exact.fresh.privacy.odds)
    ] == (pytest.approx([1 / 9, 2 / 45, 107 / 32], rel=1e-12))
    # (design, epsilon, kept): variance, ln E_2, level of two reports.
    published = [
        (Subset(105, 1), "1", "4", 3819.62, 1.83, 2.43),
        (Affine(105, 107, 1, 29), "1", "4", 378.546, 4.31, 3.44),
        (Subset(10, 1), "1", "2", 40.9583, 1.95007, 1.753212),
    ]
    for design, epsilon, kept, variance, second, two in published:
        made = TwoRound(design, epsilon, kept)
        numbers = design.responses, design.replication, design.together
        k, excess = design.categories, float(made.privacy.odds - 1)
        found = greatest_cost(k, *numbers, excess, 1 / k)
        assert found == pytest.approx(variance, rel=2e-6)
        assert float(made.fresh.privacy.epsilon) == pytest.approx(second, abs=6e-3)
        assert log(made.constant_odds(2)) == pytest.approx(two, abs=6e-3)


def test_mechanisms_with_the_same_rounds_are_equal() -> None:
    one, same = TwoRound(Subset(5, 1), "1", "2"), TwoRound(Subset(5, 1), 1, Fraction(2))
    assert (one, hash(one)) == (same, hash(same))
    others = [
        *(TwoRound(Subset(4, 1), "1", "2"), TwoRound(Subset(5, 1), "1", "3")),
        *(TwoRound(Subset(5, 1), "0.5", "2"), TwoRound(Affine(5, 5, 1, 1), "1", "2")),
    ]
    assert len({one, same, *others}) == 5
    assert one.fresh == TurnedDesign(Subset(5, 1), one.fresh.outside)
    assert one != repr(one) == "TwoRound(Subset(5, 1), epsilon=1, kept_epsilon=2)"
    assert one.truth == probability(one, 0, 0)
    assert TwoRound(Subset(5, 2), "1", "3").truth is None
    for mechanism in (one, TwoRound(Affine(5, 7, 1, 3), "1", "3")):
        for answer in (*FOREIGN, 6):
            with pytest.raises(IndexError) as refusal:
                mechanism.randomise(answer, undrawable)
            assert "77" not in str(refusal.value)


@pytest.mark.parametrize(
    ("epsilon", "kept"), [("1", "1"), ("2", "1"), ("0", "1"), ("1", "41"), ("-1", "1"), ("1", "x")]
)
def test_levels_that_are_none_are_refused(epsilon: str, kept: str) -> None:
    with pytest.raises(InvalidPrivacyParameter):
        TwoRound(Subset(5, 1), epsilon, kept)


@pytest.mark.parametrize("design", [Subset(8, 3), Affine(9, 3, 2, 1)])
def test_blocks_that_the_kept_response_is_too_noisy_for_are_refused(design: Design) -> None:
    # (e^epsilon - 1) 3 < e^2 - 1 up to epsilon 1.14097.
    TwoRound(design, "1.1409", "2")
    with pytest.raises(InvalidPrivacyParameter, match="smaller blocks"):
        TwoRound(design, "1.1411", "2")


def test_what_is_no_level_and_no_grid_is_refused() -> None:
    with pytest.raises(TypeError, match="float"):
        TwoRound(Subset(5, 1), 0.5, "1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="categories"):
        TwoRound(Affine(65_536, 367, 2, 1), "1", "7")
    with pytest.raises((GridTooCoarse, InvalidPrivacyParameter)):
        TwoRound(Subset(65_536, 1), "30", "30.000000000000000001")
