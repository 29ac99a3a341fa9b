"""The circular mechanism: categories on a circle, such as hours of a day or points of a compass.

The discrete exponential mechanism (Holohan, Leith and Mason, Definition 3) with the distance of the
shorter way round. Every row is the first one, turned; so the noise does not depend on the answer,
and the tight pure level is that of opposite categories, floor(k/2) ln 1/r.

Row 0 over the grid N = 2^64 is made of boundaries: its first y + 1 responses together weigh
floor(N S/C), with S the sum of their powers and C of all. This rule is part of the protocol.
"""

from bisect import bisect_right
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Self

from deniable.mechanisms.decay import GRID, DistanceMechanism, calibrated_ratio, falling_powers
from deniable.mechanisms.exact import Number
from deniable.mechanisms.privacy import MatrixPrivacy, Privacy
from deniable.mechanisms.randomness import Draw, os_random_word

__all__ = ["Circular"]


class Circular(DistanceMechanism):
    """Answer y instead of x with a probability proportional to r^d, d the shorter way round.

    Args:
        categories: how many there are, 2 to 4,096, in their order; the last is next to the first.
        ratio: r, exact, in (0, 1), of integers below 2^63.

    Raises:
        TypeError, ValueError, InvalidPrivacyParameter: for arguments outside their domain.

    Source: docs/mathematics.md, section 9.
    """

    def __init__(self, categories: int, ratio: Fraction) -> None:
        super().__init__(categories, ratio)
        powers = falling_powers(ratio, categories // 2)
        sums = list(accumulate(powers[min(z, categories - z)] for z in range(categories)))
        self._boundaries = [GRID * part // sums[-1] for part in sums]
        self._turns = [high - low for low, high in pairwise([0, *self._boundaries])]

    @classmethod
    def calibrated(cls, categories: int, epsilon: Number) -> Self:
        """Return the mechanism of the least noise whose tight epsilon is not above ``epsilon``.

        Raises:
            InvalidPrivacyParameter: for an epsilon outside (0, 40].
            GridTooCoarse: if no ratio on the grid keeps it.
        """
        ratio = calibrated_ratio(lambda r: cls(categories, r).privacy, epsilon, categories // 2)
        return cls(categories, ratio)

    @property
    def truth(self) -> Fraction:
        """Return the probability of sending the answer itself."""
        return Fraction(self._turns[0], GRID)

    @cached_property
    def privacy(self) -> Privacy:
        """Return the tight guarantee of the implemented integers."""
        return _CircularPrivacy(self)

    def row(self, category: int) -> list[int]:
        """Return one row's integer weights over the grid."""
        x = self._index(category)
        return self._turns[self._categories - x :] + self._turns[: self._categories - x]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``.

        Raises:
            IndexError: for an answer outside the domain. Nothing is drawn then.
        """
        x = self._index(answer)
        # How far round is found before the answer is looked at.
        return (x + bisect_right(self._boundaries, draw())) % self._categories


class _CircularPrivacy(MatrixPrivacy):
    """The guarantee in O(k): every column holds the weights of row 0."""

    def __init__(self, matrix: Circular) -> None:
        super().__init__(matrix)
        self._weights = matrix.row(0)

    @cached_property
    def odds(self) -> Fraction | None:
        least = min(self._weights)
        return Fraction(max(self._weights), least) if least else None
