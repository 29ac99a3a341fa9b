"""Neighbouring databases: privacy by sufficient sets of responses, and sensitivities.

Condition (5), P_d(A) <= E P_d'(A) + delta, is asked for every set A of responses: 2^(k^n) of them
for every pair of neighbours, or 2^r if a query with r values is all that is answered. Fewer
suffice; where a rule does not hold, it raises :class:`TheoremDoesNotApply`:

| rule | sets per pair | holds for |
|---|---|---|
| :func:`theorem_2` | all non-empty subsets of S = {s: P_d(s) > P_d'(s)} | every mechanism |
| :func:`theorem_2_plus` | {s: P_d(s) > E P_d'(s)} alone | every mechanism |
| :func:`corollary_1` | the levels of u(d, .) - u(d', .) in S | C_d constant, delta = 0 |
| :func:`corollary_2` | {s: s agrees with d where d' does not} alone | u = -theta h, theta > 0 |

Source: Holohan, Leith and Mason (2016), section 3; docs/mathematics.md, sections 11 and 15.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any, Self, TypeVar

from deniable.audit.databases import (
    Database,
    DiscreteExponential,
    HammingUtility,
    SanitisedResponse,
    check_size,
)
from deniable.audit.exponential_sum import ExponentialRatio, ExponentialSum
from deniable.audit.theorems import TheoremDoesNotApply
from deniable.central_model import LaplaceRelease, Neighbours
from deniable.mechanisms import InvalidPrivacyParameter, Number, exact_delta, exact_number


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition (5) of the paper at one (epsilon, delta); odds are e^epsilon."""

    odds: ExponentialSum
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", exact_delta(self.delta))
        if (self.odds - ExponentialSum.term(1)).sign() < 0:
            raise InvalidPrivacyParameter("epsilon must not be negative: odds are at least 1")

    @classmethod
    def at(cls, epsilon: Number, delta: Number = "0") -> Self:
        """Return the condition at an exact, non-negative epsilon."""
        exponent = exact_number("epsilon", epsilon)
        return cls(ExponentialSum.term(1, exponent), exact_delta(delta))

    @classmethod
    def at_odds(cls, odds: Number, delta: Number = "0") -> Self:
        """Return the condition at epsilon = ln(odds) for rational odds of at least 1."""
        return cls(ExponentialSum.term(exact_number("odds", odds)), exact_delta(delta))


_Response = TypeVar("_Response", bound=Hashable)
Responses = frozenset[_Response]
"""A set A of responses."""

_Mechanism = TypeVar("_Mechanism", bound=SanitisedResponse[Any])
Rule = Callable[[_Mechanism, Condition, Database, Database], Iterator[Responses[Any]]]
"""Names the sets that decide condition (5) for one ordered pair of neighbours d, d'."""

_MAX_SUBSETS_OF = 12


class TooManySets(ValueError):
    """Theorem 2 asks for more subsets than can be enumerated."""


@dataclass(frozen=True, slots=True)
class Checks:
    """How many checks of condition (5) a rule asks for.

    For each number of sets, how many ordered pairs of neighbours need so many; and the number of
    checks without the rule: every set but the empty and the full one, for every pair.
    """

    pairs_by_sets: Mapping[int, int]
    without: int

    @property
    def total(self) -> int:
        """Return the number of checks with the rule."""
        return sum(sets * pairs for sets, pairs in self.pairs_by_sets.items())


def larger_set(
    mechanism: SanitisedResponse[_Response], true: Database, other: Database
) -> Responses[_Response]:
    """Return S = {s: P_d(s) > P_d'(s)}, decided exactly."""
    return excess_set(mechanism, ExponentialSum.term(1), true, other)


def excess_set(
    mechanism: SanitisedResponse[_Response], odds: ExponentialSum, true: Database, other: Database
) -> Responses[_Response]:
    """Return {s: P_d(s) > E P_d'(s)}, decided exactly.

    No set A has a larger P_d(A) - E P_d'(A): it has every positive summand and no negative one.
    """
    gains = mechanism.gains(odds, true, other)
    return frozenset(s for s, gain in gains.items() if gain.sign() > 0)


def level_sets(
    mechanism: DiscreteExponential, true: Database, other: Database
) -> dict[Fraction, Responses[Database]]:
    """Return the parts of S on which u(d, .) - u(d', .) is constant, by that difference.

    On one level P_d/P_d' is constant, so if condition (5) holds on the level, it holds on all of
    its subsets, whatever delta is (Theorem 3). It does *not* follow for unions of levels unless
    delta = 0.
    """
    if not mechanism.constant_normaliser:
        raise TheoremDoesNotApply(
            "Theorem 3 and its corollaries need the same normaliser for every database; "
            "use theorem_2_plus"
        )
    levels: dict[Fraction, set[Database]] = {}
    for s in mechanism.databases:
        difference = mechanism.exact_utility(true, s) - mechanism.exact_utility(other, s)
        # The normaliser cancels: P_d(s) > P_d'(s) if and only if the difference is positive.
        if difference > 0:
            levels.setdefault(difference, set()).add(s)
    return {difference: frozenset(level) for difference, level in sorted(levels.items())}


def theorem_2(
    mechanism: SanitisedResponse[_Response], _condition: Condition, true: Database, other: Database
) -> Iterator[Responses[_Response]]:
    """Yield the non-empty subsets of S = {s: P_d(s) > P_d'(s)}, at most 12 elements (Theorem 2)."""
    # Leaving out of A every s with P_d(s) <= P_d'(s) <= E P_d'(s) only raises P_d(A) - E P_d'(A).
    larger = larger_set(mechanism, true, other)
    if len(larger) > _MAX_SUBSETS_OF:
        raise TooManySets(
            f"S has more than {_MAX_SUBSETS_OF} elements; use theorem_2_plus, which needs one set"
        )
    sizes = range(1, len(larger) + 1)
    return map(frozenset, chain.from_iterable(combinations(larger, size) for size in sizes))


def theorem_2_plus(
    mechanism: SanitisedResponse[_Response], condition: Condition, true: Database, other: Database
) -> Iterator[Responses[_Response]]:
    """Yield the one set that suffices: {s: P_d(s) > E P_d'(s)}, possibly empty."""
    yield excess_set(mechanism, condition.odds, true, other)


def corollary_1(
    mechanism: DiscreteExponential, condition: Condition, true: Database, other: Database
) -> Iterator[Responses[Database]]:
    """Yield the level sets, which suffice for delta = 0 (Corollary 1)."""
    if condition.delta > 0:
        raise TheoremDoesNotApply(
            "Corollary 1 holds for delta = 0 only; use theorem_2_plus. (On the integers modulo 7 "
            "with weights 2^-(circular distance), d = 0, d' = 2, every level passes at epsilon = 0 "
            "and delta = 9/22, but their union needs 5/11.)"
        )
    yield from level_sets(mechanism, true, other).values()


def corollary_2(
    mechanism: DiscreteExponential, _condition: Condition, true: Database, other: Database
) -> Iterator[Responses[Database]]:
    """Yield the one set that suffices for u = -theta h: what keeps the row d' changed."""
    utility = mechanism.utility
    if not isinstance(utility, HammingUtility) or utility.theta <= 0:
        raise TheoremDoesNotApply(
            "Corollary 2 needs a HammingUtility with theta > 0; use theorem_2_plus"
        )
    changed = [row for row, (x, y) in enumerate(zip(true, other, strict=True)) if x != y]
    if len(changed) != 1:
        raise TheoremDoesNotApply("Corollary 2 needs two databases that differ in one row")
    # There h(d', s) - h(d, s) = 1 if s keeps d's category, -1 if it has that of d', else 0: one
    # positive level, which Theorem 3 settles, and S is that level.
    (row,) = changed
    yield frozenset(s for s in mechanism.databases if s[row] == true[row])


def is_private(
    mechanism: _Mechanism, condition: Condition, rule: Rule[_Mechanism] = theorem_2_plus
) -> bool:
    """Tell exactly whether condition (5) holds for all neighbours and all sets.

    Every rule, of which sets are checked, gives the same answer wherever it applies. Otherwise it
    raises TheoremDoesNotApply, or TooManySets.
    """
    for true, other in mechanism.pairs():
        gains = mechanism.gains(condition.odds, true, other)
        allowed = condition.delta * mechanism.scale(true, other)
        for responses in rule(mechanism, condition, true, other):
            gained = ExponentialSum.total(gains[s] for s in responses)
            if (gained - allowed).sign() > 0:
                return False
    return True


def count_checks(mechanism: _Mechanism, condition: Condition, rule: Rule[_Mechanism]) -> Checks:
    """Return how many checks of condition (5) the rule asks for, with the errors of the rule."""
    pairs_by_sets = Counter(
        sum(1 for _ in rule(mechanism, condition, true, other)) for true, other in mechanism.pairs()
    )
    every_set = 2 ** len(mechanism.responses) - 2
    return Checks(dict(pairs_by_sets), every_set * pairs_by_sets.total())


def least_delta(mechanism: SanitisedResponse[Any], odds: ExponentialSum) -> ExponentialRatio:
    """Return the smallest delta that holds with these odds, exactly, by :func:`theorem_2_plus`."""
    best = ExponentialRatio(ExponentialSum(), ExponentialSum.term(1))
    for true, other in mechanism.pairs():
        gains = mechanism.gains(odds, true, other).values()
        excess = ExponentialSum.total(gain for gain in gains if gain.sign() > 0)
        best = max(best, ExponentialRatio(excess, mechanism.scale(true, other)))
    return best


# Source: docs/mathematics.md, section 11.


def sensitivity(
    query: Callable[[Database], Sequence[Fraction | int]],
    categories: int,
    rows: int,
    neighbours: Neighbours,
    norm: Callable[[Iterable[Fraction | int]], Fraction | int] = sum,
) -> Fraction:
    """Return by how much the numbers of a database change at most between neighbours.

    Args:
        query: the numbers, as many for every database; those of several queries one after the
            other, if they are released jointly.
        categories: k, at least 2: rows are 0 … k - 1.
        rows: n, at least 1; of the larger of two neighbours.
        neighbours: which databases are.
        norm: of the absolute changes: ``sum`` (L1) where each number gets noise, ``max`` where they
            are utilities, among which to choose. Dwork, McSherry, Nissim and Smith 2006.
    """
    check_size(categories, rows)
    removal = neighbours is Neighbours.ADD_REMOVE
    # What takes the place of a row: nothing, or any other.
    places: list[Database] = [()] if removal else [(x,) for x in range(categories)]
    databases = list(product(range(categories), repeat=rows))
    fewer = product(range(categories), repeat=rows - 1) if removal else ()
    numbers = {d: query(d) for d in (*databases, *fewer)}
    changes = (
        zip(numbers[d], numbers[d[:row] + place + d[row + 1 :]], strict=True)
        for d in databases
        for row in range(rows)
        for place in places
    )
    return Fraction(max(norm(abs(Fraction(a) - b) for a, b in change) for change in changes))


def released_epsilon(
    release: LaplaceRelease,
    query: Callable[[Database], Sequence[Fraction | int]],
    categories: int,
    rows: int,
) -> Fraction:
    """Return the tight epsilon of publishing these numbers with a release's noise, exactly.

    Above ``release.epsilon``, a sensitivity was declared too small; below, the queries change less
    together than each for itself, and might share one. The numbers are multiples of its step.
    Dwork, McSherry, Nissim and Smith 2006, Proposition 1.
    """
    # Independent discrete Laplace noise tells vectors that are D steps apart with odds of e^(D/s),
    # and no less: an output beyond both in each coordinate attains it.
    change = sensitivity(query, categories, rows, release.neighbours)
    return change / (release.step * release.noise.scale)
