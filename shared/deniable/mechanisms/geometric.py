"""The clamped geometric mechanism: discrete Laplace noise on a range of numbers.

Categories are the values low, low + step, … in order. The device adds two-sided geometric noise Z,
P(Z = z) = (1-r)/(1+r) r^|z|, and what leaves the range is set to its nearest end. That is the
Laplace mechanism's place in the local model, and its solution matrix is

    P(x, y) = (1-r)/(1+r) r^|x-y|  between the ends,     r^|x-y| / (1+r)  at them.

Rows of neighbouring values differ by a factor of at most 1/r anywhere, so the pure level over a
range of k = m + 1 values is m ln 1/r; the two farthest values attain it, at the ends.

In integers: one table of tails A_j, N r^j / (1+r) rounded *up*, towards privacy, stands for
P(Z >= j) = P(Z <= -j) and gives every entry of every row. Since all rows share it, the matrix is
exactly what this noise and the clamping make of it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Self

from deniable.mechanisms.decay import GRID, DistanceMechanism, calibrated_ratio, falling_powers
from deniable.mechanisms.exact import GridTooCoarse, Number
from deniable.mechanisms.exponential import ceil_div
from deniable.mechanisms.privacy import MatrixPrivacy, Privacy
from deniable.mechanisms.randomness import Draw, os_random_word

__all__ = ["ClampedGeometric"]


class ClampedGeometric(DistanceMechanism):
    """Answer with the value plus two-sided geometric noise, clamped to the range.

    Args:
        categories: how many values the range has, 2 to 4,096, at equal steps.
        ratio: r, by which the noise falls off a step, exact, in (0, 1), of integers below 2^63.

    Raises:
        TypeError, ValueError, InvalidPrivacyParameter: for arguments outside their domain.
        GridTooCoarse: if 2^64 does not hold the least probability.

    Source: Ghosh, Roughgarden and Sundararajan 2012, who call it truncated; docs/mathematics.md,
    section 10.
    """

    def __init__(self, categories: int, ratio: Fraction) -> None:
        super().__init__(categories, ratio)
        u, v = ratio.numerator, ratio.denominator
        powers = falling_powers(ratio, categories - 1)
        # A_j = N r^j / (1 + u/v), rounded up from a power that was rounded up.
        self._tails = [ceil_div(GRID * v * power, powers[0] * (u + v)) for power in powers[1:]]
        # Between the ends, distance d weighs A_d - A_(d+1), and distance 0 weighs N - 2 A_1.
        differences = (near - far for near, far in pairwise(self._tails))
        self._weights = [GRID - 2 * self._tails[0], *differences]
        if min(self._weights) <= 0:
            raise GridTooCoarse(
                "2^64 does not resolve so many values at this ratio; use a larger step"
            )
        self._rising = self._tails[::-1]

    @classmethod
    def calibrated(cls, categories: int, epsilon: Number) -> Self:
        """Return the mechanism of the least noise whose tight epsilon is not above ``epsilon``.

        Raises:
            InvalidPrivacyParameter: for an epsilon outside (0, 40].
            GridTooCoarse: if no ratio on the grid keeps it.
        """
        ratio = calibrated_ratio(lambda r: cls(categories, r).privacy, epsilon, categories - 1)
        return cls(categories, ratio)

    @property
    def truth(self) -> Fraction:
        """Return the probability of sending the answer itself, least between the ends."""
        least = self._weights[0] if self._categories > 2 else GRID - self._tails[0]
        return Fraction(least, GRID)

    @cached_property
    def privacy(self) -> Privacy:
        """Return the tight guarantee of the implemented integers."""
        return _GeometricPrivacy(self, self._tails, self._weights)

    def row(self, category: int) -> list[int]:
        """Return one row's integer weights over the grid."""
        x, m = self._index(category), self._categories - 1
        between = [self._weights[abs(x - y)] for y in range(1, m)]
        low = self._tails[x - 1] if x else GRID - self._tails[0]
        return [low, *between, GRID - low - sum(between)]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``.

        Raises:
            IndexError: for an answer outside the domain. Nothing is drawn then.
        """
        x, m = self._index(answer), self._categories - 1
        word = draw()
        # Z >= j if word < A_j, Z <= -j if N - 1 - word < A_j: events of the right probabilities,
        # disjoint since 2 A_1 < N. The noise is found before the answer is looked at.
        up = m - bisect_right(self._rising, word)
        down = m - bisect_right(self._rising, GRID - 1 - word)
        return min(max(x + up - down, 0), m)


class _GeometricPrivacy(MatrixPrivacy):
    """The guarantee in O(k): columns hold the same few weights."""

    def __init__(
        self, matrix: ClampedGeometric, tails: Sequence[int], weights: Sequence[int]
    ) -> None:
        super().__init__(matrix)
        self._tails = tails
        self._weights = weights

    @cached_property
    def odds(self) -> Fraction:
        # At the low end: N - A_1 from the low end itself, A_x from x > 0. By symmetry at the high
        # end too.
        ends = [GRID - self._tails[0], *self._tails]
        worst = Fraction(max(ends), min(ends))
        # Column y between the ends holds the weights of distances 0 … max(y, m - y); that of y = 1
        # holds those of all others.
        between = self._weights[: len(self._tails)]
        if len(between) > 1:
            worst = max(worst, Fraction(max(between), min(between)))
        return worst
