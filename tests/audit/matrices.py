"""Small exact matrices, full of ties and zeros, and privacy straight from its definition."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations

from hypothesis import strategies as st

from deniable.audit import SolutionMatrix, Witness
from deniable.mechanisms.privacy import Rows
from tests.mechanisms.laws import entries as entries

G = SolutionMatrix.exact([["0.6", "0.3", "0.1"], ["0.2", "0.5", "0.3"], ["0.25", "0.25", "0.5"]])
"""The matrix of the check values."""


def of_weights(rows: Sequence[Sequence[int]]) -> SolutionMatrix:
    """Return the matrix whose rows are in these proportions."""
    return SolutionMatrix.exact([[Fraction(w, sum(row)) for w in row] for row in rows])


def rows_of(width: int, *, least: int = 0, most: int = 6) -> st.SearchStrategy[list[int]]:
    """Return rows of small weights, of which some are equal."""
    return st.lists(st.integers(least, most), min_size=width, max_size=width).filter(any)


def matrices(*, least: int = 0, most: int = 6) -> st.SearchStrategy[SolutionMatrix]:
    """Return matrices of 2 to 5 categories and 2 to 5 responses."""
    return (
        st.integers(2, 5)
        .flatmap(lambda n: st.lists(rows_of(n, least=least, most=most), min_size=2, max_size=5))
        .map(of_weights)
    )


deltas = st.fractions(0, Fraction(1, 3), max_denominator=60)
odds = st.one_of(st.integers(1, 8).map(Fraction), st.fractions(1, 20, max_denominator=12))


def excess(witness: Witness, level: Fraction) -> Fraction:
    """Return P(x, S) - E P(x', S): no smaller delta holds with these odds."""
    return witness.probability - level * witness.other_probability


def worst_by_definition(matrix: Rows, level: Fraction) -> tuple[Fraction, tuple[int, int]]:
    """Return the largest P(x, S) - E P(x', S) over all pairs and *all* sets S, and its first pair.

    No Theorem 2: every subset of the responses is looked at.
    """
    p = entries(matrix)
    sets = [
        s
        for size in range(matrix.responses + 1)
        for s in combinations(range(matrix.responses), size)
    ]
    needed = {
        (x, z): max(sum((p[x][y] - level * p[z][y] for y in s), Fraction(0)) for s in sets)
        for x, z in permutations(range(matrix.categories), 2)
    }
    worst = max(needed.values())
    return worst, min(pair for pair, value in needed.items() if value == worst)
