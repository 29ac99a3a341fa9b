"""Exact numbers: privacy parameters as Fractions, certified integer bounds, and bounds as text.

Floats are refused because they are not the number that was written. ``Fraction(0.1) > 1/10``, so a
guarantee stated as 0.1 would actually be larger. No decision here uses floating point.
"""

import math
import re
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, log10
from typing import Final, Literal

_MOST_ODDS: Final = 10**6


def odds_text(odds: Fraction) -> str:
    """Return odds rounded up to three digits, large ones to a whole number: "3.01", "1,097"."""
    places = 2 if odds < 10 else 1 if odds < 100 else 0
    # In integers: a Decimal would be rounded again, in the app's decimal context.
    whole, part = divmod(ceil(odds * 10**places), 10**places)
    return f"{whole:,}.{part:0{places}d}" if places else f"{whole:,}"


def percent_text(share: Fraction, bound: Literal["least", "most"]) -> str:
    """Return a probability in per cent, rounded down for "at least", and up for "at most".

    The text has enough digits to differ from 0; above 99.9%, "at most" gives 100%.
    """
    if bound == "most" and Fraction(999, 1000) < share < 1:
        return "100%"
    small = 0 < share < Fraction(1, 1000)
    digits = 1 - floor(log10(100 * share)) if small else 1  # two significant digits
    scaled = 100 * share * 10**digits
    whole = floor(scaled) if bound == "least" else ceil(scaled)
    return f"{whole / 10**digits:.{digits}f}%"


def is_vast(odds: Fraction) -> bool:
    """Return whether odds are so large that they protect nothing."""
    return odds > _MOST_ODDS


Number = str | Decimal | Fraction | int
"""The types of a privacy parameter."""

MAX_EPSILON = 40
"""Odds of e^40 : 1 give no privacy; above them, 64 bits cannot resolve a lie."""

_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,3})(\.[0-9]{0,17}[1-9])?", re.ASCII)
"""Decimal strings of the protocol: canonical, at most 4 digits before and 18 after the point."""

_MAX_PLACES = 18
_MAX_BITS = 1024


class InvalidPrivacyParameter(ValueError):
    """An epsilon or delta outside its domain, or written in an unsupported form."""


class GridTooCoarse(ValueError):
    """The probabilities cannot be distinguished on the grid of integers that samples them."""


def exact_epsilon(value: Number) -> Fraction:
    """Return epsilon exactly, if it is in [0, 40]."""
    epsilon = exact_number("epsilon", value)
    if not 0 <= epsilon <= MAX_EPSILON:
        raise InvalidPrivacyParameter(f"epsilon must be in [0, {MAX_EPSILON}]")
    return epsilon


def exact_delta(value: Number) -> Fraction:
    """Return delta exactly, if it is in [0, 1)."""
    delta = exact_number("delta", value)
    if not 0 <= delta < 1:
        raise InvalidPrivacyParameter("delta must be in [0, 1)")
    return delta


def exact_number(name: str, value: Number) -> Fraction:
    """Return a parameter exactly, whatever its domain; errors use ``name``.

    Raises:
        TypeError: for a float, a bool or any other type.
        InvalidPrivacyParameter: for a number that is not written plainly, or too long.
    """
    # To Python, bool is an int, and a numpy float64 is a float: both are mistakes here.
    if isinstance(value, bool) or not isinstance(value, str | Decimal | Fraction | int):
        reason = " (a float is not exactly the number you wrote: 0.1 is slightly more than 1/10)"
        raise TypeError(
            f"{name} must be a decimal string, Decimal, Fraction or int, "
            f"not {type(value).__name__}{reason if isinstance(value, float) else ''}; "
            'write it as a string, such as "0.1"'
        )
    if isinstance(value, str):
        # Before parsing: Fraction("1e999999999") would fill the memory.
        if not _DECIMAL.fullmatch(value):
            raise InvalidPrivacyParameter(
                f'{name} must be a plain decimal such as "1" or "0.25", with no sign, exponent, '
                "leading zero or trailing zero, and at most 4 digits before and 18 after the point"
            )
        return Fraction(value)
    if isinstance(value, Decimal):
        # Also before converting: Decimal("1e999999999") is small, its Fraction is not.
        if not value.is_finite():
            raise InvalidPrivacyParameter(f"{name} must be a finite number")
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)
        if not -_MAX_PLACES <= exponent <= 4 or len(value.as_tuple().digits) > 4 + _MAX_PLACES:
            raise InvalidPrivacyParameter(
                f"{name} must have at most {4 + _MAX_PLACES} digits, at most {_MAX_PLACES} of them "
                "after the point"
            )
        return Fraction(value)
    fraction = Fraction(value)
    if max(fraction.numerator.bit_length(), fraction.denominator.bit_length()) > _MAX_BITS:
        raise InvalidPrivacyParameter(
            f"{name} must be a fraction of integers with at most {_MAX_BITS} bits each"
        )
    return fraction


def ceil_div(numerator: int, denominator: int) -> int:
    """Return the smallest integer that is not below numerator / denominator (denominator > 0)."""
    return -(-numerator // denominator)


def exp_enclosure(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Return low <= e^exponent * 2^bits <= high, integers; both are exact at exponent 0.

    Source: docs/mathematics.md, section 2.
    """
    if exponent < 0:
        raise ValueError("exponent must not be negative")
    # x = exponent / 2^j <= 1/2, so that the Taylor tail is at most twice its first term:
    #   sum_{i>=J} x^i/i!  <=  x^J/J! * 1/(1-x)  <=  2 x^J/J!
    halvings = 0
    while 2 * exponent > 1 << halvings:
        halvings += 1
    # One squaring doubles the relative error: j of them cost j bits, the roundings a few more.
    working = bits + 2 * halvings + 16
    numerator, denominator = exponent.numerator, exponent.denominator << halvings
    low = high = 0
    term_low = term_high = 1 << working
    i = 0
    while term_high > 1:
        low += term_low
        high += term_high
        i += 1
        term_low = term_low * numerator // (denominator * i)
        term_high = ceil_div(term_high * numerator, denominator * i)
    high += 2 * term_high
    for _ in range(halvings):
        low = low * low >> working
        high = ceil_div(high * high, 1 << working)
    surplus = working - bits
    return low >> surplus, ceil_div(high, 1 << surplus)


def odds_floor(epsilon: Fraction, bits: int = 128) -> Fraction:
    """Return e^epsilon rounded down, for a *requirement*: odds up to it meet epsilon."""
    return Fraction(exp_enclosure(epsilon, bits)[0], 1 << bits)


def odds_ceiling(epsilon: Fraction, bits: int = 128) -> Fraction:
    """Return e^epsilon rounded up, for a *statement*: it never understates the odds."""
    return Fraction(exp_enclosure(epsilon, bits)[1], 1 << bits)


def log_ceiling(odds: Fraction, unit: int) -> int:
    """Return the smallest integer c with e^(c/unit) >= odds: ln(odds) in 1/unit, rounded up.

    The comparison is certified by :func:`exp_enclosure`; a float provides only a starting point.
    """
    if odds < 1:
        raise ValueError("odds must be at least 1")
    if odds == 1:
        return 0
    estimate = math.log(odds.numerator) - math.log(odds.denominator)
    candidate = max(0, math.floor(estimate * unit) - 2)
    while not _exp_at_least(Fraction(candidate, unit), odds):
        candidate += 1
    while candidate > 0 and _exp_at_least(Fraction(candidate - 1, unit), odds):
        candidate -= 1
    return candidate


def _exp_at_least(exponent: Fraction, odds: Fraction) -> bool:
    # e^x is irrational for rational x != 0, so some precision separates it from the rational odds.
    bits = 128
    while True:
        low, high = exp_enclosure(exponent, bits)
        scaled = odds * (1 << bits)
        if low >= scaled:
            return True
        if high < scaled:
            return False
        bits *= 2
