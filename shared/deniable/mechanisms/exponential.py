"""Certified bounds on e^x and ln x in integers: no floating point decides anything here."""

import math
from fractions import Fraction


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
    """Return e^epsilon rounded down, for a *demand*: what keeps it keeps epsilon."""
    return Fraction(exp_enclosure(epsilon, bits)[0], 1 << bits)


def odds_ceiling(epsilon: Fraction, bits: int = 128) -> Fraction:
    """Return e^epsilon rounded up, for a *statement*: it does not understate what is allowed."""
    return Fraction(exp_enclosure(epsilon, bits)[1], 1 << bits)


def log_ceiling(odds: Fraction, unit: int) -> int:
    """Return the smallest integer c with e^(c/unit) >= odds: ln(odds) in 1/unit, rounded up.

    The comparison is certified by :func:`exp_enclosure`; a float only says where to start.
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
    # e^x is irrational for rational x != 0, so some precision tells it from the rational odds.
    bits = 128
    while True:
        low, high = exp_enclosure(exponent, bits)
        scaled = odds * (1 << bits)
        if low >= scaled:
            return True
        if high < scaled:
            return False
        bits *= 2
