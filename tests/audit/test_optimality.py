"""How far a matrix is from the optimum: the published figures, and bounds that nothing beats."""

from fractions import Fraction
from itertools import combinations
from math import comb, exp, inf

import numpy as np
import pytest
from hypothesis import given, settings

from deniable.audit import (
    Criterion,
    Optimality,
    average_lie,
    compare,
    largest_lie,
    least_variance,
    odds_above,
    pure_level,
    tight_epsilon,
    total_variance,
)
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    RandomisedResponse,
    SolutionMatrix,
)
from tests.audit.matrices import G, deltas, entries, matrices, of_weights
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(60))


def subset_selection(categories: int, chosen: int, odds: Fraction) -> SolutionMatrix:
    """Return the matrix whose responses are all sets of a size, E times likelier with the truth."""
    sets = [set(c) for c in combinations(range(categories), chosen)]
    u, v = odds.numerator, odds.denominator
    return of_weights([[u if x in s else v for s in sets] for x in range(categories)])


def by_name(found: Optimality) -> dict[tuple[str, str], Criterion]:
    return {(c.name, c.against): c for c in found.criteria}


VARIANCE = "total variance"
RESPONSE = (VARIANCE, "randomised response")
ANY = (VARIANCE, "any mechanism")


# Published figures. They have five digits.


@pytest.mark.parametrize(
    ("epsilon", "categories", "expected"),
    [("0.5", 16, 616.53), ("1", 4, 7.5562), ("1", 16, 98.747), ("1", 128, 5653.7)],
)
def test_the_variance_of_randomised_response_is_the_published_one(
    epsilon: str, categories: int, expected: float
) -> None:
    mechanism = RandomisedResponse(categories, epsilon)
    closed = total_variance(mechanism)
    assert closed == pytest.approx(expected, rel=1e-5)
    # (E + k - 2)/(E - 1)^2 for each category, and (k - 2)/(E - 1) once.
    e, k = exp(float(epsilon)), categories
    formula = k * (e + k - 2) / (e - 1) ** 2 + (k - 2) / (e - 1)
    assert closed == pytest.approx(formula, rel=1e-9)
    assert total_variance(SolutionMatrix.of(mechanism)) == pytest.approx(formula, rel=1e-9)


def test_the_variance_of_subset_selection_is_the_published_one_and_the_bound() -> None:
    odds = Fraction(round(exp(1) * 10**6), 10**6)
    matrix = subset_selection(16, 4, odds)
    assert matrix.responses == comb(16, 4)
    assert total_variance(matrix) == pytest.approx(50.976, rel=1e-4)
    found = by_name(compare(matrix))
    assert found[ANY].ratio == pytest.approx(1, abs=1e-9)
    assert found[RESPONSE].ratio == pytest.approx(50.976 / 98.747, rel=1e-4)


@pytest.mark.parametrize(
    ("epsilon", "categories", "expected"),
    [
        ("0.5", 16, 219.44),
        ("1", 4, 7.5562),
        ("1", 16, 50.976),
        ("1", 128, 463.09),
        ("2", 128, 90.254),
        ("4", 1024, 76.706),
    ],
)
def test_the_least_variance_is_that_of_the_best_subset_selection(
    epsilon: str, categories: int, expected: float
) -> None:
    least = least_variance(categories, odds_above(epsilon))
    assert least is not None
    assert float(least) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("epsilon", "most"), [("0.5", 3), ("1", 5), ("2", 11), ("3", 29), ("4", 78)]
)
def test_randomised_response_has_the_least_variance_up_to_so_many_categories(
    epsilon: str, most: int
) -> None:
    def ratio(categories: int) -> float:
        criterion = by_name(compare(RandomisedResponse(categories, epsilon)))[ANY]
        assert criterion.ratio is not None
        return criterion.ratio

    assert ratio(most) == pytest.approx(1, abs=1e-12)
    assert ratio(most + 1) > 1 + 1e-4


def test_the_three_by_three_matrix_by_hand() -> None:
    found = compare(G)
    assert (found.odds, found.delta, found.holds) == (Fraction(5), Fraction(0), True)
    largest, average, *_ = found.criteria
    # Truths .6, .5 and .5; the optimum lies 2/(5 + 2) of the time.
    assert (largest.value, largest.optimum) == (Fraction(1, 2), Fraction(2, 7))
    assert (average.value, average.optimum) == (Fraction(7, 15), Fraction(2, 7))
    assert largest.ratio == 1.75
    at = compare(G, delta="0.05")
    assert at.odds == Fraction(9, 2)
    assert at.criteria[0].optimum == Fraction(2) * Fraction(95, 100) / (Fraction(9, 2) + 2)


def test_the_variance_is_that_of_the_exact_left_inverse() -> None:
    # G^-1 by hand of the definition: fixed data, f uniform.
    p = np.array([[float(e) for e in row] for row in entries(G)])
    f = np.full(3, 1 / 3)
    inverse = np.linalg.inv(p.T)
    single = np.diag(p.T @ f) - p.T @ np.diag(f) @ p
    expected = np.trace(inverse @ single @ inverse.T)
    assert total_variance(G) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("categories", [2, 3, 7])
@pytest.mark.parametrize("delta", ["0", "0.1"])
def test_randomised_response_is_its_own_optimum_exactly(categories: int, delta: str) -> None:
    mechanism = RandomisedResponse(categories, "1", delta)
    for matrix in (mechanism, SolutionMatrix.of(mechanism)):
        found = compare(matrix, delta=delta)
        largest, average, response, bound = found.criteria
        assert largest.value == largest.optimum
        assert average.value == average.optimum
        assert response.ratio == pytest.approx(1, abs=1e-12)
        assert bound.ratio is not None
        assert bound.ratio > 1 - 1e-12


@PROPERTY
@given(matrices(), deltas)
def test_no_matrix_beats_the_optimum_of_its_own_privacy(
    matrix: SolutionMatrix, delta: Fraction
) -> None:
    found = compare(matrix, delta=delta)
    assert found.holds
    assert found.odds == tight_epsilon(matrix, delta).odds
    for criterion in found.criteria:
        assert (criterion.reason == "") == (None not in {criterion.value, criterion.optimum})
        if criterion.ratio is not None and criterion.against != "randomised response":
            # Lies are exact; a variance is computed in floats, by a singular value decomposition.
            assert criterion.ratio >= (1 - 1e-9 if criterion.name == VARIANCE else 1)


# At an epsilon that is asked for


def test_at_an_epsilon_asked_for_it_is_said_whether_the_matrix_keeps_it() -> None:
    mechanism = RandomisedResponse(4, "1")
    assert compare(mechanism, "1").holds
    assert compare(mechanism, "1").odds == odds_above("1")
    assert compare(mechanism, "1.2").holds
    assert not compare(mechanism, "0.8").holds
    assert compare(mechanism, "0.8", "0.2").holds
    assert compare(mechanism, "0.8").criteria[0].ratio == pytest.approx(
        (3 / (exp(1) + 3)) / (3 / (exp(0.8) + 3)), rel=1e-9
    )
    with pytest.raises(InvalidPrivacyParameter):
        compare(mechanism, "-1")
    with pytest.raises(InvalidPrivacyParameter):
        compare(mechanism, "1", "1")


# Where a criterion says nothing, it says why


def test_only_square_matrices_lie() -> None:
    largest, average, *variances = compare(subset_selection(5, 2, Fraction(3))).criteria
    for criterion in (largest, average):
        assert criterion.value is None
        assert criterion.ratio is None
        assert "square" in criterion.reason
    assert all(criterion.ratio is not None for criterion in variances)


def test_without_an_inverse_there_is_no_variance() -> None:
    matrix = of_weights([[1, 2, 1], [2, 1, 1], [3, 3, 2]])  # the third is the mean of the others
    assert total_variance(matrix) is None
    assert total_variance(of_weights([[1, 1], [1, 2], [2, 1]])) is None  # more rows than columns
    unit = 10**14  # and what floating point cannot invert, the estimates refuse as well
    nearly = [[5 * unit, 3 * unit, 2 * unit], [5 * unit, 3 * unit + 3, 2 * unit - 3], [1, 2, 7]]
    assert total_variance(of_weights(nearly)) is None
    *_, response, bound = compare(matrix).criteria
    for criterion in (response, bound):
        assert criterion.value is None
        assert criterion.optimum is not None
        assert criterion.ratio is None
        assert "nothing can be estimated" in criterion.reason


def test_without_a_finite_epsilon_there_is_no_optimum() -> None:
    truth = of_weights([[1, 0], [0, 1]])
    found = compare(truth)
    assert found.odds is None
    assert [c.optimum for c in found.criteria] == [None] * 4
    assert {c.reason for c in found.criteria} == {"no finite epsilon holds with this delta"}
    assert found.criteria[0].value == 0


def test_a_delta_leaves_the_bound_only_to_matrices_that_are_pure_as_well() -> None:
    mixed = of_weights([[1, 9, 0], [0, 5, 5], [2, 2, 6]])
    assert pure_level(mixed).odds is None
    found = by_name(compare(mixed, delta="0.6"))
    assert found[RESPONSE].ratio is not None
    assert found[ANY].ratio is None
    assert "delta 0" in found[ANY].reason
    pure = by_name(compare(G, delta="0.3"))[ANY]
    assert pure.optimum == least_variance(3, Fraction(5))


def test_columns_that_never_occur_do_not_disturb_the_variance() -> None:
    padded = of_weights([[6, 0, 3, 1], [2, 0, 5, 3], [5, 0, 5, 10]])
    assert total_variance(padded) == pytest.approx(total_variance(G) or inf, rel=1e-12)


def test_odds_of_any_length_can_be_compared() -> None:
    grid = 10**900
    matrix = SolutionMatrix([[grid - 1, 1], [1, grid - 1]], grid)
    largest, average, response, bound = compare(matrix).criteria
    assert largest.ratio == average.ratio == 1
    assert response.optimum is not None
    assert bound.optimum == response.optimum
    assert largest_lie(matrix, Fraction(10**1000), Fraction(0)).ratio == pytest.approx(1e100)
    assert average_lie(matrix, Fraction(10**1300), Fraction(0)).ratio == inf


def test_a_mechanism_of_65_536_categories_is_compared_in_closed_form() -> None:
    largest, _, response, bound = compare(RandomisedResponse(65_536, "3")).criteria
    assert largest.ratio == 1
    assert response.ratio == pytest.approx(1, abs=1e-12)
    assert bound.ratio is not None
    assert bound.ratio > 100
