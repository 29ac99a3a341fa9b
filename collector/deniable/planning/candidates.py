"""The mechanisms that could be the most accurate, and the cost of each.

All are designs: r of the K responses support a category, and t support any two. Those that support
the answer are sent at the odds E to the others; docs/mathematics.md, section 17.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from itertools import chain
from math import comb, expm1, inf, isqrt, sqrt
from typing import Final, TypeVar

from deniable.mechanisms import DesignMechanism, Number, RandomisedResponse, odds_ceiling
from deniable.mechanisms.affine import Affine, class_size, is_prime, proportions, signed_group_size
from deniable.mechanisms.answering import Answered, Answering, answering_parameters
from deniable.mechanisms.block_design import MAX_RESPONSES
from deniable.mechanisms.difference_set import SETS, DifferenceSet
from deniable.mechanisms.subset import MAX_MEMBERS, Subset
from deniable.mechanisms.two_round import SINGLE
from deniable.planning.words import named

# No single number ranks mechanisms. Randomised response lies least often (Theorem 10). Estimates of
# all shares together have the least variance with subset selection, which is randomised response
# itself only for few categories, (k-1)(k-2) <= 2 E^2. To estimate each share within +- h, the
# greatest variance must be least. The larger that share may be, the larger blocks this requires.
# Each criterion has its own optimum: docs/mathematics.md, section 14.


_Real = TypeVar("_Real", float, Fraction)


def least_cost(categories: int, odds: Fraction, largest_share: float = 0.0) -> Fraction | None:
    """Return k n times the greatest variance of shares up to a limit, with the best subsets.

    The odds are as given, and delta is 0. Up to 1/k, where it is the sum of the variances of all
    shares, no matrix with these odds has less, for fixed data of equal frequencies: Ye and Barg
    2018. None at odds 1, where nothing can be estimated.
    """
    if odds == 1:
        return None
    # At uniform f the Fisher information is largest if every column takes two values of ratio E,
    # the larger one on d categories: n E||fhat - f||^2 >= M with M = min_d (k-1)^2 (dE + k - d)^2 /
    # (k d (k-d) (E-1)^2), which falls up to d = k/(E + 1) and then rises. That is for sampled data.
    # For fixed data it is less by sum f(1-f) = 1 - 1/k, which the design of all subsets of d
    # categories attains.
    k, share = categories, max(Fraction(largest_share), Fraction(1, categories))
    below = int(k * best_part(k, float(odds - 1), float(share)))
    return min(
        greatest_cost(k, k * (k - 1), d * (k - 1), d * (d - 1), odds - 1, share)
        for d in {max(1, below), min(below + 1, k - 1)}
    )


def greatest_cost(
    categories: int,
    responses: int,
    replication: int,
    together: int,
    excess: _Real,
    share: _Real,
) -> _Real:
    """Return k n times the mechanism's addition to the greatest variance of an estimated share.

    It applies to support counts and to shares up to ``share``, which is 1/k or more: at 1/k it is
    the sum of all variances. Of K responses r support a category, t any two; ``excess`` is E - 1,
    where E is the odds of a response that supports the answer to one that does not. Other numbers
    in the same proportions give the same result. Source: docs/mathematics.md, section 17.
    """
    # n Var = (f p (1 - p) + (1 - f) q (1 - q))/(p - q)^2 of a share f, with Z = r E + K - r, p = r
    # E/Z and q = (t E + r - t)/Z. Floats suffice for any epsilon, as nothing is subtracted from 1.
    odds, order = 1 + excess, replication - together
    whole = (order * excess) ** 2
    own = replication * odds * (responses - replication) / whole
    other = (together * odds + order) * (order * odds + responses - replication - order) / whole
    if share * categories <= 1:
        return categories * (share * own + (1 - share) * other)
    return categories * _greatest_added(other, own - other, share)


def _greatest_added(other: _Real, rise: _Real, share: _Real) -> _Real:
    """Return the greatest variance of shares f up to ``share``, minus that of sampling alone."""
    # n Var = other + rise f + f (1 - f) if devices are sampled, which is concave in f; without
    # noise it is f (1 - f). Up to 1/2 it is greatest at the end, unless noise falls with f.
    half = (share * 0 + 1) / 2  # with the argument's type
    at, alone = min(max((1 + rise) / 2, share * 0), share), min(share, half)
    return other + rise * at + (at - alone) * (1 - at - alone)


PLAIN: Final = "randomised-response"
"""The kind with which the designs are compared."""
DESIGNS: Final = {"subset": Subset, "affine": Affine, "difference-set": DifferenceSet}
"""For each other kind, the function from categories and parameters to its design."""

_ALL_ORDERS: Final = 1447
"""The last prime q with q (q - 1)/2 <= 2^20: up to it, blocks with m = 1 may have any size."""
_NEAR: Final = 1.05
"""Above that, primes with m = 1 are considered up to this factor of the categories."""

_SIZES: Final = {"subset": "d", "affine": "s"}
"""The parameter that is the size of blocks."""

SMALLEST_WITHIN: Final = 1.002
"""Of the designs within 0.2 % of the best, the one with the fewest responses is chosen."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kind of mechanism with its parameters and the numbers of its design."""

    kind: str
    categories: int
    responses: int
    replication: int
    together: int
    parameters: Mapping[str, int] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, kind: str, categories: int, parameters: Mapping[str, int]) -> "Candidate":
        """Return the mechanism with a manifest's kind and parameters.

        Raises:
            KeyError: if the mechanism is not a design.
        """
        if kind == PLAIN:
            return cls(kind, categories, categories, 1, 0)
        design = DESIGNS[kind](categories, *parameters.values())
        numbers = design.responses, design.replication, design.together
        return cls(kind, categories, *numbers, parameters)

    @classmethod
    def of_answering(cls, categories: int, answering: Answering) -> "Candidate":
        """Return a mechanism for one of several questions, or a fresh round; or raise KeyError."""
        if answering == SINGLE:
            return cls.of(PLAIN, categories, {})
        return cls.of(str(answering[0]), categories, answering_parameters(answering))

    @property
    def answering(self) -> Answering:
        """Return the name and the parameters that a manifest lists for one of several questions."""
        return (self.kind, *self.parameters.values())

    @property
    def size(self) -> int:
        """Return the parameter that is the size of the blocks; 1 if there is no such parameter."""
        return self.parameters.get(_SIZES.get(self.kind, ""), 1)

    def sizes(self, most: int) -> list[int]:
        """Return the possible sizes of blocks on these points, in increasing order.

        The sizes allow at most this many responses; some sizes may still have too many sets.
        """
        if self.kind == "affine":
            order, dimension = self.parameters["q"], self.parameters["m"]
            return sorted(set().union(*block_sizes(order, dimension, most)))
        if self.kind == "subset":
            return [*range(2, self.categories)]  # sets of one are randomised response
        return [self.size]

    def of_size(self, size: int) -> "Candidate":
        """Return the design with blocks of this size on the same points, or raise ValueError."""
        if size == self.size:
            return self
        parameters = {**self.parameters, _SIZES[self.kind]: size}
        return Candidate.of(self.kind, self.categories, parameters)

    @property
    def separating(self) -> int:
        """Return how many responses support one category and not another."""
        return self.replication - self.together

    @property
    def points(self) -> int:
        """Return v, the number of points in the blocks, at least the number of categories."""
        # Each of the K blocks has b points, v r = K b, and each point shares t of its r blocks with
        # every other: r (b - 1) = t (v - 1).
        return (
            self.responses
            * self.separating
            // (self.replication**2 - self.responses * self.together)
        )

    @property
    def block(self) -> int:
        """Return b, the number of points that a response supports."""
        return self.points * self.replication // self.responses

    def bounded(self, delta: float) -> bool:
        """Return whether the odds are limited: a large delta allows any odds."""
        return delta * self.replication < self.separating

    def excess(self, pure: _Real, delta: _Real) -> _Real:
        """Return E - 1 for the odds E of a report that has this delta; ``pure`` is e^epsilon - 1.

        Source: Theorem 4 of Holohan, Leith and Mason, for designs; docs/mathematics.md, section 14.
        """
        separating = self.separating
        bounded = separating - delta * self.replication
        return (separating * pure + delta * self.responses) / bounded

    def cost(self, epsilon: float, delta: float = 0.0, largest_share: float = 0.0) -> float:
        """Return k n times its addition to the greatest variance of shares up to the largest.

        Up to 1/k it is n times the sum of the variances of all shares, whatever these are.
        """
        numbers = self.categories, self.responses, self.replication, self.together
        excess = self.excess(expm1(epsilon), delta)
        return greatest_cost(*numbers, excess, max(largest_share, 1 / self.categories))

    def __str__(self) -> str:
        return named(self.kind, self.parameters)

    def mechanism(self, epsilon: Number, delta: Number = "0") -> Answered:
        """Return the solution matrix with this privacy.

        Raises:
            InvalidPrivacyParameter, GridTooCoarse: if no such matrix exists.
        """
        if self.kind == PLAIN:
            return RandomisedResponse(self.categories, epsilon, delta)
        design = DESIGNS[self.kind](self.categories, *self.parameters.values())
        return DesignMechanism(design, epsilon, delta)


@lru_cache(maxsize=64)  # publishing repeats it, and with delta it takes .2 s
def candidates(
    categories: int,
    epsilon: float,
    delta: float = 0.0,
    most_responses: int = MAX_RESPONSES,
    largest_share: float = 0.0,
) -> tuple[Candidate, ...]:
    """Return randomised response, and designs within the limit that could be best.

    For the affine designs of each q, they include the cheapest size of blocks, and nearly as cheap
    sizes with fewer responses. For subsets, they also include smaller sizes, down to half of the
    best, which have fewer responses.
    """
    most = min(most_responses, MAX_RESPONSES)
    return tuple(
        candidates_of_blocks(categories, epsilon, delta, most, lambda _: inf, largest_share)
    )


def candidates_of_blocks(
    k: int,
    epsilon: float,
    delta: float,
    most: int,
    largest: Callable[[int], float],
    largest_share: float,
) -> Iterator[Candidate]:
    """Yield the candidates whose blocks have at most ``largest`` points, a function of all points.

    Single points are included, since they always are blocks.
    """
    costs_of = partial(_costs, k, (epsilon, delta, largest_share))
    yield Candidate.of(PLAIN, k, {})
    if comb(k, 2) <= most:
        most_members = int(min(k - 1, largest(k)))
        costs = costs_of(k, 1, [range(1, most_members + 1)])
        best = max(2, min(costs, key=costs.__getitem__, default=0))
        for d in range(max(2, best // 2), min(best, most_members) + 1):
            if comb(k, d) <= most and comb(k, d) * d <= MAX_MEMBERS:
                subset = Candidate.of("subset", k, {"d": d})
                if subset.bounded(delta):
                    yield subset
    for v in SETS:
        if k <= v <= most:
            translates = Candidate.of("difference-set", k, {"v": v})
            if translates.block <= largest(v) and translates.bounded(delta):
                yield translates
    larger = range(max(k, _ALL_ORDERS + 1), int(_NEAR * k) + 1)
    for q in chain(range(2, _ALL_ORDERS + 1), larger):
        # The least m with q^m >= k: a larger m has more responses and, without delta, no advantage.
        m = next(m for m in range(1, k + 1) if q**m >= k)
        if sizes := block_sizes(q, m, most):
            greatest = largest(q**m) / q ** (m - 1)
            fitting = [those[: bisect_right(those, greatest)] for those in sizes]
            costs = costs_of(q, m, fitting)
            merged, enough = 0, min(costs.values(), default=0.0) * SMALLEST_WITHIN
            for s in sorted(costs, key=costs.__getitem__):
                if costs[s] <= enough and class_size(q, s) > merged:
                    merged = class_size(q, s)
                    yield Candidate.of("affine", k, {"q": q, "m": m, "s": s})


@lru_cache(maxsize=4096)  # a search for an epsilon requests the same ones a hundred times
def block_sizes(order: int, dimension: int, most: int) -> tuple[range, ...]:
    """Return ranges of all s for which an affine design has at most this many responses."""
    # K = q (q^m - 1)/n with n = lcm(2, h), for divisors h of q - 1 and of s or s - 1.
    others, blocks = order - 1, order * (order**dimension - 1)
    if blocks > most * others or not is_prime(order):
        return ()
    return tuple(
        range(first, order, h)
        for i in range(1, isqrt(others) + 1)
        if others % i == 0
        for h in {i, others // i}
        if signed_group_size(order, h) * most >= blocks
        for first in {1, h}
    )


def _costs(
    k: int, terms: tuple[float, float, float], q: int, m: int, among: Iterable[range]
) -> dict[int, float]:
    """Return the costs of the sizes of blocks that may be best if delta limits the odds.

    The terms are epsilon, delta and the largest share. The sets of d of k categories have the
    numbers of blocks, in proportion, of q = k, m = 1, s = d.
    """
    epsilon, delta, largest_share = terms
    if not delta:
        # The cost has one minimum, so the best sizes of a range are the two next to it.
        size = q * best_part(q**m, expm1(epsilon), max(largest_share, 1 / k))
        ends = [(sizes, bisect_right(sizes, size)) for sizes in among]
        among = [sizes[max(0, above - 1) : above + 1] for sizes, above in ends]
    designs = {s: Candidate("", k, *proportions(q, m, s)) for s in set().union(*among)}
    return {s: one.cost(*terms) for s, one in designs.items() if one.bounded(delta)}


def best_part(points: int, excess: float, share: float) -> float:
    """Return the cheapest part of all points in a block at delta 0, for shares up to one."""
    # With L points, each block has a fraction u of them: r/K = u, (r - t)/K = c u (1 - u), c = L/(L
    # - 1), and with e = E - 1 a share f of fixed data has n Var = g(u)/(c^2 e^2 u (1 - u)), g(u) =
    # (1 + e - e c (1 - u))(1 + e c u) + f e c (1 - 2u - e u + e c u (1 - u)). A quadratic g(u) > 0
    # over u (1 - u) has one minimum in (0, 1), at 1/(1 + sqrt(g(1)/g(0))).
    spread = excess * points / (points - 1)
    if share > 0.5:  # the greatest variance is in the interior, since it falls and also rises

        def added(u: float) -> float:
            other = (1 + excess - spread * (1 - u)) * (1 + spread * u) / (u * (1 - u) * spread**2)
            rise = (1 - 2 * u - excess * u + spread * u * (1 - u)) / (spread * u * (1 - u))
            return _greatest_added(other, rise, share)

        low, high = 1e-12, 1 - 1e-12
        for _ in range(64):
            one, two = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, two) if added(one) < added(two) else (one, high)
        return low
    at_0 = 1 + excess * max(share * points - 1, 0.0) / (points - 1)
    at_1 = (1 + excess) * (1 + spread * (1 - share))
    # Beyond the u with p + q = 1, where the term in f is 0, the smallest shares vary most, and more
    # as u grows: e c u^2 + (2 + e - e c) u = 1.
    linear = 2 + excess - spread
    root = sqrt(linear**2 + 4 * spread)
    even = 2 / (linear + root) if linear > 0 else (root - linear) / (2 * spread)
    return min(1 / (1 + sqrt(at_1 / at_0)), even)


def lower_bound(categories: int, epsilon: float, largest_share: float = 0.0) -> float:
    """Return the cost of the best design of all subsets, at delta 0, for shares up to a limit.

    For all shares together, up to 1/k, no unbiased estimates have less in the worst case, in which
    all categories are equally frequent.
    """
    least = least_cost(categories, odds_ceiling(Fraction(epsilon)), largest_share)
    return inf if least is None else float(least)
