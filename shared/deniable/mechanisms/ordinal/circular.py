"""The circular mechanism: categories on a circle, such as hours of a day or points of a compass.

The discrete exponential mechanism (Holohan, Leith and Mason, Definition 3) with the distance of the
shorter way round. Every row is the first one, turned; so the noise does not depend on the answer,
and the tight pure level is that of opposite categories, floor(k/2) ln 1/r.

Row 0 over the grid N = 2^64 is made of boundaries: its first y + 1 responses together weigh
floor(N S/C), with S the sum of their powers and C of all. This rule is part of the protocol.
"""

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate, pairwise

from deniable.mechanisms.distance import GRID, EvenlySpaced, falling_powers
from deniable.mechanisms.randomness import Draw, os_random_word


class Circular(EvenlySpaced):
    """Answer y instead of x with a probability proportional to r^d, d the shorter way round.

    The last category is next to the first.

    Source: docs/mathematics.md, section 9.
    """

    def __init__(self, categories: int, ratio: Fraction) -> None:
        super().__init__(categories, ratio)
        powers = falling_powers(ratio, categories // 2)
        sums = list(accumulate(powers[min(z, categories - z)] for z in range(categories)))
        self._boundaries = [GRID * part // sums[-1] for part in sums]
        self._turns = [high - low for low, high in pairwise([0, *self._boundaries])]

    @staticmethod
    def largest_distance(categories: int) -> int:
        """Return the largest distance of two categories."""
        return categories // 2

    @property
    def truth(self) -> Fraction:
        """Return the probability of sending the answer itself."""
        return Fraction(self._turns[0], GRID)

    def _odds(self) -> Fraction | None:
        # In O(k): every column holds the weights of row 0.
        least = min(self._turns)
        return Fraction(max(self._turns), least) if least else None

    def row(self, category: int) -> list[int]:
        """Return one row's integer weights over the grid."""
        x = self._index(category)
        return self._turns[-x:] + self._turns[:-x]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``."""
        x = self._index(answer)
        # How far round is found before the answer is looked at.
        return (x + bisect_right(self._boundaries, draw())) % self.categories
