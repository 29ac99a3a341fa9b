"""Difference sets: designs with no more responses than points, for kept responses.

The v points are a group, and D is a set of s of them. Each element except 0 is equally often the
difference of two elements of D. A response y supports x if x - y is in D:

    K = v,    r = s,    t = s (s - 1) / (v - 1).

D is a line of the plane of order 3 in the residues mod 13, a plane of the space of order 2 in the
residues mod 15, or a biplane's block in the numbers below 16, whose difference is the exclusive or.
Affine designs include those with 7 and 11 points.
"""

from typing import Final

from deniable.mechanisms.block_design import Design, DesignKind

SETS: Final = {13: (0, 1, 3, 9), 15: (0, 1, 2, 4, 5, 8, 10), 16: (3, 7, 11, 12, 13, 14)}
"""The set D for each number of points."""

_POSITIONS: Final = {v: (*d, *sorted(set(range(v)) - {*d})) for v, d in SETS.items()}


class DifferenceSet(Design):
    """The translates of a difference set."""

    def __init__(self, categories: int, points: int) -> None:
        check_points(points)
        if categories > points:
            raise ValueError(f"v = {points} allows at most {points} categories")
        size = len(SETS[points])
        super().__init__(
            (categories, points),
            responses=points,
            replication=size,
            together=size * (size - 1) // (points - 1),
            positions=points,
            size=size,
            points=points,
        )

    def supports(self, response: int, category: int) -> bool:
        """Return whether the response supports the category."""
        return self._difference(category, response) in SETS[self.responses]

    def turned(self, base: int, position: int, category: int) -> int:
        """Return the translate with the position at the category, whatever the base."""
        return self._difference(category, _POSITIONS[self.responses][position])

    def _difference(self, one: int, other: int) -> int:
        return one ^ other if self.responses == 16 else (one - other) % self.responses


def check_points(points: object) -> None:
    """Check v."""
    if type(points) is not int:
        raise TypeError("v must be a whole number")
    if points not in SETS:
        raise ValueError("v must be 13, 15 or 16")


class _Kind(DesignKind):
    name = "difference-set"
    fields = ("v",)
    form = DifferenceSet
    check_form = staticmethod(check_points)


KIND: Final = _Kind()
