"""Any matrix: what is refused as one, its exact algebra, and its sampler counted out."""

import copy
import pickle
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import InvalidMatrix, NotOnGrid, SolutionMatrix
from deniable.mechanisms import MAX_DENSE, Number, RandomisedResponse
from tests.mechanisms.laws import (
    WORDS,
    assert_samples_its_rows,
    assert_sound_rows,
    entries,
    matrices,
    undrawable,
    word,
)
from tests.support.effort import effort

PROPERTY = settings(max_examples=effort(80))


G = SolutionMatrix.exact([["0.6", "0.3", "0.1"], ["0.2", "0.5", "0.3"], ["0.25", "0.25", "0.5"]])
TWO = SolutionMatrix([[3, 1], [1, 3]], 4)


# Zeros, certainties and equal rows among them.
PATTERNS: dict[str, SolutionMatrix] = {
    "one by one": SolutionMatrix([[7]], 7),
    "one category": SolutionMatrix([[1, 0, 2]], 3),
    "one response": SolutionMatrix([[3], [3]], 3),
    "certain": SolutionMatrix([[1, 0], [0, 1]], 1),
    "wide": SolutionMatrix([[3, 3, 1, 1], [1, 3, 3, 1], [3, 1, 1, 3]], 8),
    "tall": SolutionMatrix([[5, 2], [0, 7], [7, 0], [1, 6], [1, 6]], 7),
    "skewed": G,
    "silent columns": SolutionMatrix([[0, 1, 0, 2, 0], [0, 2, 0, 1, 0]], 3),
}


def product(one: SolutionMatrix, two: SolutionMatrix) -> list[list[Fraction]]:
    left, right = entries(one), entries(two)
    return [
        [
            sum((p * right[z][y] for z, p in enumerate(row)), Fraction(0))
            for y in range(len(right[0]))
        ]
        for row in left
    ]


def identity(categories: int) -> SolutionMatrix:
    return SolutionMatrix([[int(x == y) for y in range(categories)] for x in range(categories)], 1)


@pytest.mark.parametrize(
    ("weights", "grid", "row", "reason"),
    [
        ([[1, 1], [2, 1]], 2, 1, "does not sum to 1 exactly, but to about 1.5"),
        *(([[1, 0], [1, 1], [3, 0]], 2, 0, "about 0.5"), ([[0, 0]], 2, 0, "about 0")),
        *(([[2, 0], [3, -1]], 2, 1, "negative"), ([[-1, 3], [0, 0]], 2, 0, "negative")),
        ([[1, 1], [2]], 2, 1, "has 1 entries instead of 2"),
        ([[1, 1], [1, 1], [1, 1, 0]], 2, 2, "has 3 entries instead of 2"),
        *(([[1, 1], []], 2, 1, "1 to 4096 entries"), ([[]], 2, 0, "1 to 4096 entries")),
        ([[2**64, 1]], 2**64, 0, "does not sum to 1 exactly, but to about 1$"),
        *(([], 2, None, "1 to 4096 rows"), ([[0]], 0, None, "positive")),
        ([[-1]], -1, None, "positive"),
    ],
)
def test_what_is_no_matrix_is_refused_by_the_first_row_at_fault(
    weights: list[list[int]], grid: int, row: int | None, reason: str
) -> None:
    with pytest.raises(InvalidMatrix, match=reason) as refusal:
        SolutionMatrix(weights, grid)
    assert refusal.value.row == row
    assert str(refusal.value).startswith(f"row {row} " if row is not None else "")


def test_matrices_have_up_to_4096_rows_and_columns() -> None:
    assert MAX_DENSE == 4096
    tall, wide = SolutionMatrix([[1]] * 4096, 1), SolutionMatrix([[1] * 4096], 4096)
    assert (tall.categories, wide.responses) == (4096, 4096)
    vast = [[Fraction(1, 2**1000 + 2 * i + 1) for i in range(80)]]  # would fill the memory
    refused: list[tuple[str, Callable[[], object]]] = [
        ("1 to 4096 rows", lambda: SolutionMatrix([[1]] * 4097, 1)),
        ("row 0 must have 1 to 4096 entries", lambda: SolutionMatrix([[1] * 4097], 4097)),
        ("at most 4096", lambda: SolutionMatrix.of(RandomisedResponse(4097, "1"))),
        ("common denominator", lambda: SolutionMatrix.exact(vast)),
        ("far more", lambda: SolutionMatrix([[10**400]], 1)),  # beyond floats
        ("far more", lambda: SolutionMatrix.approximate([[1e308] * 4])),
        ("far more", lambda: SolutionMatrix.exact([[Fraction(2**1023)] * 2])),
    ]
    for reason, make in refused:
        with pytest.raises(InvalidMatrix, match=reason):
            make()


@pytest.mark.parametrize("entry", [0.5, np.float64(0.5), 1.0, float("nan"), True, None, 1 + 0j])
def test_exact_takes_no_float_nor_anything_else_inexact(entry: object) -> None:
    with pytest.raises(TypeError, match="a probability must be"):
        SolutionMatrix.exact([[entry, "0.5"]])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ([["0.5", "0.5"], ["0.5", "0.499999999999999999"]], 1),
        ([[Fraction(1, 3)] * 3, ["0.333", "0.333", "0.333"]], 1),
        ([["1"], ["0.5", "0.5"]], 1),
        ([[Decimal("-0.1"), Decimal("1.1")]], 0),
        ([[]], 0),
        ([], None),
    ],
)
def test_exact_names_the_row_that_is_not_exactly_a_distribution(
    rows: list[list[Number]], row: int | None
) -> None:
    with pytest.raises(InvalidMatrix) as refusal:
        SolutionMatrix.exact(rows)
    assert refusal.value.row == row


@pytest.mark.parametrize(
    ("rows", "row", "reason"),
    [
        ([[0.5, 0.5], [0.5, 0.4]], 1, "sums to about 0.9"),
        ([[0.5, 0.5 + 2e-9]], 0, "sums to about 1.000000002"),
        *(([[1.0], [nan]], 1, "not a finite number"), ([[inf, 0.0]], 0, "not a finite number")),
        ([[0.5, 0.5], [-inf, inf]], 1, "not a finite number"),
        *(([[1.5, -0.5]], 0, "negative"), ([[1.0 + 1e-300, -1e-300]], 0, "negative")),
        *(([[0.5, 0.5], []], 1, "empty"), ([[0.5, 0.5], [1.0]], 1, "has 1 entries")),
        ([], None, "rows"),
    ],
)
def test_approximate_names_the_row_that_is_no_distribution(
    rows: list[list[float]], row: int | None, reason: str
) -> None:
    with pytest.raises(InvalidMatrix, match=reason) as refusal:
        SolutionMatrix.approximate(rows)
    assert refusal.value.row == row


@pytest.mark.parametrize("bits", [-1, 0, 65])
def test_a_grid_has_1_to_64_bits(bits: int) -> None:
    with pytest.raises(ValueError, match=r"bits must be in \[1, 64\]"):
        SolutionMatrix.approximate([[1.0]], bits=bits)
    with pytest.raises(ValueError, match=r"bits must be in \[1, 64\]"):
        G.certified("2", bits=bits)


@PROPERTY
@given(matrices((1, 4), (1, 6), 1000), st.integers(1, 64))
def test_approximate_is_within_1_of_the_floats_on_any_grid(
    matrix: SolutionMatrix, bits: int
) -> None:
    floats = [[float(entry) for entry in row] for row in entries(matrix)]
    rounded = SolutionMatrix.approximate(floats, bits=bits)
    assert rounded.grid == 1 << bits
    for x, row in enumerate(floats):
        total = sum(map(Fraction, row))
        for weight, entry in zip(rounded.row(x), row, strict=True):
            assert abs(weight - Fraction(entry) / total * rounded.grid) < 1


def test_approximate_takes_numpy_rows_and_zeros_of_either_sign() -> None:
    given = np.array([[0.25, 0.75, -0.0], [1.0, 0.0, 5e-324]])
    matrix = SolutionMatrix.approximate(given)
    assert list(matrix.row(0)) == [1 << 62, 3 << 62, 0]
    assert list(matrix.row(1)) == [1 << 64, 0, 0]


def test_rows_can_be_changed_neither_through_the_view_nor_through_what_was_given() -> None:
    weights = [[1, 3], [4, 0]]
    big = [[2**64, 0], [1, 2**64 - 1]]
    for rows, grid in ((weights, 4), (big, 2**64)):
        matrix = SolutionMatrix(rows, grid)
        before = [list(matrix.row(x)) for x in range(2)]
        for x in range(2):
            with pytest.raises(TypeError):
                matrix.row(x)[0] = 0  # type: ignore[index]
        rows[0][0], rows[1][1] = 9, 9
        assert [list(matrix.row(x)) for x in range(2)] == before
        assert matrix.grid == grid
    with pytest.raises(AttributeError):
        SolutionMatrix([[1]], 1).surprise = 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("bits", [1, 3, 8])
@pytest.mark.parametrize("name", PATTERNS)
def test_all_draws_together_give_exactly_the_rows(name: str, bits: int) -> None:
    floats = [list(map(float, row)) for row in entries(PATTERNS[name])]
    assert_sound_rows(PATTERNS[name])
    matrix = SolutionMatrix.approximate(floats, bits=bits)
    high = (WORDS - 1) >> bits << bits
    for x in range(matrix.categories):
        counts = Counter(matrix.randomise(x, word(r)) for r in range(1 << bits))
        assert counts == {y: w for y, w in enumerate(matrix.row(x)) if w}
        # A word always has 64 bits; only the low ones count.
        again = Counter(matrix.randomise(x, word(high | r)) for r in range(1 << bits))
        assert again == counts
    fine = SolutionMatrix.approximate(floats)
    assert_samples_its_rows(fine, range(fine.categories))


@pytest.mark.parametrize("grid", [3, 20, 2**64 - 1, 2**64 + 1, 2**65, 3 * 2**62])
def test_a_grid_that_no_word_samples_from_is_refused_before_the_draw(grid: int) -> None:
    matrix = SolutionMatrix([[grid - 1, 1], [1, grid - 1]], grid)
    messages = set()
    for answer in (0, 1):
        with pytest.raises(NotOnGrid, match="certified") as refusal:
            matrix.randomise(answer, undrawable)
        messages.add(str(refusal.value))
    assert len(messages) == 1
    with pytest.raises(IndexError):
        matrix.randomise(2, undrawable)


# --- Algebra -------------------------------------------------------------------------------------

squares = matrices((3, 3), (3, 3))
shares = st.integers(0, 16).map(lambda n: Fraction(n, 16))


@PROPERTY
@given(matrices((1, 4), (3, 3)), matrices((3, 3), (1, 4)), st.integers(1, 4))
def test_the_product_is_the_product_of_matrices_and_associative(
    one: SolutionMatrix, two: SolutionMatrix, size: int
) -> None:
    assert entries(one @ two) == product(one, two)
    three = SolutionMatrix.exact(
        [
            [Fraction(1, 2 * size) + (Fraction(1, 2) if y == x % size else 0) for y in range(size)]
            for x in range(two.responses)
        ]
    )
    assert (one @ two) @ three == one @ (two @ three)
    assert one @ identity(3) == one == identity(one.categories) @ one


@PROPERTY
@given(squares, squares, shares)
def test_mixtures_are_mixtures_entry_by_entry(
    one: SolutionMatrix, two: SolutionMatrix, share: Fraction
) -> None:
    mixed = one.mixed(two, share)
    assert entries(mixed) == [
        [(1 - share) * p + share * q for p, q in zip(left, right, strict=True)]
        for left, right in zip(entries(one), entries(two), strict=True)
    ]
    assert one.mixed(two, 0) == one
    assert one.mixed(two, 1) == two
    assert one.mixed(one, share) == one


def test_only_like_shapes_mix_and_fitting_ones_multiply() -> None:
    for other, one in ((TWO, G), (G, PATTERNS["wide"])):
        with pytest.raises(InvalidMatrix, match="same shape"):
            one.mixed(other, "0.5")
    shares: list[Number] = [-1, 2, Fraction(-1, 10**9), "1.000000001"]
    for share in shares:
        with pytest.raises(InvalidMatrix, match=r"share must be in \[0, 1\]"):
            G.mixed(G, share)
    with pytest.raises(TypeError, match="share must be a decimal string"):
        G.mixed(G, 0.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidMatrix, match="3 responses cannot enter 2 categories"):
        G @ TWO
    no_matrix: Any = RandomisedResponse(2, "1")
    with pytest.raises(TypeError):
        SolutionMatrix([[1]], 1) @ no_matrix


@PROPERTY
@given(matrices(), st.integers(1, 2**70))
def test_equality_and_hash_are_of_the_numbers_not_of_the_grid(
    matrix: SolutionMatrix, factor: int
) -> None:
    rows = [[weight * factor for weight in matrix.row(x)] for x in range(matrix.categories)]
    same = SolutionMatrix(rows, matrix.grid * factor)
    assert same == matrix
    assert hash(same) == hash(matrix)
    assert len({same, matrix, SolutionMatrix.exact(entries(matrix))}) == 1
    first = rows[0]
    most = first.index(max(first))
    if len(first) > 1:
        first[most] -= 1
        first[most - 1] += 1
        assert SolutionMatrix(rows, matrix.grid * factor) != matrix


def test_numpys_integers_are_taken_and_do_not_wrap() -> None:
    # In 64 bits, these sum to 5.
    wrapping = np.array([[2**63, 2**63, 5]], dtype=np.uint64)
    with pytest.raises(InvalidMatrix):
        SolutionMatrix(wrapping, 5)
    assert SolutionMatrix(wrapping[:, :2], 2**64) == SolutionMatrix([[1, 1]], 2)


def test_a_matrix_is_copied_and_pickled_and_outlives_its_views() -> None:
    matrix = SolutionMatrix([[1, 3], [4, 0]], 4)
    assert copy.deepcopy(matrix) == matrix == pickle.loads(pickle.dumps(matrix))
    view = matrix.row(0)
    assert isinstance(view, memoryview)
    view.release()
    assert list(matrix.row(0)) == [1, 3]
