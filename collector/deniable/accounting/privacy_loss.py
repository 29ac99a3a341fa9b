"""Privacy loss: the exact distribution of how far responses shift the odds between two answers.

With one answer the responses have the distribution P, with another Q. The likelihood ratio
P(y)/Q(y) is all that they reveal about the two, so a loss keeps, for each ratio, the masses of both
distributions: its atoms. The curve delta(E) = sum_y (P(y) - E Q(y))_+ is computed from them.

One report of randomised response or of a block design has the ratios r, 1 and 1/r, whichever two
answers are compared, so its loss also covers answers that change. Reports are randomised
independently: their ratios multiply to r^-T, …, r^T, and composing them is convolving. Q is the
mirror image of P.

Invariants:

1. The masses of P sum to at most 1, and so do those of Q. The deficit of P has an infinite ratio.
2. A result that fits 2^22 bits is exact. In a larger one the masses of P are rounded to 2^-128 by
   rounding the cumulative masses down: no mass is lost, and moved mass goes to a larger ratio. So
   delta and epsilon are never too small.

Source: Kairouz, Oh and Viswanath 2015; docs/mathematics.md, section 12.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Final

from deniable.mechanisms import (
    Number,
    ceil_div,
    exact_delta,
    exact_epsilon,
)
from deniable.mechanisms.privacy import epsilon_of_odds

_PLACES: Final = 12
_EXACT_BITS: Final = 1 << 22
_PRECISION: Final = 128
_ONE: Final = 1 << _PRECISION

Atom = tuple[int, int]
"""Masses (p, q) of one likelihood ratio p/q, over a grid."""

_Masses = list[int]


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
class PrivacyLoss:
    """The privacy loss of a pair of distributions, or of anything that the pair dominates.

    Atoms are pairs (p, q) of positive integers, in order of falling ratio p/q: the masses, over the
    grid, that the two distributions give to the responses with that likelihood ratio.
    """

    grid: int
    atoms: tuple[Atom, ...]

    @classmethod
    def of_design(
        cls, responses: int, supporting: int, separating: int, odds: Fraction, reports: int = 1
    ) -> "PrivacyLoss":
        """Return the loss of reports of a block design, in which all pairs of answers are alike.

        ``supporting`` of the responses support an answer, and ``separating`` of them not the other
        one; a response that supports the answer is sent at these odds to one that does not.
        Randomised response is the design of single answers: (categories, 1, 1).
        """
        lie = 1 / (supporting * odds + responses - supporting)
        less = separating * lie
        more = less * odds
        grid = math.lcm(more.denominator, less.denominator)
        masses = [int(less * grid), int((1 - more - less) * grid), int(more * grid)]
        return cls._repeated(masses, grid, reports)

    @classmethod
    def of_guarantee(cls, odds: Fraction, delta: Number, reports: int = 1) -> "PrivacyLoss":
        """Return the loss that dominates reports of every (ln odds, delta)-private mechanism.

        It is the loss of revealing the answer with probability delta, and otherwise using
        randomised response on two categories. Its curve is the optimum: no better statement holds
        for all such mechanisms. Kairouz, Oh and Viswanath 2015, section 3 and Theorem 3.3.
        """
        u, v = odds.as_integer_ratio()
        slack = exact_delta(delta)
        # Over (u + v) t: the ratios E and 1/E share 1 - s/t; the missing s/t is infinite.
        share = slack.denominator - slack.numerator
        return cls._repeated([share * v, 0, share * u], (u + v) * slack.denominator, reports)

    @classmethod
    def _repeated(cls, masses: _Masses, grid: int, times: int) -> "PrivacyLoss":
        """Return the loss of this many reports, from one's masses at the ratios 1/r, 1 and r."""
        if times < 1:
            raise ValueError("there must be at least one report")
        if masses[2] < masses[0]:
            raise ValueError("odds must be at least 1")
        if (2 * times + 1) * times * grid.bit_length() <= _EXACT_BITS:
            powers = _power(masses, times, _convolve)
            return cls._of_atoms(grid**times, zip(powers, reversed(powers), strict=True))
        powers = _power(_rounded(masses, grid), times, _convolve_rounded)
        bits, inverses = _inverse_powers(Fraction(masses[2], masses[0]), times)
        pairs = zip(powers, inverses, strict=True)
        return cls._of_atoms(_ONE << bits, ((w << bits, w * inverse) for w, inverse in pairs))

    @classmethod
    def _of_atoms(cls, grid: int, rising: Iterable[Atom]) -> "PrivacyLoss":
        return cls(grid, tuple(atom for atom in rising if all(atom))[::-1])

    def odds_at(self, delta: Number) -> Fraction | None:
        """Return the smallest e^epsilon that holds with this delta; None if there is none."""
        infinite = self.grid - sum(p for p, _ in self.atoms)
        return odds_of_masses(infinite, self.atoms, exact_delta(delta) * self.grid)

    def epsilon_at(self, delta: Number) -> Decimal:
        """Return the smallest epsilon that holds with this delta, rounded up to 12 places."""
        return epsilon_of_odds(self.odds_at(delta))

    def delta_at_odds(self, odds: Fraction) -> Fraction:
        """Return the smallest delta that holds with e^epsilon = ``odds``, any odds >= 0."""
        # sum (p - E q)_+ with E = u/v, over v N, for the atoms above E and the infinite mass.
        u, v = odds.as_integer_ratio()
        above, below = self.grid, 0
        for p, q in self.atoms:
            if v * p > u * q:
                below += q
            else:
                above -= p
        return Fraction(v * above - u * below, v * self.grid)


def _power(factor: _Masses, times: int, multiply: Callable[[_Masses, _Masses], _Masses]) -> _Masses:
    """Return the ``times``-fold product (times >= 1), by squaring."""
    if times == 1:
        return factor
    half = _power(factor, times // 2, multiply)
    squared = multiply(half, half)
    return multiply(squared, factor) if times % 2 else squared


def _convolve(one: _Masses, other: _Masses) -> _Masses:
    """Return sum_i one_i other_{j-i} for every j, by a single product of two long integers."""
    # Kronecker's substitution: polynomials are evaluated at 2^(8 slot), where no coefficient of the
    # product, a sum of at most min(len) products, overflows into the next.
    length = len(one) + len(other) - 1
    largest = max(*one, 1) * max(*other, 1) * min(len(one), len(other))
    slot = ceil_div(largest.bit_length(), 8)
    packed = _packed(one, slot)
    product = packed * (packed if one is other else _packed(other, slot))
    data = product.to_bytes(slot * length, "little")
    return [int.from_bytes(data[i : i + slot], "little") for i in range(0, len(data), slot)]


def _packed(weights: _Masses, slot: int) -> int:
    return int.from_bytes(b"".join(w.to_bytes(slot, "little") for w in weights), "little")


def _convolve_rounded(one: _Masses, other: _Masses) -> _Masses:
    return _rounded(_convolve(one, other), _ONE * _ONE)


def _rounded(masses: Sequence[int], grid: int) -> _Masses:
    """Return masses over ``grid``, by rising ratio, rounded to 2^-128."""
    # Each cumulative mass F falls by less than 2^-128. delta(E) = sum w_j g_j with g_j = (1 -
    # E/ratio_j)_+ rising within [0, 1], so by summation by parts it grows by sum (F_j - F'_j)
    # (g_{j+1} - g_j) < 2^-128, and never falls.
    cumulative = [(total << _PRECISION) // grid for total in accumulate(masses)]
    return [above - below for below, above in pairwise([0, *cumulative])]


def _inverse_powers(base: Fraction, most: int) -> tuple[int, list[int]]:
    """Return ``(bits, powers)``: lower bounds of base^most, …, base^-most over 2^bits, falling."""
    up, down = base.as_integer_ratio()
    # The smallest power still has 128 bits after its leading zeros.
    bits = _PRECISION + math.ceil(1.5 * most * (math.log(up) - math.log(down))) + 1
    falling, rising = [1 << bits], [1 << bits]
    for _ in range(most):
        falling.append(falling[-1] * down // up)
        rising.append(rising[-1] * up // down)
    return bits, rising[:0:-1] + falling


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A claim of (epsilon, delta)-privacy, epsilon with 12 places; delta 1 claims nothing."""

    epsilon: Decimal
    delta: Fraction


def basic_composition(parts: Iterable[tuple[Number, Number]]) -> Guarantee:
    """Return the guarantee of independent reports together: epsilons add up, and so do deltas.

    The same holds for the rows of a group: one person's answers to several questions, or people
    whose answers depend on one another.
    """
    epsilon = delta = Fraction(0)
    for level, slack in parts:
        epsilon += exact_epsilon(level)
        delta += exact_delta(slack)
    return Guarantee(epsilon_ceiling(epsilon), min(Fraction(1), delta))
