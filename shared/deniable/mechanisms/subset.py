"""Subset designs: a response is a set of d categories (subset selection).

K = C(k, d), r = C(k-1, d-1), t = C(k-2, d-2). At the best d no mechanism estimates frequencies
better (Ye and Barg 2018). But there are so many subsets that it suits at most about 20 categories.
"""

from bisect import bisect_right
from collections.abc import Iterable
from math import comb
from typing import Final

from deniable.mechanisms.block_design import Design, DesignKind

MAX_MEMBERS: Final = 1 << 23
"""The most categories that all responses support together, K d."""


class Subset(Design):
    """All sets of d categories.

    A response is the set's colexicographic rank: sets are ordered by their largest members, then by
    their second largest, and so on.
    """

    def __init__(self, categories: int, size: int) -> None:
        check_subset(size)
        if size >= categories:
            raise ValueError(f"{size} must be below the number of categories")
        # C(k, d) is at least 2^min(d, k - d), so no number with thousands of digits is computed.
        many = min(size, categories - size) > 20
        if many or (blocks := comb(categories, size)) * size > MAX_MEMBERS:
            raise ValueError("there are too many sets of this size; use an affine design")
        super().__init__(
            (categories, size),
            responses=blocks,
            replication=comb(categories - 1, size - 1),
            together=comb(categories - 2, size - 2) if size > 1 else 0,
            positions=categories,
            size=size,
            points=categories,
        )

    def supports(self, response: int, category: int) -> bool:
        """Return whether the response supports the category."""
        return category in self.members(response)

    def members(self, response: int) -> list[int]:
        """Return the categories that a response supports, the greatest first."""
        members, above = [], range(self.categories)
        for places in range(self.size, 0, -1):
            # The greatest category for which C(category, places) does not exceed the remainder.
            category = bisect_right(above, response, key=lambda x: comb(x, places)) - 1
            response -= comb(category, places)
            members.append(category)
            above = range(category)
        return members

    def supported(self, response: int) -> list[int]:
        """Return the categories that the response supports, in order."""
        return self.members(response)[::-1]

    def turned(self, base: int, position: int, category: int) -> int:
        """Return the set, rotated on the circle of categories."""
        supported = self.members(base)
        if position < self.size:
            placed = supported[position]
        else:
            # The other members from the least up: each no greater one moves it up by one.
            placed = position - self.size
            for member in reversed(supported):
                placed += member <= placed
        turn = category - placed
        return rank((member + turn) % self.categories for member in supported)


def rank(members: Iterable[int]) -> int:
    """Return the colexicographic rank of a set."""
    return sum(comb(member, places) for places, member in enumerate(sorted(members), 1))


def check_subset(size: object) -> None:
    """Check d."""
    if type(size) is not int:
        raise TypeError("d must be a whole number")
    if size < 1:
        raise ValueError("d must be at least 1")


class _Kind(DesignKind):
    name = "subset"
    fields = ("d",)
    form = Subset
    check_form = staticmethod(check_subset)


KIND: Final = _Kind()
