"""The metric mechanism: any table of distances between categories.

The discrete exponential mechanism (Holohan, Leith and Mason, Definition 3) with utility
-d(x, y) ln 1/r. The table needs no triangle inequality: the guarantee is read off the integers, not
argued from the distances.

Rows over the grid N = 2^64 are made of boundaries: the first y + 1 responses of a row together
weigh floor(N S/C), with S the sum of their powers and C of all. This rule is part of the protocol.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final, Self

from deniable.mechanisms.distance import GRID, DistanceMechanism, calibrated_ratio, falling_powers
from deniable.mechanisms.exact import Number
from deniable.mechanisms.randomness import Draw, os_random_word

MAX_METRIC: Final = 512
"""Most categories with a table of distances: a device compares all rows of such a matrix."""

MAX_DISTANCE: Final = 4095
"""Largest distance in a table."""


class Metric(DistanceMechanism):
    """Answer y instead of x with a probability proportional to r^d(x,y), d from a table.

    The table holds whole numbers up to 4,095: 0 on the diagonal, positive elsewhere, symmetric. At
    most 512 categories.

    Source: docs/mathematics.md, section 9.
    """

    def __init__(self, distances: Sequence[Sequence[int]], ratio: Fraction) -> None:
        super().__init__(len(distances), ratio)
        self.distances: Final = tuple(map(tuple, distances))
        _check_distances(self.distances)
        self._powers = falling_powers(ratio, max(map(max, self.distances)))

    @classmethod
    def calibrated(cls, distances: Sequence[Sequence[int]], epsilon: Number) -> Self:
        """Return the mechanism of the least noise whose tight epsilon is not above ``epsilon``.

        All rows are compared for each of some hundred ratios: seconds, for hundreds of categories.
        """
        _check_distances(distances)
        largest = max(map(max, distances))
        return cls(
            distances, calibrated_ratio(lambda r: cls(distances, r).privacy, epsilon, largest)
        )

    @cached_property
    def truth(self) -> Fraction:
        """Return the probability of sending the answer itself, for the answer least often sent."""
        return min(self.probability(x, x) for x in range(self.categories))

    def row(self, category: int) -> list[int]:
        """Return one row's integer weights over the grid."""
        return [high - low for low, high in pairwise([0, *self._boundaries(category)])]

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``, in O(k)."""
        boundaries = self._boundaries(answer)
        word = draw()
        # Every boundary is compared, so that the work says nothing about answer or response.
        return sum(word >= boundary for boundary in boundaries[:-1])

    def _boundaries(self, category: int) -> list[int]:
        distances = self.distances[self._index(category)]
        sums = list(accumulate(self._powers[distance] for distance in distances))
        return [GRID * part // sums[-1] for part in sums]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metric):
            return NotImplemented
        return (self.distances, self.ratio) == (other.distances, other.ratio)

    def __hash__(self) -> int:
        return hash((self.distances, self.ratio))


def _check_distances(distances: Sequence[Sequence[int]]) -> None:
    if not 2 <= len(distances) <= MAX_METRIC:
        raise ValueError(f"a table of distances has 2 to {MAX_METRIC} rows")
    for x, row in enumerate(distances):
        if len(row) != len(distances):
            raise ValueError(f"row {x} of the distances has {len(row)} entries, not one a row")
    for x, row in enumerate(distances):
        for y, distance in enumerate(row):
            if type(distance) is not int or not (x != y) <= distance <= MAX_DISTANCE:
                raise ValueError(
                    f"distances are whole numbers up to {MAX_DISTANCE}, positive except on the "
                    f"diagonal; row {x}, column {y} is not"
                )
            if (x == y and distance) or distance != distances[y][x]:
                raise ValueError(
                    f"distances are 0 on the diagonal and the same both ways; row {x}, column {y} "
                    "is not"
                )
