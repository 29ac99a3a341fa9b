"""The ordinal mechanism: categories on a line, and near responses likelier than far ones.

The discrete exponential mechanism (Holohan, Leith and Mason, Definition 3) with utility
-|x - y| ln 1/r:  P(x, y) = r^|x-y| / C_x. The normaliser C_x grows towards the middle, by less than
1/r a step, so the tight pure level is that of the two ends, m ln 1/r: half of what the exponential
mechanism's general bound allows for.

A row over the grid N = 2^64 is made of boundaries: its first y + 1 responses together weigh
floor(N S/C_x), where S is the sum of their powers. So every weight is within 1 of its share of
N, and rows sum to N by themselves. This rule is part of the protocol.
"""

from bisect import bisect_left
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final

from deniable.mechanisms.distance import GRID, EvenlySpaced, falling_powers
from deniable.mechanisms.exact import GridTooCoarse, Number, exact_delta, exact_epsilon
from deniable.mechanisms.exponential import ceil_div, odds_floor
from deniable.mechanisms.privacy import MatrixPrivacy, Privacy
from deniable.mechanisms.randomness import Draw, os_random_word

_MOST_COMPARED: Final = 512
"""Up to so many categories, all rows are compared where no shorter argument gives the guarantee."""


class Ordinal(EvenlySpaced):
    """Answer y instead of x with a probability proportional to r^|x-y|.

    Raises GridTooCoarse for more than 512 categories whose weights 2^64 does not tell apart.

    Source: docs/mathematics.md, section 9.
    """

    def __init__(self, categories: int, ratio: Fraction) -> None:
        super().__init__(categories, ratio)
        self._powers = falling_powers(ratio, categories - 1)
        self._sums = list(accumulate(self._powers, initial=0))
        # Else the guarantee would take O(k^2), which for thousands of categories is a minute.
        if categories > _MOST_COMPARED and not self.falls_towards_the_ends:
            raise GridTooCoarse(
                "2^64 does not tell the neighbours of so many categories apart at this ratio; use "
                "fewer, or another epsilon"
            )

    @cached_property
    def truth(self) -> Fraction:
        """Return the probability of sending the answer itself, for the answer least often sent."""
        return Fraction(min(self.weight(x, x) for x in range(self.categories)), GRID)

    @cached_property
    def privacy(self) -> Privacy:
        """Return the tight guarantee of the implemented integers."""
        return _OrdinalPrivacy(self)

    def row(self, category: int) -> list[int]:
        """Return one row's integer weights over the grid."""
        x, m = self._index(category), self.categories - 1
        # The powers of distances x, x - 1, … 0, 1, … m - x, summed up from the left.
        sums = list(accumulate([*self._powers[x:0:-1], *self._powers[: m - x + 1]], initial=0))
        boundaries = [GRID * part // sums[-1] for part in sums]
        return [high - low for low, high in pairwise(boundaries)]

    def weight(self, category: int, response: int) -> int:
        """Return one entry's integer weight over the grid, in O(1)."""
        x, y = self._index(category), self._index(response)
        return self._boundary(x, y) - self._boundary(x, y - 1)

    def total(self, category: int) -> int:
        """Return C_x, the sum of a row's powers over 2^192."""
        return self._powers_up_to(self._index(category), self.categories - 1)

    def randomise(self, answer: int, draw: Draw = os_random_word) -> int:
        """Return a response to the true category ``answer``, in O(log k)."""
        x = self._index(answer)
        # The first y with word < floor(N S/C): word + 1 <= N S/C, S >= ceil((word + 1) C/N).
        threshold = ceil_div((draw() + 1) * self.total(x), GRID)
        return bisect_left(
            range(self.categories), threshold, key=lambda y: self._powers_up_to(x, y)
        )

    @cached_property
    def falls_towards_the_ends(self) -> bool:
        """Tell whether max and min of each column are provably its diagonal and one of its ends."""
        powers, m = self._powers, self.categories - 1
        totals = [self.total(x) for x in range(m + 1)]
        # P(x+1, y) <= P(x, y) for y <= x: T_(d+1)/T_d <= C_(x+1)/C_x, for every d and x. By
        # symmetry, that is also the other half of the matrix.
        steepest = max(Fraction(far, near) for near, far in pairwise(powers))
        if any(steepest * here > there for here, there in pairwise(totals)):
            return False

        def clear(x: int, nearer: int, y: int) -> bool:
            # N P(nearer, y) - N P(x, y) >= 2
            gap = powers[abs(nearer - y)] * totals[x] - powers[abs(x - y)] * totals[nearer]
            return GRID * gap >= 2 * totals[x] * totals[nearer]

        return all(clear(m, m - 1, y) and clear(y + 1, y, y) for y in range(m))

    def _boundary(self, x: int, y: int) -> int:
        return GRID * self._powers_up_to(x, y) // self._powers_up_to(x, self.categories - 1)

    def _powers_up_to(self, x: int, y: int) -> int:
        """Return S, the sum of r^|x-z| over z = 0 … y, by two sums that start at distance 0."""
        if y < x:
            return self._sums[x + 1] - self._sums[x - y]
        return self._sums[x + 1] + self._sums[y - x + 1] - self._powers[0]


class _OrdinalPrivacy(MatrixPrivacy):
    """The guarantee in O(k), where the integers show that a column's extremes stand where they do.

    In exact terms a column falls from the diagonal to both ends. The weights are within 1 of that,
    so where two neighbours of an extreme differ by 2 or more, it is the extreme of the weights.
    """

    def __init__(self, matrix: Ordinal) -> None:
        super().__init__(matrix)
        self._ordinal = matrix

    def satisfies(self, epsilon: Number, delta: Number) -> bool:
        """Tell whether the matrix is private; at once if not even the ends of its columns are."""
        allowed, ends = odds_floor(exact_epsilon(epsilon)), self._odds_of_ends
        if exact_delta(delta) == 0 and (ends is None or ends > allowed):
            return False
        return super().satisfies(epsilon, delta)

    @cached_property
    def odds(self) -> Fraction | None:
        if self._odds_of_ends is None or self._ordinal.falls_towards_the_ends:
            return self._odds_of_ends
        return MatrixPrivacy(self._ordinal).odds

    @cached_property
    def _odds_of_ends(self) -> Fraction | None:
        """Return the largest ratio of a diagonal to an end of its column: never above the odds."""
        weight, m = self._ordinal.weight, self._ordinal.categories - 1
        worst = Fraction(1)
        for y in range(m + 1):
            least = min(weight(0, y), weight(m, y))
            if least == 0:
                return None
            worst = max(worst, Fraction(weight(y, y), least))
        return worst
