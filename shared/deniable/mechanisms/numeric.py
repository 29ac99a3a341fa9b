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
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Final

from deniable.mechanisms.distance import (
    GRID,
    DistanceMechanism,
    EvenlySpaced,
    calibrated_parameters,
    certified,
    fall,
    falling_powers,
)
from deniable.mechanisms.exact import GridTooCoarse
from deniable.mechanisms.exponential import ceil_div
from deniable.mechanisms.kind import Kind, Parameters, Settings, read_ratio
from deniable.mechanisms.randomness import Draw, os_random_word


class ClampedGeometric(EvenlySpaced):
    """Answer with the value plus two-sided geometric noise, clamped to the range.

    Raises GridTooCoarse if 2^64 does not hold the least probability.

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

    @property
    def truth(self) -> Fraction:
        """Return the probability of sending the answer itself, least between the ends."""
        return Fraction(self._weights[0] if self.categories > 2 else GRID - self._tails[0], GRID)

    def _odds(self) -> Fraction:
        # In O(k): columns hold the same few weights.
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

    def row(self, category: int) -> list[int]:
        """Return one row's integer weights over the grid."""
        x, m = self._index(category), self.categories - 1
        between = [self._weights[abs(x - y)] for y in range(1, m)]
        low = self._tails[x - 1] if x else GRID - self._tails[0]
        return [low, *between, GRID - low - sum(between)]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``."""
        x, m = self._index(answer), self.categories - 1
        word = draw()
        # Z >= j if word < A_j, Z <= -j if N - 1 - word < A_j: events of the right probabilities,
        # disjoint since 2 A_1 < N. The noise is found before the answer is looked at.
        up = m - bisect_right(self._rising, word)
        down = m - bisect_right(self._rising, GRID - 1 - word)
        return min(max(x + up - down, 0), m)


class _Kind(Kind):
    name = "numeric"
    summary = "whose answers are numbers"
    fields = ("ratio",)
    keys: ClassVar = {
        "low": "the least answer of a numeric survey, which has no categories: a whole number, or "
        'a string such as "-0.5"',
        "high": "its greatest answer",
        "step": "from one of its answers to the next; at most 4,096 answers",
    }
    numeric = True
    likeness = "near numbers more often than far ones"

    def check(self, parameters: Parameters) -> None:
        read_ratio(parameters["ratio"])

    def calibrated(
        self, settings: Settings, categories: int, epsilon: str, delta: str
    ) -> Parameters:
        return calibrated_parameters(
            categories, lambda: ClampedGeometric.calibrated(categories, epsilon)
        )

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> DistanceMechanism:
        self.check_pure(delta)
        ratio = read_ratio(parameters["ratio"])
        return certified(lambda: ClampedGeometric(categories, ratio), epsilon)

    def described(self, parameters: Parameters) -> dict[str, str]:
        return {"ratio": str(read_ratio(parameters["ratio"]))}

    def terms(self, parameters: Parameters, categories: int) -> str:
        return f"numeric: {fall(parameters)}"


KIND: Final = _Kind()
