"""The mechanisms that could be the most accurate, and what each of them costs.

All are designs: r of K responses support a category, t of them any two, and those that support the
answer are sent at the odds E to the others; docs/mathematics.md, section 17.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from math import comb, expm1, inf, isqrt, log1p, sqrt
from typing import Final, TypeVar

from deniable.mechanisms import DesignMechanism, Number, RandomisedResponse, odds_ceiling
from deniable.mechanisms.affine import Affine, class_size, is_prime, proportions, signed_group_size
from deniable.mechanisms.answering import Answered, Answering, answering_parameters
from deniable.mechanisms.block_design import MAX_RESPONSES
from deniable.mechanisms.difference_set import SETS, DifferenceSet
from deniable.mechanisms.subset import MAX_MEMBERS, Subset
from deniable.mechanisms.two_round import SINGLE
from deniable.planning.words import named

# No single number ranks mechanisms. Randomised response lies least often (Theorem 10). Estimates
# vary least with subset selection, which is randomised response itself only for few categories,
# (k-1)(k-2) <= 2 E^2. So each criterion has an optimum of its own: docs/mathematics.md, section 14.


_Real = TypeVar("_Real", float, Fraction)


def least_variance(categories: int, odds: Fraction) -> Fraction | None:
    """Return the least of n times the summed variances of estimates, at these odds and delta 0.

    No matrix of these odds has less, for fixed data of equal frequencies.
    Attained by subset selection. None at odds 1, where nothing can be estimated. Ye and Barg 2018.
    """
    if odds == 1:
        return None
    # At uniform f the Fisher information is largest if every column takes two values of ratio E,
    # the larger one on d categories: n E||fhat - f||^2 >= M with
    #   M = min_d (k-1)^2 (dE + k - d)^2 / (k d (k-d) (E-1)^2),
    # which falls up to d = k/(E + 1) and then rises. That is for sampled data; for fixed data it is
    # less by sum f(1-f) = 1 - 1/k, and what the design of all subsets of d categories has.
    k, below = categories, int(categories / (odds + 1))
    return min(
        design_variance(k, k * (k - 1), d * (k - 1), d * (d - 1), odds - 1)
        for d in (max(1, below), below + 1)
    )


def design_variance(
    categories: int, responses: int, replication: int, together: int, excess: _Real
) -> _Real:
    """Return n times the summed variances of estimates from support counts, of fixed data.

    Of K responses r support a category, t any two; ``excess`` is E - 1, E the odds of a response
    that supports the answer to one that does not. Other numbers in the same proportions do as well.
    Source: docs/mathematics.md, section 17.
    """
    # (p (1 - p) + (k - 1) q (1 - q))/(p - q)^2, with Z = r E + K - r, p = r E/Z and
    # q = (t E + r - t)/Z. Floats do for any epsilon, as nothing is subtracted from 1.
    odds, order = 1 + excess, replication - together
    own = replication * odds * (responses - replication)
    others = (together * odds + order) * (order * odds + responses - replication - order)
    return (own + (categories - 1) * others) / (order * excess) ** 2


PLAIN: Final = "randomised-response"
"""The kind that is compared with the designs."""
DESIGNS: Final = {"subset": Subset, "affine": Affine, "difference-set": DifferenceSet}
"""Of each other kind, what makes its design of the categories and of its parameters."""

_ALL_ORDERS: Final = 1447
"""The last prime q with q (q - 1)/2 <= 2^20: of m = 1, all sizes of blocks may be up to there."""
_NEAR: Final = 1.05
"""Above, of m = 1, a prime is looked at that is not this much more than the categories."""

_SIZES: Final = {"subset": "d", "affine": "s"}
"""The parameter that is the size of blocks."""

SMALLEST_WITHIN: Final = 1.002
"""Of designs, that of the fewest responses is chosen within 0.2 % of the best."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kind of mechanism with its parameters, and the numbers of its design."""

    kind: str
    categories: int
    responses: int
    replication: int
    together: int
    parameters: Mapping[str, int] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, kind: str, categories: int, parameters: Mapping[str, int]) -> "Candidate":
        """Return the mechanism of a manifest's kind and parameters.

        Raises:
            KeyError: if it is no design.
        """
        if kind == PLAIN:
            return cls(kind, categories, categories, 1, 0)
        design = DESIGNS[kind](categories, *parameters.values())
        numbers = design.responses, design.replication, design.together
        return cls(kind, categories, *numbers, parameters)

    @classmethod
    def of_answering(cls, categories: int, answering: Answering) -> "Candidate":
        """Return a mechanism for one of several questions, or a fresh round; KeyError likewise."""
        if answering == SINGLE:
            return cls.of(PLAIN, categories, {})
        return cls.of(str(answering[0]), categories, answering_parameters(answering))

    @property
    def answering(self) -> Answering:
        """Return the name and the parameters by which a manifest has it answer a question."""
        return (self.kind, *self.parameters.values())

    @property
    def size(self) -> int:
        """Return the parameter that is the size of its blocks; 1 where there is none."""
        return self.parameters.get(_SIZES.get(self.kind, ""), 1)

    def sizes(self, most: int) -> list[int]:
        """Return the sizes that blocks of these points may have, rising.

        For at most so many responses; of some there may be too many sets all the same.
        """
        if self.kind == "affine":
            order, dimension = self.parameters["q"], self.parameters["m"]
            return sorted(set().union(*block_sizes(order, dimension, most)))
        if self.kind == "subset":
            return [*range(2, self.categories)]  # sets of one are randomised response
        return [self.size]

    def of_size(self, size: int) -> "Candidate":
        """Return the design with blocks of this size of the same points; ValueError if none is."""
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
        """Return v, how many categories its blocks are made for, at least as many as there are."""
        # Each of the K blocks has b points, v r = K b, and each point is with every other in t of
        # its r blocks: r (b - 1) = t (v - 1).
        return (
            self.responses
            * self.separating
            // (self.replication**2 - self.responses * self.together)
        )

    @property
    def block(self) -> int:
        """Return b, how many of these a response supports."""
        return self.points * self.replication // self.responses

    def bounded(self, delta: float) -> bool:
        """Return whether its odds have a limit: a large delta allows any."""
        return delta * self.replication < self.separating

    def excess(self, pure: _Real, delta: _Real) -> _Real:
        """Return E - 1 for the odds E of a report that has this delta; ``pure`` is e^epsilon - 1.

        Source: Theorem 4 of Holohan, Leith and Mason, for designs; docs/mathematics.md, section 14.
        """
        separating = self.separating
        bounded = separating - delta * self.replication
        return (separating * pure + delta * self.responses) / bounded

    def epsilon_of(self, excess: float, delta: float) -> float:
        """Return the epsilon whose excess it is."""
        bounded = self.separating - delta * self.replication
        return log1p((excess * bounded - delta * self.responses) / self.separating)

    def cost(self, epsilon: float, delta: float = 0.0) -> float:
        """Return n times the sum of the variances of all frequencies."""
        return self.cost_at(self.excess(expm1(epsilon), delta))

    def cost_at(self, excess: float) -> float:
        """Return the same at the odds 1 + ``excess`` of one report."""
        numbers = self.responses, self.replication, self.together
        return design_variance(self.categories, *numbers, excess)

    def __str__(self) -> str:
        return named(self.kind, self.parameters)

    def mechanism(self, epsilon: Number, delta: Number = "0") -> Answered:
        """Return the solution matrix that is so private.

        Raises:
            InvalidPrivacyParameter, GridTooCoarse: if there is none.
        """
        if self.kind == PLAIN:
            return RandomisedResponse(self.categories, epsilon, delta)
        design = DESIGNS[self.kind](self.categories, *self.parameters.values())
        return DesignMechanism(design, epsilon, delta)


@lru_cache(maxsize=64)  # a survey's publication asks more than once, and with delta it takes .2 s
def candidates(
    categories: int, epsilon: float, delta: float = 0.0, most_responses: int = MAX_RESPONSES
) -> tuple[Candidate, ...]:
    """Return randomised response, and the designs that could be best, of at most so many responses.

    Of the affine designs of each q the size of blocks that costs least, and those that cost nearly
    as little and have fewer responses. Of subsets also smaller sizes, down to half of the best, of
    which there are fewer.
    """
    most = min(most_responses, MAX_RESPONSES)
    return tuple(candidates_of_blocks(categories, epsilon, delta, most, lambda _: inf))


def candidates_of_blocks(
    k: int, epsilon: float, delta: float, most: int, largest: Callable[[int], float]
) -> Iterator[Candidate]:
    """Yield the candidates whose blocks have no more points than is ``largest`` for all points.

    Or single points, of which there are always blocks.
    """
    yield Candidate.of(PLAIN, k, {})
    if comb(k, 2) <= most:
        most_members = int(min(k - 1, largest(k)))
        costs = _costs(k, k, 1, epsilon, delta, [range(1, most_members + 1)])
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
        # The least m with q^m >= k: a larger one has more responses, and without delta is no more
        # accurate.
        m = next(m for m in range(1, k + 1) if q**m >= k)
        if sizes := block_sizes(q, m, most):
            greatest = largest(q**m) / q ** (m - 1)
            fitting = [those[: bisect_right(those, greatest)] for those in sizes]
            costs = _costs(k, q, m, epsilon, delta, fitting)
            merged, enough = 0, min(costs.values(), default=0.0) * SMALLEST_WITHIN
            for s in sorted(costs, key=costs.__getitem__):
                if costs[s] <= enough and class_size(q, s) > merged:
                    merged = class_size(q, s)
                    yield Candidate.of("affine", k, {"q": q, "m": m, "s": s})


@lru_cache(maxsize=4096)  # who looks for an epsilon asks for the same ones a hundred times
def block_sizes(order: int, dimension: int, most: int) -> tuple[range, ...]:
    """Return ranges of all s with which an affine design has at most so many responses."""
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
    k: int, q: int, m: int, epsilon: float, delta: float, among: Iterable[range]
) -> dict[int, float]:
    """Return the costs of the sizes of blocks that may be best, where delta leaves odds a limit.

    The sets of d of k categories have the numbers of blocks, in proportion, of q = k, m = 1, s = d.
    """
    if not delta:
        # The cost has one minimum: the two of a range next to it are its best.
        size = q * _best_share(k, q**m, expm1(epsilon))
        ends = [(sizes, bisect_right(sizes, size)) for sizes in among]
        among = [sizes[max(0, above - 1) : above + 1] for sizes, above in ends]
    designs = {s: Candidate("", k, *proportions(q, m, s)) for s in set().union(*among)}
    return {s: one.cost(epsilon, delta) for s, one in designs.items() if one.bounded(delta)}


def _best_share(k: int, points: int, excess: float) -> float:
    """Return the share of all points in a block that costs least at delta 0."""
    # Of L points, a share u in each block: r/K = u, (r - t)/K = c u (1 - u), c = L/(L - 1), and
    # with e = E - 1 the cost is
    #   f(u) = (E + (k - 1)(1 - e/(L - 1) + c e u)(1 + c e u)) / (c^2 e^2 u (1 - u)).
    # A quadratic g(u) > 0 over u (1 - u) has one minimum in (0, 1), at 1/(1 + sqrt(g(1)/g(0))).
    others = points - 1
    at_0 = k + excess * (points - k) / others
    at_1 = (1 + excess) * (k + (k - 1) * excess * points / others)
    return 1 / (1 + sqrt(at_1 / at_0))


def lower_bound(categories: int, epsilon: float) -> float:
    """Return a lower bound on n times the summed variances of unbiased estimates, at delta 0.

    In the worst case, which is where all categories are equally frequent.
    """
    least = least_variance(categories, odds_ceiling(Fraction(epsilon)))
    return inf if least is None else float(least)
