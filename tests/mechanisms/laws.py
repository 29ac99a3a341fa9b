"""What a mechanism says about itself, taken at its word and counted out: exact, and slow."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from importlib.util import find_spec
from itertools import accumulate, chain, combinations, pairwise, permutations
from random import Random

import pytest
from hypothesis import strategies as st

from deniable.audit import SolutionMatrix
from deniable.mechanisms import Draw, Mechanism
from deniable.mechanisms.privacy import Rows

WORDS = 1 << 64

Exact = Sequence[Sequence[Fraction]]

FOREIGN: list[int] = [-1, 7777, -7777, 2**64]
"""Indices that no mechanism of these tests has; 77 is what an echo would show."""
if find_spec("numpy"):  # no device has it
    import numpy as np

    FOREIGN.append(np.int64(7777))  # type: ignore[arg-type]


def word(value: int) -> Draw:
    return lambda: value


def undrawable() -> int:
    raise AssertionError("an answer outside the domain must not cost a draw")


def entries(matrix: Rows) -> list[list[Fraction]]:
    """Return all probabilities, from the rows of integers."""
    return [
        [Fraction(weight, matrix.grid) for weight in matrix.row(x)]
        for x in range(matrix.categories)
    ]


def worst_ratio(matrix: Rows) -> Fraction | None:
    """Return the largest ratio within a column, None if infinite, by looking at each column."""
    rows = [list(matrix.row(x)) for x in range(matrix.categories)]
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        if max(column) > 0:
            if min(column) == 0:
                return None
            worst = max(worst, Fraction(max(column), min(column)))
    return worst


def subsets(responses: int) -> list[tuple[int, ...]]:
    sizes = range(responses + 1)
    return list(chain.from_iterable(combinations(range(responses), size) for size in sizes))


def delta_by_subsets(rows: Exact, odds: Fraction) -> Fraction:
    """Return the smallest delta of P(x, S) <= odds P(x', S) + delta, from all x, x' and S."""
    return max(
        (
            sum((one[y] - odds * other[y] for y in chosen), Fraction(0))
            for one, other in permutations(rows, 2)
            for chosen in subsets(len(one))
        ),
        default=Fraction(0),
    )


def odds_by_subsets(rows: Exact, delta: Fraction) -> Fraction | None:
    """Return the smallest odds >= 1 of P(x, S) <= odds P(x', S) + delta, from all x, x' and S."""
    worst = Fraction(1)
    for one, other in permutations(rows, 2):
        for chosen in subsets(len(one)):
            excess = sum((one[y] for y in chosen), Fraction(0)) - delta
            against = sum((other[y] for y in chosen), Fraction(0))
            if excess > 0 and against == 0:
                return None
            if against:
                worst = max(worst, excess / against)
    return worst


def assert_samples_its_rows(
    mechanism: Mechanism, categories: Iterable[int], breaks: Iterable[int] | None = None
) -> None:
    """See that the sampler's law is the row, exactly, for these categories.

    Between two breaks the response has to be constant: it is compared at the first and the last
    word, and at two more. The lengths between breaks then add up to the row.

    Args:
        mechanism: on the grid of 2^64.
        categories: whose rows.
        breaks: at which words a response may change; the row's cumulated weights by default.
    """
    assert mechanism.grid == WORDS
    given = None if breaks is None else sorted({0, WORDS, *breaks})
    within = Random(64)
    for x in categories:
        row = list(mechanism.row(x))
        counted: Counter[int] = Counter()
        for low, high in pairwise(given or sorted({0, *accumulate(row)})):
            inner = [within.randrange(low, high) for _ in range(2)]
            found = {mechanism.randomise(x, word(value)) for value in (low, high - 1, *inner)}
            assert len(found) == 1
            counted[found.pop()] += high - low
        assert counted == {y: weight for y, weight in enumerate(row) if weight}


def assert_sound_rows(mechanism: Mechanism) -> None:
    """See that rows are distributions."""
    for x in range(mechanism.categories):
        row = list(mechanism.row(x))
        assert len(row) == mechanism.responses
        assert min(row) >= 0
        assert sum(row) == mechanism.grid


def assert_keeps_answers_to_itself(mechanism: Mechanism) -> None:
    """See that foreign answers cost no draw, that one draw serves, and that nothing is echoed."""
    before = repr(mechanism)
    messages = set()
    for answer in FOREIGN:
        with pytest.raises(IndexError) as refusal:
            mechanism.randomise(answer, undrawable)
        messages.add(str(refusal.value))
        with pytest.raises(IndexError):
            mechanism.row(answer)
    # About the domain alone: the same for every answer.
    assert len(messages) == 1
    assert "77" not in messages.pop()
    unreadable: list[object] = [1.0, "marker", None, b"marker"]
    for nothing in unreadable:
        with pytest.raises(TypeError) as mistake:
            mechanism.randomise(nothing, undrawable)  # type: ignore[arg-type]
        assert "marker" not in str(mistake.value)
    draws: list[int] = []

    def draw() -> int:
        draws.append(1)
        return 0

    for count, answer in enumerate([0, mechanism.categories - 1, 0], start=1):
        mechanism.randomise(answer, draw)
        assert len(draws) == count
    assert repr(mechanism) == before


def distributions(entries: int, largest: int = 6) -> st.SearchStrategy[list[Fraction]]:
    """Return random rows of small fractions that sum to 1, zeros among them."""
    weights = st.lists(st.integers(0, largest), min_size=entries, max_size=entries).filter(any)
    return weights.map(lambda row: [Fraction(weight, sum(row)) for weight in row])


def matrix_of(mechanism: Rows) -> SolutionMatrix:
    """Return a mechanism's matrix, entry by entry."""
    return SolutionMatrix(map(mechanism.row, range(mechanism.categories)), mechanism.grid)


def matrices(
    categories: tuple[int, int] = (1, 4), responses: tuple[int, int] = (1, 4), largest: int = 6
) -> st.SearchStrategy[SolutionMatrix]:
    """Return random exact matrices; equal rows, zeros and columns of zeros happen."""
    shapes = st.tuples(st.integers(*categories), st.integers(*responses))
    return shapes.flatmap(
        lambda shape: st.lists(
            distributions(shape[1], largest), min_size=shape[0], max_size=shape[0]
        )
    ).map(SolutionMatrix.exact)
