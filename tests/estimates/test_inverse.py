"""Debiasing: unbiased by enumeration, and in closed form what any left inverse gives."""

from fractions import Fraction
from math import comb, exp

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable.audit import total_variance
from deniable.estimates import (
    Model,
    NotInvertible,
    covariance,
    debias,
    left_inverse,
    solution_matrix,
)
from deniable.mechanisms import (
    Circular,
    ClampedGeometric,
    Mechanism,
    Ordinal,
    RandomisedResponse,
    SolutionMatrix,
)
from tests.estimates.matrices import (
    FORMULAS,
    MECHANISMS,
    incidence,
)
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(150))


def test_the_check_value_of_four_categories_at_odds_three() -> None:
    np.testing.assert_allclose(
        debias(FORMULAS, (60, 30, 20, 10)), (1, 0.25, 0, -0.25), rtol=0, atol=1e-15
    )


@PROPERTY
@given(st.integers(2, 50), st.sampled_from(["0.000001", "0.5", "3", "40"]), st.data())
def test_estimates_sum_to_one_whatever_was_counted(
    categories: int, epsilon: str, data: st.DataObject
) -> None:
    mechanism = RandomisedResponse(categories, epsilon)
    counts = data.draw(
        st.lists(st.integers(0, 10**12), min_size=categories, max_size=categories).filter(any)
    )
    estimate = debias(mechanism, counts)
    scale = max(1.0, float(np.abs(estimate).max()))
    assert abs(estimate.sum() - 1) <= 1e-14 * categories * scale


@pytest.mark.parametrize("epsilon", ["0.001", "0.000001", "0.000000000000001"])
@pytest.mark.parametrize("counts", [(501, 499), (10**9, 10**9 + 1), (1, 0), (3, 7)])
def test_nothing_cancels_at_a_very_small_epsilon(epsilon: str, counts: tuple[int, int]) -> None:
    mechanism = RandomisedResponse(2, epsilon)
    q, kappa = mechanism.lie, mechanism.contraction
    exact = [float((Fraction(c, sum(counts)) - q) / kappa) for c in counts]
    assert debias(mechanism, counts).tolist() == exact
    assert exact[0] != exact[1]


@pytest.mark.parametrize(
    "counts", [(), (1, 2, 3), (1, 2, 3, 4, 5), (0, 0, 0, 0), (5, -1, 0, 0), (-1, 0, 0, 0)]
)
@pytest.mark.parametrize(
    "mechanism", [FORMULAS, SolutionMatrix.of(FORMULAS)], ids=["closed", "general"]
)
def test_counts_that_allow_no_estimate_are_refused(
    mechanism: Mechanism, counts: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match=r"counts are expected|nothing to estimate|less than 0"):
        debias(mechanism, counts)


@pytest.mark.parametrize(
    "matrix",
    [
        incidence([{0}, {0}], 2, 3),
        SolutionMatrix.exact(
            ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)), (Fraction(1, 2),) * 2)
        ),
    ],
    ids=["equal rows", "fewer responses than categories"],
)
def test_categories_that_no_response_tells_apart_are_refused(matrix: SolutionMatrix) -> None:
    with pytest.raises(NotInvertible):
        debias(matrix, (3, 4))


@pytest.mark.parametrize("epsilon", ["0.1", "1", "8"])
@pytest.mark.parametrize("kind", [Ordinal, Circular, ClampedGeometric])
def test_the_inverse_of_two_hundred_categories_undoes_the_matrix(
    kind: type[Ordinal | Circular | ClampedGeometric], epsilon: str
) -> None:
    matrix = solution_matrix(kind.calibrated(200, epsilon))
    np.testing.assert_allclose(left_inverse(matrix) @ matrix.T, np.eye(200), atol=1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        *MECHANISMS.values(),
        SolutionMatrix([[2**64, 0], [1, 2**64 - 1]], 2**64),
        SolutionMatrix([[10**400, 2 * 10**400], [10**400 + 1, 2 * 10**400 - 1]], 3 * 10**400),
    ],
    ids=[*MECHANISMS, "degenerate", "vast grid"],
)
def test_the_solution_matrix_holds_each_probability_rounded_once(mechanism: Mechanism) -> None:
    assert solution_matrix(mechanism).tolist() == [
        [float(mechanism.probability(x, y)) for y in range(mechanism.responses)]
        for x in range(mechanism.categories)
    ]


def test_a_matrix_that_floats_cannot_invert_is_refused_with_what_to_do() -> None:
    hardly = ClampedGeometric(200, Fraction(2**62 - 2**30, 2**62))
    with pytest.raises(NotInvertible, match=r"condition number .*; raise epsilon or use fewer"):
        debias(hardly, [1] * 200)


def test_a_response_that_never_occurs_leaves_too_few() -> None:
    with pytest.raises(NotInvertible, match="fewer responses occur"):
        left_inverse(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.125, 0.875, 0.0]]))


# More responses than categories


@st.composite
def split_matrices(draw: st.DrawFn) -> tuple[SolutionMatrix, SolutionMatrix, list[int]]:
    """Return a matrix, the same with responses split into parts, and whose part each part is."""
    k = draw(st.integers(2, 4))
    columns = draw(
        st.lists(
            st.lists(st.integers(0, 50), min_size=k, max_size=k), min_size=k - 1, max_size=k + 3
        )
    )
    # A last column makes up for rows of different sums.
    sums = [sum(column[x] for column in columns) for x in range(k)]
    columns.append([max(sums) + 1 - total for total in sums])
    whole = SolutionMatrix.exact(
        [[Fraction(column[x], max(sums) + 1) for column in columns] for x in range(k)]
    )
    parts = [draw(st.lists(st.integers(1, 99), min_size=1, max_size=3)) for _ in columns]
    split = SolutionMatrix.exact(
        [
            [
                whole.probability(x, y) * Fraction(part, sum(parts[y]))
                for y in range(whole.responses)
                for part in parts[y]
            ]
            for x in range(k)
        ]
    )
    return whole, split, [y for y, shares in enumerate(parts) for _ in shares]


def well_conditioned(mechanism: Mechanism) -> bool:
    """Tell whether rounding errors of 1e-16 stay far below 1e-9."""
    return float(np.linalg.cond(solution_matrix(mechanism))) < 10**4


@PROPERTY
@given(split_matrices(), st.data())
def test_only_likelihoods_count_and_the_variance_is_the_least(
    matrices: tuple[SolutionMatrix, SolutionMatrix, list[int]], data: st.DataObject
) -> None:
    whole, split, origin = matrices
    assume(well_conditioned(whole))
    k, matrix = split.categories, solution_matrix(split)
    inverse = left_inverse(matrix)
    np.testing.assert_allclose(inverse @ matrix.T, np.eye(k), rtol=0, atol=1e-9)
    occurring = matrix.any(axis=0)
    np.testing.assert_allclose(inverse.sum(axis=0), occurring, rtol=0, atol=1e-9)
    # However the reports of a response are distributed over its parts:
    many = len(origin)
    counts = data.draw(st.lists(st.integers(0, 1000), min_size=many, max_size=many).filter(any))
    merged = [sum(c for c, y in zip(counts, origin, strict=True) if y == z) for z in set(origin)]
    np.testing.assert_allclose(debias(split, counts), debias(whole, merged), rtol=0, atol=1e-9)
    # Any other left inverse adds some N with N P^T = 0 to it.
    other = np.linalg.pinv(matrix.T)
    noise = data.draw(st.lists(st.floats(-9, 9), min_size=many, max_size=many))
    other += np.outer(np.ones(k), noise) @ (np.eye(many) - matrix.T @ other)
    mass = matrix.sum(axis=0)
    assert ((other**2 - inverse**2) @ mass >= -1e-9 * (inverse**2 @ mass)).all()
    total = total_variance(split)
    assert total == pytest.approx(float((inverse**2).sum(axis=0) @ mass) / k - 1, rel=1e-12)
    assert total == pytest.approx(total_variance(whole), rel=1e-9, abs=1e-9)


def unary(categories: int, epsilon: float) -> SolutionMatrix:
    """Return optimised unary encoding: bits, 1 with 1/2 for the answer, else with 1/(E + 1)."""
    lie = 1 / (exp(epsilon) + 1)
    one = np.full((categories, categories), lie)
    np.fill_diagonal(one, 0.5)
    rows = np.ones((categories, 1))
    for bit in one.T[..., None]:
        rows = np.hstack([rows * (1 - bit), rows * bit])
    return SolutionMatrix.approximate(rows.tolist())


@pytest.mark.parametrize(("categories", "expected"), [(6, 18.8), (8, 26.1), (12, 40.7)])
def test_unary_encoding_as_a_matrix_has_the_least_variance_in_closed_form(
    categories: int, expected: float
) -> None:
    # With E = (1 - q)/q, a response of w ones has the probability uE if the answer's bit is one of
    # them and u else, u = q^w (1 - q)^(k-1-w) / 2. So C = P D^-1 P^T has the trace
    #   tr C = sum_w (k over w) u (w E^2 + k - w)/(w E + k - w).
    # It treats all categories alike, and C 1 = 1: its other eigenvalues are t = (tr C - 1)/(k - 1),
    # and n times the variances, tr C^-1 / k of sampled data less 1, are (1 + (k - 1)/t)/k - 1.
    k, e = categories, exp(1)
    q = 1 / (e + 1)
    trace = sum(
        comb(k, w) * q**w * (1 - q) ** (k - 1 - w) / 2 * (w * e * e + k - w) / (w * e + k - w)
        for w in range(k + 1)
    )
    least = (1 + (k - 1) ** 2 / (trace - 1)) / k - 1
    assert least == pytest.approx(expected, abs=0.05)
    matrix = unary(k, 1)
    assert total_variance(matrix) == pytest.approx(least, rel=1e-9)
    uniform = np.full(k, 1 / k)
    attained = covariance(matrix, uniform, 1, Model.FIXED).trace()
    assert attained == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("split", [1, 3])
def test_a_matrix_nearly_singular_is_refused_whatever_its_shape(split: int) -> None:
    near = np.array([[0.5, 0.3, 0.2], [0.5, 0.3 + 3e-14, 0.2 - 3e-14], [0.1, 0.2, 0.7]])
    matrix = np.repeat(near / split, split, axis=1)
    with pytest.raises(NotInvertible, match=r"condition number .*; raise epsilon or use fewer"):
        left_inverse(matrix)
    assert left_inverse(np.repeat(near[1:] / split, split, axis=1)).shape == (2, 3 * split)
