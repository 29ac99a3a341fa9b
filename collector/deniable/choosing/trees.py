"""The tree of levels that shares of ranges of ordered answers take the fewest reports by.

Of all trees whose nodes have up to 16 below them, by the exact variances of a share of all answers
up to some one, on average over these, if answers are equally frequent.
"""

from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Final, NamedTuple

from deniable.choosing.candidates import Candidate, candidates, lower_bound
from deniable.mechanisms.answering import Answering
from deniable.mechanisms.design import MAX_RESPONSES
from deniable.mechanisms.levels import Widths

_MOST_BELOW: Final = 16
_MOST_LEVELS: Final = 12
_LEAST_EPSILON: Final = 0.01
"""Below this, trees are the same."""

_MANY: Final = 128
"""Of more answers, a level's mechanism is the one of the fewest responses within 5 % of the best;
else within 2 %: each figure looks at the responses of all levels, once for each answer."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The widths of a tree's levels, and what answers with the nodes of each.

    Attributes:
        variance: n times that of a share of all answers up to some one, on average over these.
    """

    widths: tuple[int, ...]
    parts: tuple[Candidate, ...]
    variance: float

    @property
    def mechanisms(self) -> tuple[Answering, ...]:
        """Return the mechanisms as a manifest has them."""
        return tuple(part.answering for part in self.parts)


def best_tree(
    categories: int, epsilon: float, delta: float = 0.0, most_responses: int = MAX_RESPONSES
) -> Tree:
    """Return the best tree of at most so many responses in all.

    Raises:
        ValueError: if epsilon and delta are both 0, or there is nothing to tell apart.
    """
    if categories < 2 or not epsilon + delta > 0:
        raise ValueError("there is nothing to tell apart, or nothing may be told")
    chosen = _widths(categories, epsilon)
    while True:
        parts = _parts(categories, chosen, epsilon, delta, most_responses)
        if sum(part.responses for part in parts) <= most_responses or len(chosen) == 1:
            break
        chosen = chosen[1:]
    variances = [_node_variance(part.categories, part.cost(epsilon, delta)) for part in parts]
    below = _Below(variances[-1])
    for variance, width, inner in zip(
        variances[-2::-1], chosen[-2::-1], chosen[:0:-1], strict=True
    ):
        below = below.joined(width // inner).under(variance)
    energy = below.joined(parts[0].categories).energy
    return Tree(chosen, parts, len(chosen) * energy)


def level_mechanisms(
    categories: int, widths: Widths, epsilon: float, delta: float, most_responses: int
) -> tuple[Answering, ...]:
    """Return the best mechanisms for the nodes of levels of these widths."""
    parts = _parts(categories, widths, epsilon, delta, most_responses)
    return tuple(part.answering for part in parts)


def _parts(
    categories: int, widths: Widths, epsilon: float, delta: float, most_responses: int
) -> tuple[Candidate, ...]:
    within = 1.05 if categories > _MANY else 1.02
    return tuple(
        _answered(ceil(categories / width), epsilon, delta, most_responses, within)
        for width in widths
    )


def _answered(
    nodes: int, epsilon: float, delta: float, most_responses: int, within: float
) -> Candidate:
    """Return the mechanism of the fewest responses within so many times the least cost."""
    those = candidates(nodes, epsilon, delta, most_responses)
    costs = {one: one.cost(epsilon, delta) for one in those}
    least = min(costs.values())
    near = (one for one, cost in costs.items() if cost <= within * least)
    return min(near, key=lambda one: one.responses)


def _node_variance(nodes: int, cost: float) -> float:
    """Return v, n times the variance of a node's share; of equally frequent nodes."""
    # All shares together have the cost, and 1 - 1/nodes since devices are sampled; they sum to 1.
    return (cost + 1 - 1 / nodes) / (nodes - 1)


class _Below(NamedTuple):
    """The part of a network (``decoders/levels.py``) below a node in which a range ends.

    Answers up to some one have the potential 1, the others 0.

    Attributes:
        conductor: c, from above.
        energy: that of the heat within, if the node is left alone, on average over the ends.
        mean, square: of its potential.
    """

    conductor: float
    energy: float = 0.0
    mean: float = 0.0
    square: float = 0.0

    def joined(self, count: int) -> "_Below":
        """Return so many nodes side by side, in one of which the range ends."""
        # l of them are up to the end, l uniform on 0 … B - 1, and one has the potential p: the heat
        # is c (l + p^2 - (l + p)^2/B).
        ones, squares = (count - 1) / 2, (count - 1) * (2 * count - 1) / 6
        total = squares + 2 * ones * self.mean + self.square
        return _Below(
            self.conductor * count,
            self.energy + self.conductor * (ones + self.square - total / count),
            (ones + self.mean) / count,
            total / count**2,
        )

    def under(self, variance: float) -> "_Below":
        """Return the part with the branch up to the node that holds it."""
        conductor = variance * self.conductor / (variance + self.conductor)
        return self._replace(conductor=conductor)


def _widths(categories: int, epsilon: float) -> tuple[int, ...]:
    """Return the best widths, with what no mechanism is better than at each level.

    Of partial trees of one width and as many levels the better is kept: that with less heat, and
    half of its conductor, by which more is to come.
    """

    @cache
    def variance(width: int) -> float:
        nodes = ceil(categories / width)
        return _node_variance(nodes, lower_bound(nodes, max(epsilon, _LEAST_EPSILON)))

    partial: dict[tuple[int, ...], _Below] = {(1,): _Below(variance(1))}
    best: dict[tuple[int, ...], float] = {(1,): partial[(1,)].joined(categories).energy}
    for count in range(2, _MOST_LEVELS + 1):
        kept: dict[int, tuple[float, tuple[int, ...], _Below]] = {}
        for widths, below in partial.items():
            for fan in range(2, _MOST_BELOW + 1):
                if (width := widths[0] * fan) >= categories:
                    break
                joined = below.joined(fan).under(variance(width))
                entry = joined.energy + joined.conductor / 2, (width, *widths), joined
                kept[width] = min(kept.get(width, entry), entry)
        partial = {widths: below for _, widths, below in kept.values()}
        for widths, below in partial.items():
            best[widths] = count * below.joined(ceil(categories / widths[0])).energy
    return min(best, key=best.__getitem__)
