"""Mechanisms on whole databases: their probabilities, ties and tight levels, all exact."""

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import (
    Condition,
    Database,
    DiscreteExponential,
    ExponentialRatio,
    HammingUtility,
    MatrixMechanism,
    NoFiniteEpsilon,
    ProductMechanism,
    SanitisedDatabase,
    SolutionMatrix,
    TooManyDatabases,
    distance_utility,
    hamming_constant,
    hamming_distance,
    is_private,
    parent_matrix,
    pure_level,
)
from deniable.mechanisms import InvalidPrivacyParameter
from tests.audit.matrices import EXAMPLE_2, ONE, mechanisms, rational, term
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(30))

WEIGHTS = {
    2: ((3, 1), (2, 2), (1, 3)),
    3: ((6, 3, 1), (2, 5, 3), (1, 1, 2)),
    4: ((4, 2, 1, 1), (1, 4, 2, 1), (1, 1, 2, 4)),
}


ZERO, ONE_ = Fraction(0), Fraction(1)
IDENTITY = ((ONE_, ZERO), (ZERO, ONE_))


def probability(mechanism: SanitisedDatabase, true: Database, response: Database) -> Fraction:
    """Return a rational probability."""
    return rational(mechanism.likelihood(true, [response]))


@pytest.mark.parametrize(("categories", "rows"), [(2, 1), (2, 3), (3, 2), (5, 1)])
def test_neighbours_are_the_databases_at_hamming_distance_one(categories: int, rows: int) -> None:
    mechanism = DiscreteExponential(categories, rows, distance_utility)
    databases = mechanism.databases
    assert databases == tuple(sorted(product(range(categories), repeat=rows)))
    for d in databases:
        found = list(mechanism.neighbours(d))
        assert len(found) == len(set(found)) == rows * (categories - 1)
        assert set(found) == {s for s in databases if hamming_distance(d, s) == 1}
    assert len(list(mechanism.pairs())) == len(databases) * rows * (categories - 1)


def test_example_2_is_tightly_2_private_where_mcsherry_and_talwar_bound_it_by_4() -> None:
    assert EXAMPLE_2.tight_odds() == ExponentialRatio(term(1, 2), ONE)
    assert EXAMPLE_2.tight_epsilon() == 2
    assert 2 * EXAMPLE_2.sensitivity() == 4


def test_a_tight_level_that_is_not_rational_is_rounded_up() -> None:
    # Responses to 1 are uniform, to 0 in the ratio e : 1. The largest ratio is (1 + e)/2, and
    # ln((1 + e)/2) = .620114506958278…
    def utility(d: Database, s: Database) -> int:
        return int(d == s == (0,))

    mechanism = DiscreteExponential(2, 1, utility)
    assert mechanism.tight_odds() == ExponentialRatio(ONE + term(1, 1), term(2))
    assert mechanism.tight_epsilon() == Fraction("0.620114506959")


@pytest.mark.parametrize("theta", ["0", "2.25"])
@pytest.mark.parametrize(("categories", "rows"), [(2, 3), (3, 2), (6, 1)])
def test_hamming_utilities_have_the_constant_of_proposition_1_and_are_theta_private(
    theta: str, categories: int, rows: int
) -> None:
    exponent = Fraction(theta)
    mechanism = DiscreteExponential(categories, rows, HammingUtility(exponent))
    constant, d = hamming_constant(theta, categories, rows), mechanism.databases[1]
    for s in mechanism.databases:
        # Proposition 1's constant multiplies, Definition 3's divides: they are inverse.
        assert constant == ExponentialRatio(ONE, mechanism.normaliser(s))
        weight = term(1, -exponent * hamming_distance(d, s)) * constant.numerator
        assert mechanism.likelihood(d, [s]) == ExponentialRatio(weight, constant.denominator)
    assert mechanism.constant_normaliser
    assert mechanism.tight_epsilon() == mechanism.sensitivity() == exponent


def test_a_response_that_rules_a_neighbour_out_leaves_no_finite_epsilon() -> None:
    with pytest.raises(NoFiniteEpsilon, match="positive delta"):
        ProductMechanism(IDENTITY, 2).tight_odds()


def exponential(categories: Any, rows: Any, base: Any = None) -> DiscreteExponential:
    return DiscreteExponential(categories, rows, distance_utility, base)


HALVES = HammingUtility(Fraction(1, 2))
UNSUITED: list[tuple[type[Exception], str, Callable[[], object]]] = [
    (TypeError, "not float", lambda: Condition.at(0.5)),  # type: ignore[arg-type]
    (TypeError, "not float", lambda: Condition.at("1", 0.1)),  # type: ignore[arg-type]
    (TypeError, "not float", lambda: Condition.at_odds(2.0)),  # type: ignore[arg-type]
    (TypeError, "not float", lambda: Condition(term(2), 0.1)),  # type: ignore[arg-type]
    (TypeError, "not float", lambda: hamming_constant(0.5, 2, 1)),  # type: ignore[arg-type]
    (TypeError, "not float", lambda: exponential(2, 1, base=2.0)),
    (InvalidPrivacyParameter, "epsilon", lambda: Condition.at(Fraction(-1, 10**9))),
    (InvalidPrivacyParameter, "odds", lambda: Condition.at_odds(Fraction(99, 100))),
    (InvalidPrivacyParameter, "delta", lambda: Condition.at(1, 1)),
    (InvalidPrivacyParameter, "delta", lambda: Condition.at(1, Fraction(-1, 2))),
    (ValueError, "base must be above 1", lambda: exponential(2, 1, base=1)),
    (ValueError, "base must be above 1", lambda: exponential(2, 1, base=Fraction(1, 2))),
    (ValueError, "base must be above 1", lambda: exponential(2, 1, base=-2)),
    (ValueError, "whole utilities", DiscreteExponential(2, 1, HALVES, 2).tight_odds),
    (ValueError, "at least 2 categories and 1 row", lambda: exponential(1, 1)),
    (ValueError, "at least 2 categories and 1 row", lambda: exponential(2, 0)),
    (TypeError, "be ints", lambda: exponential(2.0, 1)),
    (TypeError, "be ints", lambda: exponential(2, True)),
    (ValueError, "sum to 1 each", lambda: ProductMechanism(((ONE_, ZERO), (ONE_,)), 1)),
    (ValueError, "sum to 1 each", lambda: ProductMechanism(((ONE_, ONE_), (ZERO, ONE_)), 1)),
    (ValueError, "sum to 1 each", lambda: ProductMechanism(((2 * ONE_, -ONE_), (ZERO, ONE_)), 1)),
    (ValueError, "must have a row for each", lambda: MatrixMechanism(3, 2, evenly(4))),
    (ValueError, "must have a row for each", lambda: MatrixMechanism(3, 2, evenly(8))),
]


def evenly(rows: int) -> SolutionMatrix:
    return SolutionMatrix([[1] * 9] * rows, 9)


@pytest.mark.parametrize(("error", "reason", "make"), UNSUITED)
def test_what_is_inexact_or_outside_its_domain_is_refused(
    error: type[Exception], reason: str, make: Callable[[], object]
) -> None:
    with pytest.raises(error, match=reason):
        make()


@pytest.mark.parametrize("base", [None, 2])
@pytest.mark.parametrize("wrong", [1.0, 0.5, True, "1"])
def test_a_utility_that_is_not_exact_is_refused(base: int | None, wrong: object) -> None:
    mechanism = DiscreteExponential(2, 1, lambda _d, _s: wrong, base)  # type: ignore[arg-type, return-value]
    for ask in (mechanism.tight_odds, mechanism.sensitivity):
        with pytest.raises(TypeError, match="must be a Fraction or an int"):
            ask()


@pytest.mark.parametrize(("categories", "rows"), [(2, 9), (257, 1), (3, 6)])
def test_more_databases_than_can_be_compared_answer_but_are_not_judged(
    categories: int, rows: int
) -> None:
    mechanism = ProductMechanism(parent_matrix(categories, Fraction(1, 2 * categories)), rows)
    kept = Fraction(categories + 1, 2 * categories) ** rows
    d = mechanism.databases[-1]
    assert mechanism.likelihood(d, [d]) == ExponentialRatio(term(kept), ONE)
    for judge in (mechanism.tight_odds, lambda: mechanism.constant_normaliser):
        with pytest.raises(TooManyDatabases, match="Theorem 6"):
            judge()


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("values", [2, 3, 4])
def test_responses_need_not_be_databases(rows: int, values: int) -> None:
    parent = tuple(tuple(Fraction(w, sum(law)) for w in law) for law in WEIGHTS[values])
    product_, matrix = ProductMechanism(parent, rows), SolutionMatrix.exact(parent)
    if rows == 2:
        laws = [[p * q for p in one for q in two] for one in parent for two in parent]
        matrix = SolutionMatrix.exact(laws)
    whole = MatrixMechanism(3, rows, matrix)
    assert len(product_.responses) == len(whole.responses) == values**rows
    for d, s in product(whole.databases, whole.responses):
        assert probability(whole, d, s) == probability(product_, d, s)
    # Theorem 6: as private as the parent.
    level = pure_level(SolutionMatrix.exact(parent)).odds
    assert level is not None
    assert whole.tight_odds() == product_.tight_odds() == ExponentialRatio(term(level), ONE)
    assert is_private(whole, Condition.at_odds(level))
    assert not is_private(whole, Condition.at_odds(level - Fraction(1, 10**9)))


@PROPERTY
@given(mechanisms(), st.lists(st.fractions(0, 9), min_size=8, max_size=8))
def test_an_expected_error_is_the_mean_over_the_row(
    mechanism: MatrixMechanism, errors: list[Fraction]
) -> None:
    error = dict(zip(mechanism.databases, errors, strict=False))
    for x, d in enumerate(mechanism.databases):
        row = mechanism.matrix.row(x)
        mean = Fraction(sum(w * e for w, e in zip(row, errors, strict=False)), sum(row))
        assert mechanism.expected(d, error.__getitem__) == ExponentialRatio(term(mean), ONE)


@PROPERTY
@given(mechanisms(), st.integers(0, 2**192 - 1), st.data())
def test_a_sample_is_the_response_into_whose_share_the_drawn_point_falls(
    mechanism: MatrixMechanism, point: int, data: st.DataObject
) -> None:
    x = data.draw(st.integers(0, len(mechanism.databases) - 1))
    row = mechanism.matrix.row(x)
    # The inverse of the cumulated row, at a point with 192 places.
    ends = [Fraction(end, mechanism.matrix.grid) for end in accumulate(row)]
    (s, *_) = (
        s for s, end in zip(mechanism.databases, ends, strict=True) if Fraction(point, 2**192) < end
    )
    words = iter([point >> 128, point >> 64 & 2**64 - 1, point & 2**64 - 1])
    assert mechanism.randomise(mechanism.databases[x], words.__next__) == s
