"""The guarantee of a solution matrix: its tight (epsilon, delta), computed from its entries."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import permutations
from typing import Protocol

from deniable.mechanisms.exact import Number, exact_delta, exact_epsilon, log_ceiling, odds_floor

_PLACES = 12
_MOST_COMPARED = 64
"""The most rows that are compared pair by pair for a guess; for more, the odds give the bound."""


def guess_within(odds: Fraction, delta: Fraction = Fraction(0)) -> Fraction:
    """Return the bound of :attr:`Privacy.guess` for any matrix with these odds and this delta."""
    return min(Fraction(1), (odds + delta) / (odds + 1))


class Privacy(ABC):
    """The tight guarantee of a solution matrix, as pairs of e^epsilon ("odds") and delta.

    A matrix P is (epsilon, delta)-private if P(x, S) <= e^epsilon P(x', S) + delta for all
    categories x, x' and every set S of responses. Odds are exact; an epsilon is rounded up.
    """

    @property
    @abstractmethod
    def odds(self) -> Fraction | None:
        """Return e^epsilon' of the pure guarantee: no response shifts any odds by more than this.

        None if a response excludes a category: then there is no pure guarantee.
        """

    @abstractmethod
    def delta_at_odds(self, odds: Fraction) -> Fraction:
        """Return the smallest delta that holds with e^epsilon = ``odds`` >= 1."""

    @property
    def alike(self) -> bool:
        """Return whether a response distinguishes all pairs of answers equally well."""
        return False

    @property
    def epsilon(self) -> Decimal:
        """Return the pure level epsilon' = ln(odds), rounded up to 12 places, or infinity."""
        return epsilon_of_odds(self.odds)

    @property
    def guess(self) -> Fraction:
        """Return the best chance, with a response, of a guess that is right half the time without.

        It is 1/2 + TV/2, where TV is the largest total variation distance between two rows: the
        tight delta of epsilon 0. Two rows at that distance, equally likely, attain it. If every two
        rows are (epsilon, delta) apart, E = e^epsilon, then TV <= (E - 1 + 2 delta) / (E + 1).

        Source: docs/mathematics.md, section 7.
        """
        return (1 + self.delta_at_odds(Fraction(1))) / 2

    def satisfies(self, epsilon: Number, delta: Number) -> bool:
        """Return whether the matrix is (epsilon, delta)-private, certified in integers."""
        allowed, slack = odds_floor(exact_epsilon(epsilon)), exact_delta(delta)
        if slack == 0:
            return self.odds is not None and self.odds <= allowed
        return self.delta_at_odds(allowed) <= slack


@dataclass(frozen=True, slots=True)
class TwoValuedPrivacy(Privacy):
    """The guarantee of a matrix with d = ``truth`` on and q = ``lie`` off the diagonal, 0 < q <= d.

    In a design, each value occurs in several places per row; then any two rows differ in
    ``separating`` responses either way; in at most so many, if pairs are not all ``alike``.

    Source: Holohan, Leith and Mason, Theorem 8; docs/mathematics.md, sections 1 and 17.
    """

    truth: Fraction
    lie: Fraction
    separating: int = 1
    alike: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.lie <= self.truth:
            raise ValueError("0 < lie <= truth must hold; use MatrixPrivacy for any other matrix")

    @property
    def odds(self) -> Fraction:
        """Return e^epsilon' of the pure guarantee."""
        # d/q = (1 - mq)/q, which at q = (1-delta)/(E+m) is (E + m*delta)/(1-delta).
        return self.truth / self.lie

    def delta_at_odds(self, odds: Fraction) -> Fraction:
        """Return the smallest delta that holds with e^epsilon = ``odds`` >= 1."""
        if odds < 1:
            raise ValueError("odds must be at least 1")
        # Two rows differ in c columns each way: c ((d - Eq)_+ + (q - Ed)_+), the second being 0.
        return self.separating * max(Fraction(0), self.truth - odds * self.lie)


class Rows(Protocol):
    """An exact matrix, given by its rows of integer weights over a common grid."""

    @property
    def categories(self) -> int:
        """Return the number of rows."""

    @property
    def responses(self) -> int:
        """Return the number of columns."""

    @property
    def grid(self) -> int:
        """Return the common denominator, to which every row sums."""

    def row(self, category: int) -> Sequence[int]:
        """Return one row's weights."""


class MatrixPrivacy(Privacy):
    """The guarantee of any matrix, by comparing all its rows exactly.

    The pure level takes one pass over the entries. Any delta compares all pairs of rows.

    Source: docs/mathematics.md, section 7.
    """

    def __init__(self, matrix: Rows) -> None:
        self._matrix = matrix

    @cached_property
    def odds(self) -> Fraction | None:
        """Return e^epsilon' of the pure guarantee, the largest ratio in a column; ``O(k |Y|)``."""
        # P(x, S) <= E P(x', S) for all S <=> for single columns; the worst is max/min of one.
        seen = [
            (high, low) for high, low in zip(*column_extremes(self._matrix), strict=True) if high
        ]
        if any(low == 0 for _, low in seen):
            return None
        return max(Fraction(high, low) for high, low in seen)

    def delta_at_odds(self, odds: Fraction) -> Fraction:
        """Return the smallest delta that holds with e^epsilon = ``odds`` >= 1; ``O(k^2 |Y|)``."""
        worst = max((pair_excess(one, other, odds) for one, other in self._pairs()), default=0)
        return Fraction(worst, odds.denominator * self._matrix.grid)

    @cached_property
    def guess(self) -> Fraction:
        """Return the best chance of a guess; of many rows, the bound that the odds give."""
        if self._matrix.categories <= _MOST_COMPARED:
            return super().guess
        return Fraction(1) if self.odds is None else guess_within(self.odds)

    def _pairs(self) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
        return permutations(map(self._matrix.row, range(self._matrix.categories)), 2)


def column_extremes(matrix: Rows) -> tuple[list[int], list[int]]:
    """Return the largest and the smallest weight of each column."""
    most = least = list(matrix.row(0))
    for row in map(matrix.row, range(1, matrix.categories)):
        most, least = list(map(max, most, row)), list(map(min, least, row))
    return most, least


def pair_excess(one: Sequence[int], other: Sequence[int], odds: Fraction) -> int:
    """Return the delta that one row needs against another at these odds, over v N, E = u/v.

    It is sum_y (P_y - E P'_y)_+, since P(S) - E P'(S) is largest on the set of the positive terms.
    Holohan, Leith and Mason, Theorem 2.
    """
    u, v = odds.numerator, odds.denominator
    excess = (v * w - u * z for w, z in zip(one, other, strict=True))
    return sum(term for term in excess if term > 0)


@lru_cache(maxsize=64)  # each histogram of a survey needs the same value
def epsilon_of_odds(odds: Fraction | None) -> Decimal:
    """Return ln(odds), rounded up to 12 decimal places; infinity if there are no finite odds."""
    if odds is None:
        return Decimal("Infinity")
    # Assembled from digits: arithmetic would round in the app's decimal context, even down.
    digits = tuple(map(int, str(log_ceiling(odds, 10**_PLACES))))
    return Decimal((0, digits, -_PLACES))
