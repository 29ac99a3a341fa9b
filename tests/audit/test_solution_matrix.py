"""Any matrix: what is refused as one, and its sampler counted out."""

import copy
import pickle
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.audit import InvalidMatrix, SolutionMatrix
from deniable.audit.solution_matrix import largest_remainder
from deniable.mechanisms import MAX_DENSE, Number
from tests.mechanisms.laws import (
    WORDS,
    assert_samples_its_rows,
    assert_sound_rows,
    entries,
    matrices,
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


@pytest.mark.parametrize(
    ("weights", "grid", "row", "reason"),
    [
        ([[1, 1], [2, 1]], 2, 1, "must sum to exactly 1, not to about 1.5"),
        *(([[1, 0], [1, 1], [3, 0]], 2, 0, "about 0.5"), ([[0, 0]], 2, 0, "about 0")),
        *(([[2, 0], [3, -1]], 2, 1, "negative"), ([[-1, 3], [0, 0]], 2, 0, "negative")),
        ([[1, 1], [2]], 2, 1, "has 1 entries instead of 2"),
        ([[1, 1], [1, 1], [1, 1, 0]], 2, 2, "has 3 entries instead of 2"),
        *(([[1, 1], []], 2, 1, "1 to 4096 entries"), ([[]], 2, 0, "1 to 4096 entries")),
        ([[10**400, 1]], 2, 0, "has an entry above 1"),
        ([[2**64, 1]], 2**64, 0, "must sum to exactly 1, not to about 1$"),
        *(([], 2, None, "1 to 4096 rows"), ([[0]], 0, None, "positive")),
        ([[-1]], -1, None, "positive"),
    ],
)
def test_what_is_no_matrix_is_refused_by_the_first_row_at_fault(
    weights: list[list[int]], grid: int, row: int | None, reason: str
) -> None:
    with pytest.raises(InvalidMatrix, match=reason) as refusal:
        SolutionMatrix(weights, grid)
    assert str(refusal.value).startswith(f"row {row} " if row is not None else "")


def test_matrices_have_up_to_4096_rows_and_columns() -> None:
    assert MAX_DENSE == 4096
    tall, wide = SolutionMatrix([[1]] * 4096, 1), SolutionMatrix([[1] * 4096], 4096)
    assert (tall.categories, wide.responses) == (4096, 4096)
    vast = [[Fraction(1, 2**1000 + 2 * i + 1) for i in range(80)]]  # would fill the memory
    refused: list[tuple[str, Callable[[], object]]] = [
        ("1 to 4096 rows", lambda: SolutionMatrix([[1]] * 4097, 1)),
        ("row 0 must have 1 to 4096 entries", lambda: SolutionMatrix([[1] * 4097], 4097)),
        ("common denominator", lambda: SolutionMatrix.exact(vast)),
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
    assert str(refusal.value).startswith("a matrix" if row is None else f"row {row} ")


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
    assert_sound_rows(PATTERNS[name])
    rows = [PATTERNS[name].row(x) for x in range(PATTERNS[name].categories)]
    matrix = SolutionMatrix((largest_remainder(row, 1 << bits) for row in rows), 1 << bits)
    high = (WORDS - 1) >> bits << bits
    for x in range(matrix.categories):
        counts = Counter(matrix.randomise(x, word(r)) for r in range(1 << bits))
        assert counts == {y: w for y, w in enumerate(matrix.row(x)) if w}
        # A word always has 64 bits; only the low ones count.
        again = Counter(matrix.randomise(x, word(high | r)) for r in range(1 << bits))
        assert again == counts
    fine = SolutionMatrix((largest_remainder(row, WORDS) for row in rows), WORDS)
    assert_samples_its_rows(fine, range(fine.categories))


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


def test_a_matrix_is_copied_and_pickled() -> None:
    matrix = SolutionMatrix([[1, 3], [4, 0]], 4)
    assert copy.deepcopy(matrix) == matrix == pickle.loads(pickle.dumps(matrix))
