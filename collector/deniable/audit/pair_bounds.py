"""How much delta each pair of rows can need at most, in floats that are never too small.

Floats only rule pairs out: what they say is an upper bound with a proof, and every pair that it
does not rule out is for integers to judge. Work is k^2 |Y|, in blocks that stay in the cache.

The bound. Let u = 2^-53 and p, p' two probabilities, correctly rounded to floats; T the true term
(p - E p')_+. The odds are lowered to E (1 - 8u), so that after two roundings of them, one of p' and
one of the product at most E p' (1 - 3u) is taken off p; p itself is at least p (1 - u). So the
computed term is at least (1 - u)^2 T, up to what underflows. A sum of n non-negative floats, in
whatever order, is at least 1 - n u of the true one. Hence

    true sum  <=  computed sum * (1 + 2 (n + 4) u)  +  n 2^-1000

where 2 (n + 4) u pays for all factors, and the last term for probabilities below 2^-1022.
"""

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deniable.audit.findings import MatrixTooLarge
from deniable.mechanisms import Rows

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Pair = tuple[int, int]

_MOST_CELLS: Final = 1 << 26
_UNIT: Final = sys.float_info.epsilon / 2
_UNDERFLOW: Final = 2.0**-1000
_MOST_ODDS: Final = Fraction(1 << 64)
_BLOCK: Final = 1 << 16


class PairBounds:
    """Upper bounds of sum_y (P_xy - E P_x'y)_+ for all pairs of rows of a matrix."""

    def __init__(self, matrix: Rows) -> None:
        k, n, grid = matrix.categories, matrix.responses, matrix.grid
        if k * n > _MOST_CELLS:
            raise MatrixTooLarge(f"at most {_MOST_CELLS:,} entries can be compared in pairs")
        self._rows = np.empty((k, n))
        for x in range(k):
            # int / int is correctly rounded in Python, however long the integers are.
            self._rows[x] = [weight / grid for weight in matrix.row(x)]
        self._step = max(1, _BLOCK // n)
        self._factor = 1 + 2 * (n + 4) * _UNIT
        self._floor = n * _UNDERFLOW

    def at(self, odds: Fraction, rows: Indices | None = None) -> "BoundsAtOdds":
        """Return the bounds at these odds, for some rows x and all others x'."""
        some = np.arange(len(self._rows)) if rows is None else rows
        return BoundsAtOdds(self, odds, some, self.largest(odds, some))

    def largest(self, odds: Fraction, rows: Indices) -> Floats:
        """Return for each of these rows x the largest bound over all other rows x'."""
        bounds = np.zeros(len(rows))
        lowered = _lowered(odds)
        buffer = np.empty((self._step, self._rows.shape[1]))
        for start in range(0, len(self._rows), self._step):
            scaled = lowered * self._rows[start : start + self._step]
            terms = buffer[: len(scaled)]
            for i, x in enumerate(rows):
                sums = self._sums(x, scaled, terms)
                if 0 <= x - start < len(sums):
                    sums[x - start] = 0.0
                bounds[i] = max(bounds[i], sums.max())
        return bounds * self._factor + self._floor

    def of_row(self, odds: Fraction, row: int) -> Floats:
        """Return the bound for this row x and each other row x'; -1 for x itself."""
        lowered = _lowered(odds)
        sums = np.empty(len(self._rows))
        for start in range(0, len(self._rows), self._step):
            scaled = lowered * self._rows[start : start + self._step]
            sums[start : start + self._step] = self._sums(row, scaled, scaled)
        bounds = sums * self._factor + self._floor
        bounds[row] = -1.0
        return bounds

    def _sums(self, row: int, scaled: Floats, terms: Floats) -> Floats:
        np.subtract(self._rows[row], scaled, out=terms)
        np.maximum(terms, 0.0, out=terms)
        sums: Floats = terms.sum(axis=1)
        return sums


class BoundsAtOdds:
    """The largest bound of each row at some odds, and which pairs it leaves."""

    def __init__(self, bounds: PairBounds, odds: Fraction, rows: Indices, largest: Floats) -> None:
        self._bounds, self._odds, self._rows, self._largest = bounds, odds, rows, largest

    @property
    def most(self) -> Fraction:
        """Return an upper bound for all pairs."""
        return Fraction(float(self._largest.max()))

    def rows(self, needed: Fraction) -> Indices:
        """Return the rows with a pair that may need so much delta."""
        return self._rows[self._largest >= _rounded_down(needed)]

    def likely(self) -> Pair:
        """Return a pair of the largest bound."""
        row = int(self._rows[self._largest.argmax()])
        return row, int(self._bounds.of_row(self._odds, row).argmax())

    def possible(self, needed: Fraction) -> Iterator[Pair]:
        """Yield in order all pairs that may need so much delta."""
        for row in self.rows(needed):
            bounds = self._bounds.of_row(self._odds, row)
            for other in np.flatnonzero(bounds >= _rounded_down(needed)):
                yield int(row), int(other)


def _lowered(odds: Fraction) -> float:
    # Smaller odds only raise the bound; the cap keeps E p' from overflowing, and what underflows in
    # p' from growing.
    return float(min(odds, _MOST_ODDS)) * (1 - 8 * _UNIT)


def _rounded_down(value: Fraction) -> float:
    return max(0.0, math.nextafter(float(value), -math.inf))
