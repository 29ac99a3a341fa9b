"""The guarantee of any matrix, against its definition: all pairs of rows, all sets of responses."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import SolutionMatrix, tight_delta, tight_epsilon
from deniable.mechanisms import TwoValuedPrivacy
from tests.mechanisms.laws import delta_by_subsets, entries, matrices, odds_by_subsets, worst_ratio
from tests.mechanisms.taylor import exp_bounds
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(120))

G = SolutionMatrix.exact([["0.6", "0.3", "0.1"], ["0.2", "0.5", "0.3"], ["0.25", "0.25", "0.5"]])
deltas = st.one_of(st.just(Fraction(0)), st.integers(0, 59).map(lambda n: Fraction(n, 60)))
levels = st.one_of(st.just(Fraction(1)), st.integers(0, 100).map(lambda n: 1 + Fraction(n, 12)))
epsilons = st.one_of(st.just(Fraction(0)), st.integers(0, 40_000).map(lambda n: Fraction(n, 1000)))


def test_the_published_check_values_hold_exactly() -> None:
    # By hand: at delta 0, column 2 has .5 against .1; at 1/20, .5 - .1 E <= .05 there. At E = 1 and
    # 2, delta is .5 - .1 E in column 2 of rows 2 and 0, and with E = 1 nothing else is larger.
    assert G.privacy.odds == tight_epsilon(G, "0").odds == 5
    assert tight_epsilon(G, "0.05").odds == Fraction(9, 2)
    assert G.privacy.delta_at_odds(Fraction(1)) == tight_delta(G, "0").delta == Fraction(2, 5)
    assert G.privacy.delta_at_odds(Fraction(2)) == Fraction(3, 10)
    assert G.privacy.epsilon == Decimal("1.609437912435")  # ln 5 = 1.609437912434100…
    assert tight_epsilon(G, "0.05").epsilon == Decimal("1.504077396777")  # ln 4.5 = 1.504077396776…


@PROPERTY
@given(matrices(), levels)
def test_delta_at_odds_is_that_of_the_worst_set_of_responses(
    matrix: SolutionMatrix, odds: Fraction
) -> None:
    assert matrix.privacy.delta_at_odds(odds) == delta_by_subsets(entries(matrix), odds)


@PROPERTY
@given(matrices(), deltas)
def test_odds_at_is_the_least_that_covers_every_set_of_responses(
    matrix: SolutionMatrix, delta: Fraction
) -> None:
    assert matrix.privacy.odds == worst_ratio(matrix) == tight_epsilon(matrix, "0").odds
    assert (matrix.privacy.epsilon == Decimal("Infinity")) == (matrix.privacy.odds is None)
    odds = tight_epsilon(matrix, delta).odds
    assert odds == odds_by_subsets(entries(matrix), delta)
    # And both ways back: it is enough, and anything less is not.
    if odds is None:
        assert matrix.privacy.delta_at_odds(Fraction(10**9)) > delta
        return
    assert matrix.privacy.delta_at_odds(odds) <= delta
    if odds > 1:
        less = 1 + (odds - 1) * Fraction(10**9 - 1, 10**9)
        assert matrix.privacy.delta_at_odds(less) > delta


@PROPERTY
@given(matrices(), deltas)
def test_epsilon_at_is_the_smallest_step_that_holds_and_satisfies_says_so(
    matrix: SolutionMatrix, delta: Fraction
) -> None:
    level, odds = tight_epsilon(matrix, delta).epsilon, tight_epsilon(matrix, delta).odds
    if odds is None:
        assert level == Decimal("Infinity")
        assert not matrix.privacy.satisfies("40", delta)
        return
    assert exp_bounds(Fraction(level))[0] >= odds
    assert matrix.privacy.satisfies(level, delta)
    if level > 0:
        less = level - Decimal("1e-12")
        assert exp_bounds(Fraction(less))[1] < odds
        assert not matrix.privacy.satisfies(less, delta)


@PROPERTY
@given(matrices(), epsilons, deltas)
def test_delta_at_is_never_too_small_and_at_most_2_to_the_minus_128_too_large(
    matrix: SolutionMatrix, epsilon: Fraction, delta: Fraction
) -> None:
    below, above = exp_bounds(epsilon)
    stated, rows = tight_delta(matrix, epsilon).delta, entries(matrix)
    assert delta_by_subsets(rows, above) <= stated
    assert stated <= delta_by_subsets(rows, below) + Fraction(1, 2**128)
    assert matrix.privacy.satisfies(epsilon, delta) == (stated <= delta)


def test_a_response_that_excludes_a_category_has_no_pure_level_however_rare_it_is() -> None:
    rare = SolutionMatrix([[2**64 - 1, 1], [2**64, 0]], 2**64)
    assert rare.privacy.odds is None
    assert tight_epsilon(rare, "0").odds is None
    assert rare.privacy.epsilon == tight_epsilon(rare, "0").epsilon == Decimal("Infinity")
    assert not rare.privacy.satisfies("40", "0")
    # With a delta of that rarity, hardly any epsilon is left; with less, none is enough.
    assert tight_epsilon(rare, Fraction(1, 2**64)).odds == 1
    assert rare.privacy.satisfies("0", Fraction(1, 2**64))
    assert tight_epsilon(rare, Fraction(1, 2**64 + 1)).odds is None
    assert not rare.privacy.satisfies("40", Fraction(1, 2**64 + 1))


@PROPERTY
@given(st.integers(2, 5), levels, deltas, levels)
def test_two_valued_matrices_have_the_guarantee_of_theorem_8(
    categories: int, designed: Fraction, slack: Fraction, odds: Fraction
) -> None:
    # Theorem 8 at p = (1 - delta)/(E + m): the tight delta is (1 - (E + m) p)_+.
    m = categories - 1
    lie = (1 - slack) / (designed + m)
    truth = 1 - m * lie
    written = SolutionMatrix.exact(
        [[truth if x == y else lie for y in range(categories)] for x in range(categories)]
    )
    closed = TwoValuedPrivacy(truth, lie)
    assert written.privacy.odds == closed.odds == (designed + m * slack) / (1 - slack)
    assert written.privacy.delta_at_odds(odds) == closed.delta_at_odds(odds)
    assert closed.delta_at_odds(odds) == max(Fraction(0), 1 - (odds + m) * lie)
    assert closed.delta_at_odds(designed) == slack


def test_odds_of_thousands_of_bits_are_compared_as_they_are() -> None:
    # No float holds these, and the two levels differ by less than any float could say.
    big = 3**1000
    near = SolutionMatrix([[big, 1], [big - 1, 2]], big + 1)
    assert near.privacy.odds == 2
    far = SolutionMatrix([[big, 1], [1, big]], big + 1)
    assert far.privacy.odds == big
    assert not far.privacy.satisfies("40", "0")
    # 1000 ln 3 = 1098.612288668109691…
    assert far.privacy.epsilon == Decimal("1098.612288668110")


@pytest.mark.parametrize(("truth", "lie"), [("1/5", "4/5"), ("1/2", "0"), ("1/2", "-1/2")])
def test_two_values_that_are_no_truth_and_lie_are_refused(truth: str, lie: str) -> None:
    with pytest.raises(ValueError, match="0 < lie <= truth"):
        TwoValuedPrivacy(Fraction(truth), Fraction(lie))
    with pytest.raises(ValueError, match="odds"):  # the closed form is for odds of 1 and more
        TwoValuedPrivacy(Fraction(3, 5), Fraction(1, 5)).delta_at_odds(Fraction(1, 2))
