"""The mechanisms that could be the most accurate, and what each of them costs.

All are designs: a response supports r of K blocks a category, t of them any two, and is sent at the
odds E to another if it supports the answer. Estimates of frequencies then have

    n sum Var = (p (1 - p) + (k - 1) q (1 - q)) / (p - q)^2,

p and q the chances to support the answer and another category, if devices are fixed and all else is
chance; docs/mathematics.md, section 17.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, exp, expm1
from typing import Final, TypeVar

from deniable.mechanisms.affine import MAX_ORDER, Affine, is_prime
from deniable.mechanisms.design import MAX_RESPONSES
from deniable.mechanisms.subset import MAX_MEMBERS, Subset

PLAIN: Final = "randomised-response"
DESIGNS: Final = {"subset": Subset, "affine": Affine}
"""Of each other kind, what makes its design of the categories and of its parameters."""

_SHARES: Final = (0.75, 0.6, 0.45, 0.3)
"""Of the best size of a block for one report, what is tried for many."""

_AROUND: Final = 2
"""How many sizes of a block are tried to either side of the best share, k/(e^epsilon + 1)."""

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

    def excess(self, pure: _Real, delta: _Real) -> _Real:
        """Return E - 1 for the odds E of a report that has this delta; ``pure`` is e^epsilon - 1.

        Source: Theorem 4 of Holohan, Leith and Mason, for designs; docs/mathematics.md, section 14.
        """
        told = self.separating
        return (told * pure + delta * self.responses) / (told - delta * self.replication)

    def cost(self, epsilon: float, delta: float = 0.0) -> float:
        """Return n times the sum of the variances of all frequencies."""
        numbers = self.responses, self.replication, self.together
        return _cost(self.categories, *numbers, self.excess(expm1(epsilon), delta))

    def __str__(self) -> str:
        values = ", ".join(map(str, self.parameters.values()))
        return f"{self.kind}({values})" if values else self.kind


def candidates(
    categories: int, epsilon: float, delta: float = 0.0, most_responses: int = MAX_RESPONSES
) -> Iterator[Candidate]:
    """Yield randomised response, and the designs that could be best, of at most so many responses.

    With blocks of about the size that is best at delta 0: what smaller ones gain by a delta is that
    they give answers away that often.
    """
    k = categories
    yield Candidate.of(PLAIN, k, {})
    for design in _designs(k, epsilon, most_responses):
        if delta * design.replication < design.separating:  # else delta allows any response
            yield design


def smaller_blocks(candidate: Candidate) -> Iterator[Candidate]:
    """Yield a design and those like it with smaller blocks, whose reports add up slower."""
    yield candidate
    name = {"subset": "d", "affine": "s"}.get(candidate.kind)
    if name is not None:
        size = candidate.parameters[name]
        for less in sorted({round(size * share) for share in _SHARES} - {0, size}):
            parameters = {**candidate.parameters, name: less}
            yield Candidate.of(candidate.kind, candidate.categories, parameters)


def _designs(k: int, epsilon: float, most: int) -> Iterator[Candidate]:
    for d in _sizes(k, epsilon):
        if d > 1 and comb(k, d) <= most and comb(k, d) * d <= MAX_MEMBERS:
            yield Candidate.of("subset", k, {"d": d})
    for q in filter(is_prime, range(2, MAX_ORDER + 1)):
        # The least m with q^m >= k: a larger one has more responses, and is no more accurate.
        m = next(m for m in range(1, k + 1) if q**m >= k)
        if q * (q**m - 1) <= most:
            for s in _sizes(q, epsilon):
                yield Candidate.of("affine", k, {"q": q, "m": m, "s": s})


def _sizes(positions: int, epsilon: float) -> range:
    middle = round(positions / (exp(epsilon) + 1))
    return range(max(1, middle - _AROUND), min(positions - 1, middle + _AROUND) + 1)


def lower_bound(categories: int, epsilon: float) -> float:
    """Return what n times the summed variances of no unbiased estimates is below.

    It holds for reports of delta 0. Source: Ye and Barg 2018; docs/mathematics.md, section 14.
    """
    # It is what the subsets of the best size would need, were there not too many of them.
    k, excess = categories, expm1(epsilon)
    return min(_cost(k, k * (k - 1), d * (k - 1), d * (d - 1), excess) for d in range(1, k))


def _cost(k: int, blocks: int, r: int, t: int, excess: float) -> float:
    # With Z = r E + K - r, p = r E/Z and q = (t E + r - t)/Z. Floats do for any epsilon: E - 1 is
    # given, and nothing else is subtracted from 1.
    odds = 1 + excess
    own = r * odds * (blocks - r)
    others = (t * odds + r - t) * ((r - t) * odds + blocks - 2 * r + t)
    return (own + (k - 1) * others) / ((r - t) * excess) ** 2
