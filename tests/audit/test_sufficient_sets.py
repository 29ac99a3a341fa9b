"""Sufficient sets: each rule decides what a check of every set decides, with fewer checks."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import chain, combinations, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import (
    Checks,
    Condition,
    Database,
    DiscreteExponential,
    ExponentialSum,
    HammingUtility,
    ProductMechanism,
    SanitisedDatabase,
    TheoremDoesNotApply,
    TooManySets,
    corollary_1,
    corollary_2,
    count_checks,
    is_private,
    larger_set,
    level_sets,
    parent_matrix,
    theorem_2,
    theorem_2_plus,
)
from tests.audit.matrices import EXAMPLE_2, ONE, term
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(25))


def circular_distance(true: Database, response: Database) -> int:
    """Return -(distance on the integers modulo 7), row by row."""
    return -sum(min((x - y) % 7, (y - x) % 7) for x, y in zip(true, response, strict=True))


# The counterexample to Corollary 1 with delta > 0: weights 2^-distance, so all is rational.
CIRCLE = DiscreteExponential(7, 1, circular_distance, base=2)


def table_utility(entries: list[list[Fraction]], rows: int) -> DiscreteExponential:
    """Return a mechanism of two categories whose utility is an arbitrary table."""

    def number(database: Database) -> int:
        return int("".join(map(str, database)), 2)

    return DiscreteExponential(2, rows, lambda d, s: entries[number(d)][number(s)])


def circulant(steps: list[Fraction]) -> DiscreteExponential:
    """Return a mechanism of one row whose utility depends on s - d alone: C_d is constant."""
    k = len(steps)
    return DiscreteExponential(k, 1, lambda d, s: steps[(s[0] - d[0]) % k])


def private_by_every_set(mechanism: SanitisedDatabase, condition: Condition) -> bool:
    """Tell whether P_d(A) <= E P_d'(A) + delta for every pair and *every* set A.

    From the weights alone, set after set, without any of the package's rules.
    """
    total = {
        d: ExponentialSum.total(mechanism.weight(d, s) for s in mechanism.databases)
        for d in mechanism.databases
    }
    for d, other in mechanism.pairs():
        margins = [-condition.delta * (total[d] * total[other])]
        for s in mechanism.databases:
            mine = mechanism.weight(d, s) * total[other]
            gain = mine - condition.odds * mechanism.weight(other, s) * total[d]
            margins += [margin + gain for margin in margins]
        if any(margin.sign() > 0 for margin in margins):
            return False
    return True


def passes(
    mechanism: SanitisedDatabase,
    condition: Condition,
    pair: tuple[Database, Database],
    responses: Iterable[Database],
) -> bool:
    """Tell whether P_d(A) <= E P_d'(A) + delta for one pair and one set."""
    gains = mechanism.gains(condition.odds, *pair)
    allowed = condition.delta * mechanism.scale(*pair)
    return (ExponentialSum.total(gains[s] for s in responses) - allowed).sign() <= 0


def test_example_2_needs_924_checks_with_theorem_2_and_36_with_one_set_a_pair() -> None:
    condition = Condition.at(0)
    by_subsets = count_checks(EXAMPLE_2, condition, theorem_2)
    assert by_subsets == Checks({7: 24, 63: 12}, without=36 * (2**9 - 2))
    assert by_subsets.total == 24 * 7 + 12 * 63 == 924
    assert count_checks(EXAMPLE_2, condition, theorem_2_plus) == Checks({1: 36}, 18_360)


conditions = st.builds(
    Condition.at,
    st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2)]),
    st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 5), Fraction(1, 2)]),
)
halves = st.integers(-2, 2).map(lambda n: Fraction(n, 2))


@PROPERTY
@given(
    st.integers(1, 2).flatmap(
        lambda rows: st.lists(
            st.lists(halves, min_size=2**rows, max_size=2**rows), min_size=2**rows, max_size=2**rows
        ).map(lambda entries: table_utility(entries, rows))
    ),
    conditions,
)
def test_theorem_2_and_its_strengthening_decide_what_every_set_decides(
    mechanism: DiscreteExponential, condition: Condition
) -> None:
    expected = private_by_every_set(mechanism, condition)
    for rule in (theorem_2, theorem_2_plus):
        assert is_private(mechanism, condition, rule) == expected


@PROPERTY
@given(st.lists(halves, min_size=2, max_size=4).map(circulant), conditions)
def test_corollary_1_decides_what_every_set_decides_without_delta(
    mechanism: DiscreteExponential, condition: Condition
) -> None:
    pure = Condition(condition.odds, Fraction(0))
    assert is_private(mechanism, pure, corollary_1) == private_by_every_set(mechanism, pure)
    # A tie at the tight level is still private, by every rule.
    tight = Condition.at(mechanism.tight_epsilon())
    assert is_private(mechanism, tight, corollary_1)
    assert is_private(mechanism, tight, theorem_2)
    assert private_by_every_set(mechanism, tight)


@PROPERTY
@given(st.lists(halves, min_size=3, max_size=5).map(circulant), conditions)
def test_theorem_3_a_level_that_passes_carries_all_its_subsets_whatever_delta(
    mechanism: DiscreteExponential, condition: Condition
) -> None:
    for pair in islice(mechanism.pairs(), 4):  # the others are turned alike
        levels, larger = level_sets(mechanism, *pair), larger_set(mechanism, *pair)
        assert frozenset(chain.from_iterable(levels.values())) == larger
        assert sum(map(len, levels.values())) == len(larger)
        for level in levels.values():
            if passes(mechanism, condition, pair, level):
                subsets = (combinations(level, size) for size in range(len(level)))
                for subset in chain.from_iterable(subsets):
                    assert passes(mechanism, condition, pair, subset)


def test_corollary_1_is_false_with_delta_every_level_passes_and_their_union_does_not() -> None:
    pair, condition = ((0,), (2,)), Condition.at(0, Fraction(9, 22))
    levels, union = level_sets(CIRCLE, *pair), larger_set(CIRCLE, *pair)
    assert levels == {2: {(0,), (6,)}, 1: {(5,)}}
    assert all(passes(CIRCLE, condition, pair, level) for level in levels.values())
    assert union == {(0,), (5,), (6,)}
    assert not passes(CIRCLE, condition, pair, union)
    with pytest.raises(TheoremDoesNotApply, match=r"theorem_2_plus.*modulo 7.*9/22.*5/11"):
        is_private(CIRCLE, condition, corollary_1)
    # All normalisers are 11/4. The first level is a tie at 9/22; the union needs 5/11 = 10/22.
    gains, scale = CIRCLE.gains(ONE, *pair), term(Fraction(121, 16))
    assert CIRCLE.normaliser(pair[0]) * CIRCLE.normaliser(pair[1]) == scale
    for responses, needed in ((levels[Fraction(2)], Fraction(9, 22)), (union, Fraction(5, 11))):
        assert ExponentialSum.total(gains[s] for s in responses) == needed * scale
    assert passes(CIRCLE, Condition.at(0, Fraction(5, 11)), pair, union)
    assert not is_private(CIRCLE, condition)


@pytest.mark.parametrize(("categories", "rows"), [(2, 1), (2, 3), (3, 2), (5, 1)])
@pytest.mark.parametrize("theta", [Fraction(1, 2), Fraction(3)])
def test_corollary_2_names_one_set_of_k_to_the_n_minus_1_databases(
    categories: int, rows: int, theta: Fraction
) -> None:
    mechanism = DiscreteExponential(categories, rows, HammingUtility(theta))
    for true, other in mechanism.pairs():
        (only,) = corollary_2(mechanism, Condition.at(1), true, other)
        assert len(only) == categories ** (rows - 1)
        assert only == larger_set(mechanism, true, other)
        assert level_sets(mechanism, true, other) == {theta: only}
    pairs = categories**rows * rows * (categories - 1)
    assert count_checks(mechanism, Condition.at(1), corollary_2).pairs_by_sets == {1: pairs}
    assert count_checks(mechanism, Condition.at(1), corollary_1).pairs_by_sets == {1: pairs}


@pytest.mark.parametrize(("categories", "rows"), [(2, 2), (3, 1)])
@pytest.mark.parametrize("theta", [Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3, 4)])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 8), Fraction(1, 3)])
def test_corollary_2_decides_what_every_set_decides_with_delta_too(
    categories: int, rows: int, theta: Fraction, epsilon: Fraction, delta: Fraction
) -> None:
    mechanism = DiscreteExponential(categories, rows, HammingUtility(theta))
    condition = Condition.at(epsilon, delta)
    expected = private_by_every_set(mechanism, condition)
    assert is_private(mechanism, condition, corollary_2) == expected
    assert is_private(mechanism, condition, theorem_2_plus) == expected
    if delta == 0:
        assert expected == (theta <= epsilon)


@pytest.mark.parametrize("utility", [HammingUtility(0), HammingUtility(-1), circular_distance])
def test_corollary_2_is_refused_for_another_utility_or_theta_0(
    utility: Callable[[Database, Database], Fraction | int],
) -> None:
    # At theta = 0 the larger set is empty, and the corollary's set is not it.
    mechanism = DiscreteExponential(3, 1, utility)
    with pytest.raises(TheoremDoesNotApply, match="theta > 0"):
        is_private(mechanism, Condition.at(1), corollary_2)
    for pair in (((0,), (0,)), ((0, 0), (1, 1))):
        hamming = DiscreteExponential(2, len(pair[0]), HammingUtility(1))
        with pytest.raises(TheoremDoesNotApply, match="one row"):
            list(corollary_2(hamming, Condition.at(1), *pair))
    with pytest.raises(TheoremDoesNotApply, match="same normaliser"):
        level_sets(EXAMPLE_2, (0, 0), (1, 0))


def test_theorem_2_refuses_more_subsets_than_it_can_enumerate() -> None:
    mechanism = ProductMechanism(parent_matrix(2, Fraction(1, 3)), 5)
    with pytest.raises(TooManySets, match="theorem_2_plus"):
        is_private(mechanism, Condition.at(1), theorem_2)
    assert is_private(mechanism, Condition.at_odds(2))
