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

r in (0, 1) is an exact rational, which a manifest carries. All else follows from it by fixed
integer rules, so that device and collector hold the same table, and the device can recompute its
guarantee.
"""

from bisect import bisect_right
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import gcd
from typing import Final

from deniable.mechanisms.exact import GridTooCoarse, InvalidPrivacyParameter, ceil_div
from deniable.mechanisms.kind import InvalidParameter, Kind, Parameters, at_fault
from deniable.mechanisms.mechanism import MAX_DENSE, Draw, category_index, os_random_word
from deniable.mechanisms.privacy import MatrixPrivacy, Privacy

RATIO_LIMIT: Final = 1 << 63
"""Numerator and denominator of a ratio are below this, as every integer of the protocol is."""

_GRID: Final = 1 << 64
"""N: what every row sums to."""

_POINT: Final = 192
"""Binary places of a power: where r^d >= e^-40 there are more than 128 significant bits."""


class ClampedGeometric:
    """Answer with the value plus two-sided geometric noise, clamped to the range.

    There are 2 to 4,096 categories; the ratio in (0, 1), by which the noise falls off a step, is of
    integers below 2^63. Raises GridTooCoarse if 2^64 does not hold the least probability.

    Source: Ghosh, Roughgarden and Sundararajan 2012, who call it truncated; docs/mathematics.md,
    section 10.
    """

    grid: Final = _GRID
    rounds: Final = None
    hit: Final = None
    miss: Final = None

    def __init__(self, categories: int, ratio: Fraction) -> None:
        if type(categories) is not int or not isinstance(ratio, Fraction):
            raise TypeError("categories must be an int and the ratio a Fraction: it is exact")
        if not 2 <= categories <= MAX_DENSE:
            raise ValueError(f"categories must be in [2, {MAX_DENSE}]")
        if not (0 < ratio < 1 and ratio.denominator < RATIO_LIMIT):
            raise InvalidPrivacyParameter("the ratio must be in (0, 1), of integers below 2^63")
        self.categories: Final = categories
        self.responses: Final = categories
        self.ratio: Final = ratio
        u, v = ratio.numerator, ratio.denominator
        powers = falling_powers(ratio, categories - 1)
        # A_j = N r^j / (1 + u/v), rounded up from a power that was rounded up.
        self._tails = [ceil_div(_GRID * v * power, powers[0] * (u + v)) for power in powers[1:]]
        # Between the ends, distance d weighs A_d - A_(d+1), and distance 0 weighs N - 2 A_1.
        differences = (near - far for near, far in pairwise(self._tails))
        self._weights = [_GRID - 2 * self._tails[0], *differences]
        if min(self._weights) <= 0:
            raise GridTooCoarse(
                "2^64 does not resolve so many values at this ratio; use a larger step"
            )
        self._rising = self._tails[::-1]

    @cached_property
    def privacy(self) -> Privacy:
        """Return the tight guarantee of the implemented integers."""
        return MatrixPrivacy(self, self._odds)

    @property
    def truth(self) -> Fraction:
        """Return the probability of sending the answer itself, least between the ends."""
        return Fraction(self._weights[0] if self.categories > 2 else _GRID - self._tails[0], _GRID)

    def _odds(self) -> Fraction:
        # In O(k): columns hold the same few weights.
        # At the low end: N - A_1 from the low end itself, A_x from x > 0. By symmetry at the high
        # end too.
        ends = [_GRID - self._tails[0], *self._tails]
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
        low = self._tails[x - 1] if x else _GRID - self._tails[0]
        return [low, *between, _GRID - low - sum(between)]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``."""
        x, m = self._index(answer), self.categories - 1
        word = draw()
        # Z >= j if word < A_j, Z <= -j if N - 1 - word < A_j: events of the right probabilities,
        # disjoint since 2 A_1 < N. The noise is found before the answer is looked at.
        up = m - bisect_right(self._rising, word)
        down = m - bisect_right(self._rising, _GRID - 1 - word)
        return min(max(x + up - down, 0), m)

    def probability(self, category: int, response: int) -> Fraction:
        """Return the exact probability of a response given a true category."""
        return Fraction(self.row(category)[self._index(response)], _GRID)

    def _index(self, value: int) -> int:
        return category_index(value, self.categories)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClampedGeometric):
            return NotImplemented
        return (self.categories, self.ratio) == (other.categories, other.ratio)

    def __hash__(self) -> int:
        return hash((self.categories, self.ratio))

    def __repr__(self) -> str:
        return f"ClampedGeometric({self.categories}, ratio={self.ratio})"


def falling_powers(ratio: Fraction, largest: int) -> list[int]:
    """Return ratio^d for d = 0 … largest, over 2^192.

    Each is the one before times the ratio, rounded up: this rule is part of the protocol.
    """
    powers = [1 << _POINT]
    for _ in range(largest):
        powers.append(ceil_div(powers[-1] * ratio.numerator, ratio.denominator))
    return powers


def _read_ratio(value: object) -> Fraction:
    """Return the ratio that a numerator and a denominator make."""
    if type(value) is tuple and [type(part) for part in value] == [int, int]:
        numerator, denominator = value
        if 0 < numerator < denominator < RATIO_LIMIT and gcd(numerator, denominator) == 1:
            return Fraction(numerator, denominator)
    raise InvalidParameter("mechanism", "a ratio in (0, 1) in lowest terms is expected")


class _Kind(Kind):
    name = "numeric"
    fields = ("ratio",)
    numeric = True
    ordered = True
    likeness = "near numbers more often than far ones"

    def check(self, parameters: Parameters) -> None:
        _read_ratio(parameters["ratio"])

    def mechanism(
        self, parameters: Parameters, categories: int, epsilon: str, delta: str
    ) -> ClampedGeometric:
        self.check_pure(delta)
        with at_fault("mechanism"):
            mechanism = ClampedGeometric(categories, _read_ratio(parameters["ratio"]))
        if not mechanism.privacy.satisfies(epsilon, "0"):
            raise InvalidParameter("mechanism", "its probabilities exceed the stated epsilon")
        return mechanism


KIND: Final = _Kind()
