"""The mechanisms that could be the most accurate, and what each of them costs.

All are designs: r of K responses support a category, t of them any two, and those that support the
answer are sent at the odds E to the others; docs/mathematics.md, section 17.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import comb, expm1, inf, log1p, sqrt
from typing import Final, TypeVar

from deniable.audit import design_variance, least_variance
from deniable.mechanisms import KINDS, DesignMechanism, Number, RandomisedResponse, odds_ceiling
from deniable.mechanisms.affine import MAX_ORDER, Affine, incidences, is_prime, proportions
from deniable.mechanisms.answering import Answered
from deniable.mechanisms.design import MAX_RESPONSES
from deniable.mechanisms.subset import MAX_MEMBERS, Subset

PLAIN: Final = "randomised-response"
"""The kind that is compared with the designs."""
DESIGNS: Final = {"subset": Subset, "affine": Affine}
"""Of each other kind, what makes its design of the categories and of its parameters."""

_Real = TypeVar("_Real", float, Fraction)


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
        numbers = self.responses, self.replication, self.together
        return design_variance(self.categories, *numbers, self.excess(expm1(epsilon), delta))

    def __str__(self) -> str:
        return KINDS[self.kind].named(self.parameters)

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

    Of each affine design the size of blocks that costs least. Of subsets also smaller sizes, down
    to half of that, of which there are fewer.
    """
    most = min(most_responses, MAX_RESPONSES)
    return tuple(candidates_of_blocks(categories, epsilon, delta, most, lambda _: inf))


def candidates_of_blocks(
    k: int, epsilon: float, delta: float, most: int, largest: Callable[[int], float]
) -> Iterator[Candidate]:
    """Yield the candidates whose blocks have no more points than is ``largest`` for all points."""
    yield Candidate.of(PLAIN, k, {})
    if comb(k, 2) <= most:
        among = range(1, min(k, int(min(k, largest(k))) + 1))
        best = max(2, _best_size(k, k, 1, epsilon, delta, among))
        for d in range(max(2, best // 2), min(best + 1, k)):
            if comb(k, d) <= most and comb(k, d) * d <= MAX_MEMBERS:
                subset = Candidate.of("subset", k, {"d": d})
                if subset.bounded(delta):
                    yield subset
    for q in filter(is_prime, range(2, MAX_ORDER + 1)):
        # The least m with q^m >= k: a larger one has more responses, and without delta is no more
        # accurate.
        m = next(m for m in range(1, k + 1) if q**m >= k)
        # Of all s between 1 and q - 1 there are as many blocks, and fewer of these two.
        few, many = (incidences(q, m, s)[0] for s in (1, min(2, q - 1)))
        fitting = range(1, q) if many <= most else sorted({1, q - 1}) if few <= most else ()
        greatest = largest(q**m) / q ** (m - 1)
        sizes = [s for s in fitting if s <= greatest]
        if s := _best_size(k, q, m, epsilon, delta, sizes):
            yield Candidate.of("affine", k, {"q": q, "m": m, "s": s})


def _best_size(k: int, q: int, m: int, epsilon: float, delta: float, among: Sequence[int]) -> int:
    """Return the size of blocks that costs least; 0 if delta allows any response with all sizes.

    The sets of d of k categories have the numbers of blocks, in proportion, of q = k, m = 1, s = d.
    """
    around = [s for s in _sizes_around(k, q, q**m, expm1(epsilon)) if s in among]
    # Sizes further away cost more, on either side.
    sizes = among if delta else around or {*among[:1], *among[-1:]}
    designs = {s: Candidate("", k, *proportions(q, m, s)) for s in sizes}
    bounded = {s: design for s, design in designs.items() if design.bounded(delta)}
    return min(bounded, key=lambda s: bounded[s].cost(epsilon, delta), default=0)


def _sizes_around(k: int, positions: int, points: int, excess: float) -> set[int]:
    """Return the two sizes next to the share of all positions that costs least at delta 0."""
    # Of L points, a share u in each block: r/K = u, (r - t)/K = c u (1 - u), c = L/(L - 1), and
    # with e = E - 1 the cost is
    #   f(u) = (E + (k - 1)(1 - e/(L - 1) + c e u)(1 + c e u)) / (c^2 e^2 u (1 - u)).
    # A quadratic g(u) > 0 over u (1 - u) has one minimum in (0, 1), at 1/(1 + sqrt(g(1)/g(0))).
    others = points - 1
    at_0 = k + excess * (points - k) / others
    at_1 = (1 + excess) * (k + (k - 1) * excess * points / others)
    below = int(positions / (1 + sqrt(at_1 / at_0)))
    return {max(1, below), min(positions - 1, below + 1)}


def lower_bound(categories: int, epsilon: float) -> float:
    """Return a lower bound on n times the summed variances of unbiased estimates, at delta 0.

    In the worst case, which is where all categories are equally frequent.
    """
    least = least_variance(categories, odds_ceiling(Fraction(epsilon)))
    return inf if least is None else float(least)
