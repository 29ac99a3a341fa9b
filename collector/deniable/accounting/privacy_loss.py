"""Privacy loss: the exact distribution of how far responses shift the odds between two answers.

With one answer the responses have the distribution P, with another Q. The likelihood ratio
P(y)/Q(y) is all that they reveal about the two, so a loss keeps, for each ratio, the masses of both
distributions: its atoms. The curve delta(E) = sum_y (P(y) - E Q(y))_+ is computed from them, and
the atoms of independently randomised reports multiply. A loss *dominates* another if its curve is
nowhere below; then its compositions dominate too. So a loss that dominates every pair of rows also
covers answers that change from report to report.

Invariants:

1. The masses of P sum to at most 1, and so do those of Q. The deficit of P has an infinite ratio.
2. A result that fits 2^22 bits is exact. A larger one dominates the exact one: delta and epsilon
   are never too small.

Source: Kairouz, Oh and Viswanath 2015; Zhu, Dong and Wang 2022 (dominating pairs);
docs/mathematics.md, section 12.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Final

from deniable.accounting.lattice import (
    Atom,
    composed_pairs,
    dominating_pair,
    merged,
    pair_apart,
    rows_apart,
)
from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Mechanism,
    Number,
    Privacy,
    TwoValuedPrivacy,
    ceil_div,
    epsilon_of_odds,
    exact_delta,
    exact_number,
    odds_floor,
)

_PLACES: Final = 12
DEFAULT_STEPS: Final = 1 << 14
"""The most lattice points of a composition that is too large to be exact."""

MAX_TOTAL_EPSILON: Final = 10_000
"""The largest accepted epsilon of several reports together."""


def total_epsilon(value: Number) -> Fraction:
    """Return an epsilon of several reports together exactly; it may exceed that of any survey."""
    epsilon = exact_number("epsilon", value)
    if not 0 <= epsilon <= MAX_TOTAL_EPSILON:
        raise InvalidPrivacyParameter(f"epsilon must be in [0, {MAX_TOTAL_EPSILON}]")
    return epsilon


def odds_of_masses(
    certain: int, masses: Iterable[tuple[int, int]], slack: Fraction
) -> Fraction | None:
    """Return the smallest E >= 1 with certain + sum (p - E q)_+ <= slack, None if none is.

    The masses are pairs (p, q) of positive integers, by falling ratio p/q.
    """
    # The sum is convex, decreasing and piecewise linear in E. From infinity downwards, masses join
    # it at their ratios: A - E B, where A and B are the sums over those above E. The first piece
    # that exceeds the slack at its lower end contains the solution E = (A - slack)/B.
    above, below = certain, 0
    if above > slack:
        return None
    for (p, q), (w, z) in pairwise([*masses, (0, 1)]):
        above, below = above + p, below + q
        if (above - slack) * z > w * below:
            return max(Fraction(1), (above - slack) / below)
    return Fraction(1)


def epsilon_ceiling(epsilon: Fraction) -> Decimal:
    """Return an epsilon rounded up to 12 decimal places."""
    # Assembled from digits: arithmetic would round in the app's decimal context, even down.
    units = ceil_div(epsilon.numerator * 10**_PLACES, epsilon.denominator)
    return Decimal((0, tuple(map(int, str(units))), -_PLACES))


@dataclass(frozen=True)
class PrivacyLoss(Privacy):
    """The privacy loss of a pair of distributions, or of anything that the pair dominates.

    Atoms are pairs (p, q) of positive integers, in order of falling ratio p/q: the masses, over the
    grid, that the two distributions give to the responses with that likelihood ratio.
    """

    grid: int
    atoms: tuple[Atom, ...]

    def __post_init__(self) -> None:
        if self.grid < 1 or any(p < 1 or q < 1 for p, q in self.atoms):
            raise ValueError("the masses of a privacy loss must be positive")
        if any(p * z <= w * q for (p, q), (w, z) in pairwise(self.atoms)):
            raise ValueError("the atoms of a privacy loss must be sorted by falling ratio")
        if max(sum(p for p, _ in self.atoms), sum(q for _, q in self.atoms)) > self.grid:
            raise ValueError("the masses of a privacy loss must sum to at most 1")

    @classmethod
    def of_mechanism(cls, mechanism: Mechanism) -> "PrivacyLoss":
        """Return the least loss that dominates every pair of a mechanism's rows.

        One report's curve is exact. For several reports it is exact if one pair of rows dominates
        all others, as in randomised response and block designs, where no pairs are compared.
        Otherwise it is an upper bound, for which all pairs are compared: about a second for a
        hundred categories.
        """
        return cls(*dominating_pair(mechanism))

    @classmethod
    def of_randomised_response(cls, categories: int, odds: Fraction) -> "PrivacyLoss":
        """Return the loss of any two rows of randomised response with these pure odds, d/q."""
        if categories < 2 or odds < 1:
            raise ValueError(
                "randomised response must have at least 2 categories, and odds of 1 or more"
            )
        return cls.of_design(categories, 1, 1, odds)

    @classmethod
    def of_design(
        cls, responses: int, supporting: int, separating: int, odds: Fraction
    ) -> "PrivacyLoss":
        """Return the loss of any two rows of a block design, in which all pairs are alike.

        ``supporting`` of the responses support an answer, and ``separating`` of them not the other
        one; a response that supports the answer is sent at these odds to one that does not.
        """
        lie = 1 / (supporting * odds + responses - supporting)
        return cls(*pair_apart(rows_apart(TwoValuedPrivacy(odds * lie, lie, separating)) or ()))

    @classmethod
    def of_pair(cls, one: Sequence[int], other: Sequence[int]) -> "PrivacyLoss":
        """Return the loss of one row of a matrix against another, exactly; the order matters."""
        if len(one) != len(other) or not sum(one) == sum(other) > 0 or min(*one, *other) < 0:
            raise ValueError("two rows must have equal length and sum, and no negative weight")
        return cls(*merged(sum(one), zip(one, other, strict=True)))

    @classmethod
    def of_guarantee(cls, odds: Fraction, delta: Number) -> "PrivacyLoss":
        """Return the loss that dominates every (ln odds, delta)-private mechanism.

        It is the loss of revealing the answer with probability delta, and otherwise using
        randomised response on two categories. Kairouz, Oh and Viswanath 2015, section 3.
        """
        if odds < 1:
            raise ValueError("odds must be at least 1")
        u, v = odds.as_integer_ratio()
        slack = exact_delta(delta)
        # Over (u + v) t: the ratios E and 1/E share 1 - s/t; the missing s/t is infinite.
        share = slack.denominator - slack.numerator
        atoms = [(share * u, share * v), (share * v, share * u)]
        return cls(*merged((u + v) * slack.denominator, atoms))

    @classmethod
    def of_reports(
        cls, losses: Iterable[tuple["PrivacyLoss", int]], *, steps: int = DEFAULT_STEPS
    ) -> "PrivacyLoss":
        """Return the loss of several reports together, each randomised independently.

        It is exact up to 2^22 bits, enough for some 180 reports of randomised response. Above that,
        masses are rounded, and ratios that are not on a lattice are spread onto one. The result
        then dominates the exact one. It overstates epsilon by at most one lattice step for each
        report and each kind (in practice by the order of its square), with at most 2^-64 of delta.

        The lattice spans about ``steps`` steps, but at least two per report. Twice as many take
        about three times as long.
        """
        parts = [((loss.grid, loss.atoms), times) for loss, times in losses if times]
        if steps < 1 or any(times < 0 for _, times in parts):
            raise ValueError("reports must be at least 0, and steps at least 1")
        return cls(*composed_pairs(parts, steps)) if parts else cls(1, ((1, 1),))

    @property
    def infinite(self) -> Fraction:
        """Return the probability of a response that the other answer never gives."""
        return Fraction(self.grid - sum(p for p, _ in self.atoms), self.grid)

    @property
    def odds(self) -> Fraction | None:
        """Return e^epsilon' of the pure guarantee, the largest ratio; None if one is infinite."""
        return None if self.infinite else max(Fraction(1), Fraction(*self.atoms[0]))

    def odds_at(self, delta: Number) -> Fraction | None:
        """Return the smallest e^epsilon that holds with this delta; None if there is none."""
        infinite = self.grid - sum(p for p, _ in self.atoms)
        return odds_of_masses(infinite, self.atoms, exact_delta(delta) * self.grid)

    def epsilon_at(self, delta: Number) -> Decimal:
        """Return the smallest epsilon that holds with this delta, rounded up to 12 places."""
        return epsilon_of_odds(self.odds_at(delta))

    def delta_at_odds(self, odds: Fraction) -> Fraction:
        """Return the smallest delta that holds with e^epsilon = ``odds``, any odds >= 0."""
        if odds < 0:
            raise ValueError("odds must not be negative")
        # sum (p - E q)_+ with E = u/v, over v N, for the atoms above E and the infinite mass.
        u, v = odds.as_integer_ratio()
        above, below = self.grid, 0
        for p, q in self.atoms:
            if v * p > u * q:
                below += q
            else:
                above -= p
        return Fraction(v * above - u * below, v * self.grid)

    def delta_at(self, epsilon: Number) -> Fraction:
        """Return the smallest delta that holds with this epsilon, at most 2^-128 too large."""
        # A lower bound of e^epsilon makes delta larger, never smaller.
        return self.delta_at_odds(odds_floor(total_epsilon(epsilon)))

    def satisfies(self, epsilon: Number, delta: Number) -> bool:
        """Return whether (epsilon, delta) holds, certified in integers."""
        return self.delta_at(epsilon) <= exact_delta(delta)

    def compose(self, other: "PrivacyLoss", *, steps: int = DEFAULT_STEPS) -> "PrivacyLoss":
        """Return the loss of two independent reports together; see :meth:`of_reports`."""
        return self.of_reports([(self, 1), (other, 1)], steps=steps)

    def repeat(self, times: int, *, steps: int = DEFAULT_STEPS) -> "PrivacyLoss":
        """Return the loss of this many independent reports; see :meth:`of_reports`."""
        return self.of_reports([(self, times)], steps=steps)
