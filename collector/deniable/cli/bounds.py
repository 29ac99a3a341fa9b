"""Bounds as decimals, rounded up: what is shown is never less than what holds."""

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

__all__ = ["decimal_text", "upper_bound"]


def upper_bound(value: Fraction | Decimal, digits: int) -> str:
    """Return an epsilon, a delta or odds to so many significant digits, rounded up."""
    return "infinite" if value == Decimal("Infinity") else decimal_text(value, digits, up=True)[0]


def decimal_text(value: Fraction | Decimal, digits: int, *, up: bool) -> tuple[str, bool]:
    """Return so many significant digits, rounded up or to the nearest, and whether they are all."""
    exact = Fraction(value)
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_HALF_EVEN)
    shown = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    plain = shown == 0 or -7 < shown.adjusted() < 12
    return f"{shown.normalize(context):f}" if plain else f"{shown:E}", Fraction(shown) == exact
