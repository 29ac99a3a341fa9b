"""Any mechanism: a solution matrix given entry by entry, exactly.

Only :meth:`SolutionMatrix.certified` rounds, onto a grid from which one 64-bit word samples, and it
proves that the guarantee is kept.
"""

import operator
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Final, Self

from deniable.mechanisms.exact import (
    GridTooCoarse,
    InvalidPrivacyParameter,
    Number,
    exact_delta,
    exact_epsilon,
    exact_number,
    odds_ceiling,
    odds_floor,
)
from deniable.mechanisms.mechanism import (
    MAX_DENSE,
    Draw,
    category_index,
    os_random_word,
    uniform_below,
)
from deniable.mechanisms.privacy import MatrixPrivacy, Privacy, pair_excess

_MOST_BITS: Final = 1 << 16


class InvalidMatrix(ValueError):
    """The given matrix is not stochastic, or too large for a comparison of its rows."""


class SolutionMatrix:
    """A stochastic matrix of integers over a common denominator, its grid.

    There is a row for each category, whose integers sum to the grid; at most 4,096 rows and 4,096
    columns. InvalidMatrix names the first row with another length, a negative entry or another sum.

    Source: Holohan, Leith and Mason, section 2; docs/mathematics.md, section 8.
    """

    __slots__ = ("_rows", "categories", "grid", "responses")
    rounds: Final = None

    def __init__(self, weights: Iterable[Iterable[int]], grid: int) -> None:
        if grid < 1:
            raise InvalidMatrix("the grid must be positive")
        # Python's own ints: numpy's overflow when they are summed.
        rows = [list(map(operator.index, row)) for row in weights]
        grid = operator.index(grid)
        if not 1 <= len(rows) <= MAX_DENSE:
            raise InvalidMatrix(f"a matrix must have 1 to {MAX_DENSE} rows")
        self.categories: Final = len(rows)
        self.responses: Final = len(rows[0])
        self.grid: Final = grid
        for x, row in enumerate(rows):
            if not 1 <= len(row) <= MAX_DENSE:
                raise InvalidMatrix(f"row {x} must have 1 to {MAX_DENSE} entries")
            if len(row) != self.responses:
                raise InvalidMatrix(f"row {x} has {len(row)} entries instead of {self.responses}")
            if min(row) < 0:
                raise InvalidMatrix(f"row {x} has a negative entry")
            if max(row) > grid:
                raise InvalidMatrix(f"row {x} has an entry above 1")
            if (total := sum(row)) != grid:
                share = f"about {total / grid:.12g}"
                raise InvalidMatrix(f"row {x} must sum to exactly 1, not to {share}")
        self._rows = [tuple(row) for row in rows]

    @classmethod
    def exact(cls, rows: Iterable[Iterable[Number]]) -> Self:
        """Return the matrix of exact probabilities; write floats as texts, or as Fractions."""
        fractions = [[exact_number("a probability", entry) for entry in row] for row in rows]
        grid = 1
        for denominator in {entry.denominator for row in fractions for entry in row}:
            grid = lcm(grid, denominator)
            if grid.bit_length() > _MOST_BITS:  # before it fills the memory
                raise InvalidMatrix("the entries have no common denominator of an acceptable size")
        return cls(
            ([e.numerator * (grid // e.denominator) for e in row] for row in fractions), grid
        )

    def certified(self, epsilon: Number, delta: Number = "0") -> Self:
        """Return this matrix rounded onto 2^64, provably (epsilon, delta)-private.

        If rounding alone would break the guarantee, the least uniform noise that compensates is
        mixed in, about ``|Y| 2^-64``. A share of up to 1e-9 is added for an excess of the matrix
        itself, such as that of an optimal one written in floats. So the guarantee is the requested
        one. The pure check looks at each entry once; with delta > 0 all pairs of rows are compared.

        Raises:
            InvalidPrivacyParameter: if that noise does not make it private.
            GridTooCoarse: if 2^64 cannot hold it.
        """
        grid = 1 << 64
        rows = certified_rows(self._rows, exact_epsilon(epsilon), exact_delta(delta), grid)
        return type(self)(rows, grid)

    @property
    def privacy(self) -> Privacy:
        """Return the tight guarantee, computed from the entries."""
        return MatrixPrivacy(self)

    def row(self, category: int) -> Sequence[int]:
        """Return one row's weights over the grid."""
        return self._rows[category_index(category, self.categories)]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response drawn from the answer's row, exactly."""
        row = self.row(answer)
        word = uniform_below(self.grid, draw)
        # Every boundary is compared, so the running time is independent of answer and response.
        return sum(word >= boundary for boundary in accumulate(row[:-1]))

    def __eq__(self, other: object) -> bool:
        """Return whether all entries are the same numbers."""
        if not isinstance(other, SolutionMatrix):
            return NotImplemented
        if (self.categories, self.responses) != (other.categories, other.responses):
            return False
        return all(
            w * other.grid == z * self.grid
            for one, two in zip(self._rows, other._rows, strict=True)
            for w, z in zip(one, two, strict=True)
        )

    def __hash__(self) -> int:
        first = tuple(Fraction(weight, self.grid) for weight in self._rows[0])
        return hash((self.categories, first))

    def __repr__(self) -> str:
        return f"SolutionMatrix({self.categories} x {self.responses} over {self.grid})"


# Probabilities are put onto a grid of integers without losing the guarantee. Rounding moves each
# probability by less than 1/N and delta at any epsilon by at most (1 + e^epsilon) |Y| / (4N), but
# it usually destroys delta = 0. Then a little uniform noise, mixed in beforehand, compensates, and
# an inequality between integers proves the result. It also compensates errors of floats: an optimal
# matrix has no margin, and half of those written in floats exceed their epsilon in the sixteenth
# place.

Weights = Sequence[int]

_PRECISION = 160
_MOST_NOISE = Fraction(1, 10**9)
"""The share of noise for the rows themselves: too small to show in any estimate."""


def largest_remainder(weights: Weights, grid: int) -> list[int]:
    """Return integers in proportion to the weights that sum to ``grid``, each within 1 of it.

    The units left over by rounding down go to the largest remainders, one each; among equal ones,
    to the first.
    """
    total = sum(weights)
    rounded = [weight * grid // total for weight in weights]
    order = sorted(range(len(weights)), key=lambda y: weights[y] * grid % total, reverse=True)
    for y in order[: grid - sum(rounded)]:
        rounded[y] += 1
    return rounded


def certified_rows(
    rows: Sequence[Weights], epsilon: Fraction, delta: Fraction, grid: int
) -> list[list[int]]:
    """Return the rows, all of one sum, certified over any grid as :class:`SolutionMatrix` does it.

    Source: docs/mathematics.md, section 8.
    """
    # A matrix that is private at the lower bound of e^epsilon is private at epsilon; one that is
    # not at the upper bound is not.
    lower, upper = odds_floor(epsilon, _PRECISION), odds_ceiling(epsilon, _PRECISION)
    rounded = [largest_remainder(row, grid) for row in rows]
    if _excess(rounded, lower, delta) <= 0:
        return rounded
    # A positive excess a = w - E z over the common sum becomes (1 - share) a - share c if a share
    # of noise is mixed in, c = (E - 1)/|Y|. There is at least one such column, so the sum H of all,
    # which must be at most delta, becomes at most (1 - share) H - share c.
    responses, over = len(rows[0]), max(Fraction(0), _excess(rows, upper, delta))
    per_share = over + delta + (lower - 1) / responses
    if over > _MOST_NOISE * per_share:
        raise InvalidPrivacyParameter(
            "the matrix exceeds this epsilon and delta; raise them, or mix the matrix with the "
            "uniform matrix first"
        )
    # Rounding adds at most 1/N to w and subtracts E/N from E z, and adds at most (1 + E)|Y|/(4N) to
    # H.
    cost = (1 + upper) * (Fraction(responses, 4) if delta else 1) / grid
    if over + cost < per_share:
        # (1 - a/b) w/G + (a/b)/|Y| over the common denominator b |Y| G.
        a, b = ((over + cost) / per_share).as_integer_ratio()
        even = a * sum(rows[0])
        mixed = [[(b - a) * responses * weight + even for weight in row] for row in rows]
        rounded = [largest_remainder(row, grid) for row in mixed]
        if _excess(rounded, lower, delta) <= 0:
            return rounded
    raise GridTooCoarse(
        "the grid is too coarse for this matrix at this epsilon and delta; use a finer grid, or "
        "raise epsilon or delta"
    )


def _excess(rows: Sequence[Weights], odds: Fraction, delta: Fraction) -> Fraction:
    """Return the distance of integer rows with one sum from privacy; at most 0 if they are private.

    It is the largest w - E z, or with delta > 0 the largest sum of these, minus delta; odds = E =
    u/v.
    """
    u, v = odds.numerator, odds.denominator
    if delta == 0:
        worst = max(v * max(column) - u * min(column) for column in zip(*rows, strict=True))
    else:
        worst = max(pair_excess(one, other, odds) for one in rows for other in rows)
    return Fraction(worst, v * sum(rows[0])) - delta
