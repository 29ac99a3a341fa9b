"""Exact sums of exponentials, and probabilities put onto a grid without losing a guarantee.

Probabilities of an exponential mechanism are ratios of such sums, and its privacy hangs on their
comparisons, ties included. Floating point breaks ties; these sums do not:

1. Terms with like exponents are combined and zero coefficients dropped. What is left is canonical.
2. A sum without terms is 0. Any other is *not* 0: by the theorem of Lindemann and Weierstrass,
   exponentials of distinct rational numbers are linearly independent over the rationals.
3. So two sums have the same value if and only if they are equal as data, and the sign of one that
   is not 0 shows at some finite precision of certified enclosures.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Self

from deniable.mechanisms import exp_enclosure, log_ceiling
from deniable.mechanisms.exact import (
    GridTooCoarse,
    InvalidPrivacyParameter,
    odds_ceiling,
    odds_floor,
)
from deniable.mechanisms.privacy import pair_excess

# Putting probabilities onto a grid of integers, without losing the guarantee.
#
# Rounding moves each probability by less than 1/N and delta at any epsilon by at most (1 +
# e^epsilon) |Y| / (4N), but it usually destroys delta = 0. Then a little uniform noise, mixed in
# beforehand, pays for it, and an inequality between integers proves the result. So it does for
# what floats have destroyed: an optimal matrix has no room, and half of those written in floats
# are over their epsilon in the sixteenth place.

Weights = Sequence[int]

_PRECISION = 160
_MOST_NOISE = Fraction(1, 10**9)
"""The share that may pay for the rows themselves: no estimate ever shows it."""


def common_denominator(denominators: Iterable[int], most_bits: int) -> int | None:
    """Return the least common multiple, or None if it has more bits: found out before it grows."""
    common = 1
    for denominator in set(denominators):
        common = lcm(common, denominator)
        if common.bit_length() > most_bits:
            return None
    return common


def largest_remainder(weights: Weights, grid: int) -> list[int]:
    """Return integers in proportion to the weights that sum to ``grid``, each within 1 of it.

    What rounding down leaves over goes, one each, to the largest remainders; of equal ones to the
    first.
    """
    total = sum(weights)
    rounded = [weight * grid // total for weight in weights]
    order = sorted(range(len(weights)), key=lambda y: weights[y] * grid % total, reverse=True)
    for y in order[: grid - sum(rounded)]:
        rounded[y] += 1
    return rounded


def certified_rows(
    rows: Sequence[Weights], epsilon: Fraction, delta: Fraction, grid: int
) -> list[list[int]]:
    """Return the rows over ``grid``, provably (epsilon, delta)-private.

    Rounded as they are if that already is; else with as little uniform noise mixed in beforehand as
    pays for rounding, and for rows that are over epsilon or delta by no more than floats are. The
    rows given all have the same sum.

    Raises:
        InvalidPrivacyParameter: if a share of 1e-9 of noise does not make the rows themselves
            (epsilon, delta)-private.
        GridTooCoarse: if the grid cannot hold them.

    Source: docs/mathematics.md, section 8.
    """
    # What is private at the lower bound of e^epsilon is private at epsilon; what is not at the
    # upper one is not.
    lower, upper = odds_floor(epsilon, _PRECISION), odds_ceiling(epsilon, _PRECISION)
    rounded = [largest_remainder(row, grid) for row in rows]
    if _excess(rounded, lower, delta) <= 0:
        return rounded
    # A positive excess a = w - E z over the common sum becomes (1 - share) a - share c if a share
    # of noise is mixed in, c = (E - 1)/|Y|; and one such column there is at least, so that the sum
    # H of all, which is to be delta at most, becomes no more than (1 - share) H - share c.
    responses, over = len(rows[0]), max(Fraction(0), _excess(rows, upper, delta))
    per_share = over + delta + (lower - 1) / responses
    if over > _MOST_NOISE * per_share:
        raise InvalidPrivacyParameter(
            "the matrix is not private at this epsilon and delta; raise them, or mix it with the "
            "uniform matrix first"
        )
    # Rounding puts at most 1/N on w and takes E/N off E z, and at most (1 + E)|Y|/(4N) onto H.
    cost = (1 + upper) * (Fraction(responses, 4) if delta else 1) / grid
    if over + cost < per_share:
        # (1 - a/b) w/G + (a/b)/|Y| over the common denominator b |Y| G.
        a, b = ((over + cost) / per_share).as_integer_ratio()
        even = a * sum(rows[0])
        mixed = [[(b - a) * responses * weight + even for weight in row] for row in rows]
        rounded = [largest_remainder(row, grid) for row in mixed]
        if _excess(rounded, lower, delta) <= 0:
            return rounded
    raise GridTooCoarse(
        "the grid cannot hold this matrix at this epsilon and delta; use a finer one, or raise "
        "epsilon or delta"
    )


def _excess(rows: Sequence[Weights], odds: Fraction, delta: Fraction) -> Fraction:
    """Return how far integer rows of one sum are from private; at most 0 if they are.

    The largest w - E z, or at delta > 0 the largest sum of these, less delta; odds = E = u/v.
    """
    u, v = odds.numerator, odds.denominator
    if delta == 0:
        worst = max(v * max(column) - u * min(column) for column in zip(*rows, strict=True))
    else:
        worst = max(pair_excess(one, other, odds) for one in rows for other in rows)
    return Fraction(worst, v * sum(rows[0])) - delta


_FIRST_BITS = 64
_MAX_SPREAD = 1 << 16  # e^65536 has 94,549 bits; the wider, the more memory a comparison takes
_STEPS = 10**12

_enclosure = lru_cache(maxsize=1 << 12)(exp_enclosure)


class ExponentsTooFarApart(ValueError):
    """Two exponents of one sum differ by more than 65,536: comparing them would fill the memory."""


@dataclass(frozen=True, slots=True)
class ExponentialSum:
    """A sum of rational multiples of e to rational powers, in canonical form.

    Its terms are pairs (coefficient, exponent), ints or Fractions, by ascending exponent; no
    coefficient is 0. They may be given in any order, with repeated exponents too.
    """

    terms: tuple[tuple[Fraction, Fraction], ...] = ()

    def __post_init__(self) -> None:
        combined: dict[Fraction, Fraction] = {}
        for coefficient, exponent in self.terms:
            key, value = _exact(exponent), _exact(coefficient)
            combined[key] = combined[key] + value if key in combined else value
        canonical = tuple((c, x) for x, c in sorted(combined.items()) if c)
        object.__setattr__(self, "terms", canonical)

    @classmethod
    def term(cls, coefficient: Fraction | int, exponent: Fraction | int = 0) -> Self:
        """Return coefficient * e^exponent; a constant without an exponent."""
        return cls(((_exact(coefficient), _exact(exponent)),))

    @classmethod
    def total(cls, sums: Iterable["ExponentialSum"]) -> Self:
        """Return the sum of any number of sums."""
        return cls(tuple(term for one in sums for term in one.terms))

    def __add__(self, other: "ExponentialSum") -> "ExponentialSum":
        return ExponentialSum(self.terms + other.terms)

    def __sub__(self, other: "ExponentialSum") -> "ExponentialSum":
        return self + other * -1

    def __mul__(self, other: "ExponentialSum | Fraction | int") -> "ExponentialSum":
        factor = other if isinstance(other, ExponentialSum) else ExponentialSum.term(other)
        return ExponentialSum(tuple((c * b, x + y) for c, x in self.terms for b, y in factor.terms))

    __rmul__ = __mul__

    def sign(self) -> int:
        """Return -1, 0 or 1, decided exactly."""
        # One sign throughout: nothing cancels, whatever the exponents are.
        signs = {1 if c > 0 else -1 for c, _ in self.terms}
        if len(signs) < 2:
            return sum(signs)
        # The value is e^least times a sum with exponents from 0 on: the factor changes no sign.
        least = self.terms[0][1]
        bits = _FIRST_BITS
        while True:
            low, high = self.enclosure_over(least, bits)
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
            bits *= 2

    def enclosure_over(self, shift: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        """Enclose e^-shift times the value, in units of 2^-bits; no exponent is below the shift."""
        if self.terms and self.terms[-1][1] - shift > _MAX_SPREAD:
            raise ExponentsTooFarApart(
                f"exponents differ by more than {_MAX_SPREAD}: scale the utility down"
            )
        # One common denominator: the loop is in integers.
        denominator = math.lcm(*(coefficient.denominator for coefficient, _ in self.terms))
        low = high = 0
        for coefficient, exponent in self.terms:
            factor = coefficient.numerator * (denominator // coefficient.denominator)
            below, above = _enclosure(exponent - shift, bits)
            low += factor * (below if factor > 0 else above)
            high += factor * (above if factor > 0 else below)
        return Fraction(low, denominator), Fraction(high, denominator)


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialRatio:
    """A ratio of a sum to a positive one, such as a probability: compared exactly."""

    numerator: ExponentialSum
    denominator: ExponentialSum

    def __post_init__(self) -> None:
        if self.denominator.sign() <= 0:
            raise ValueError("the denominator must be positive")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExponentialRatio):
            return NotImplemented
        # Canonical sums: equal as data if and only if equal in value.
        return self.numerator * other.denominator == other.numerator * self.denominator

    def __lt__(self, other: "ExponentialRatio") -> bool:
        # Denominators are positive, so multiplying by them keeps the order.
        difference = self.numerator * other.denominator - other.numerator * self.denominator
        return difference.sign() < 0

    def as_term(self) -> ExponentialSum | None:
        """Return the ratio as a single term c e^x, or None if it is not one."""
        if not self.numerator.terms:
            return self.numerator
        # If it is c e^x, then the numerator is the denominator with every term times c e^x, and
        # the order of exponents is kept: the first terms give c and x.
        (above, y), (below, x) = self.numerator.terms[0], self.denominator.terms[0]
        candidate = ExponentialSum.term(above / below, y - x)
        return candidate if candidate * self.denominator == self.numerator else None

    def logarithm(self) -> Fraction:
        """Return ln of a ratio of at least 1: exact if rational, else rounded up to 12 places."""
        if (self.numerator - self.denominator).sign() < 0:
            raise ValueError("the ratio must be at least 1")
        # ln is a rational x if and only if the ratio is the single term 1 e^x.
        term = self.as_term()
        if term is not None and term.terms[0][0] == 1:
            return term.terms[0][1]
        # Otherwise ln lies strictly between two steps, and both ends of a fine enough enclosure
        # have the same next step.
        bits = 2 * _FIRST_BITS
        while True:
            low, high = self.enclosure(bits)
            steps = log_ceiling(high, _STEPS)
            if log_ceiling(max(Fraction(1), low), _STEPS) == steps:
                return Fraction(steps, _STEPS)
            bits *= 2

    def enclosure(self, bits: int) -> tuple[Fraction, Fraction]:
        """Enclose the ratio between two Fractions; more bits bring them closer."""
        # A common factor e^-shift of numerator and denominator leaves the ratio as it is.
        shift = min(x for _, x in self.numerator.terms[:1] + self.denominator.terms[:1])
        while True:
            low, high = self.numerator.enclosure_over(shift, bits)
            least, most = self.denominator.enclosure_over(shift, bits)
            if least > 0:
                return min(low / most, low / least), max(high / least, high / most)
            bits *= 2


def _exact(value: Fraction | int) -> Fraction:
    if type(value) is Fraction:  # by far the most frequent; isinstance takes ten times as long
        return value
    if type(value) is not int:
        raise TypeError(
            f"an exact number must be a Fraction or an int, not {type(value).__name__} "
            "(a float is not the number that was written)"
        )
    return Fraction(value)
