"""Exact sums of exponentials.

Probabilities of an exponential mechanism are ratios of such sums, and its privacy hangs on their
comparisons, ties included. Floating point breaks ties; these sums do not:

1. Terms with like exponents are combined and zero coefficients dropped. What is left is canonical.
2. A sum without terms is 0. Any other is *not* 0: by the theorem of Lindemann and Weierstrass,
   exponentials of distinct rational numbers are linearly independent over the rationals.
3. So two sums have the same value if and only if they are equal as data, and the sign of one that
   is not 0 shows at some finite precision of certified enclosures.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

from deniable.mechanisms import exp_enclosure, log_ceiling

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
