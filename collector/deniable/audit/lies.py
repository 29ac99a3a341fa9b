"""The probability of a lie, and the least possible at a guarantee.

Source: Holohan, Leith and Mason (2016), Theorem 10; docs/mathematics.md, section 15.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from deniable.audit.tight import furthest_rows
from deniable.mechanisms import Mechanism

_INFINITE: Final = "the matrix has no finite epsilon at this delta"
_NOT_SQUARE: Final = "lies are defined only for a square matrix, whose responses are its categories"


@dataclass(frozen=True, slots=True)
class Lie:
    """The probability of a lie and the least possible, or why either is missing."""

    value: Fraction | None
    optimum: Fraction | None
    reason: str = ""

    @property
    def ratio(self) -> float | None:
        """Return value / optimum; None if one is missing or the optimum is 0."""
        if self.value is None or not self.optimum:
            return None
        try:
            return float(self.value / self.optimum)
        except OverflowError:
            return math.inf


def largest_lie(matrix: Mechanism, odds: Fraction | None, delta: Fraction) -> Lie:
    """Compare the largest probability of a lie over the categories (Theorem 10)."""
    k = matrix.categories
    # A matrix with responses of its own has no truthful ones, even if there are as many.
    if k != matrix.responses or getattr(matrix, "truth", k) is None:
        return Lie(None, None, _NOT_SQUARE)
    truth = min(matrix.row(x)[x] for x in range(1 if furthest_rows(matrix) else k))
    value = 1 - Fraction(truth) / matrix.grid
    if odds is None:
        return Lie(value, None, _INFINITE)
    # m q, with q = (1-delta)/(E+m).
    return Lie(value, (k - 1) * (1 - delta) / (odds + k - 1))
