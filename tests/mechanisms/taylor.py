"""Exact bounds on e^x from the series alone: the judge of the package's own enclosure.

No halving, no squaring, no rounding: Fractions all the way, so it shares no step with
``deniable.mechanisms.exact``.
"""

import math
from fractions import Fraction


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return Fractions around e^x for x >= 0, less than 2^-270 of it apart for x up to 100.

    The tail after J terms is a geometric series at most: x^J/J! * 1/(1 - x/(J+1)) for J + 1 > x.
    """
    terms = 80 + 4 * math.ceil(x)
    total, term = Fraction(0), Fraction(1)
    for i in range(1, terms + 1):
        total += term
        term = term * x / i
    return total, total + term / (1 - x / (terms + 1))
