"""Bounds as text: rounded up or down such that what is stated holds."""

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil, floor, log10
from typing import Final, Literal

from deniable.mechanisms.exponential import ceil_div

_PLACES: Final = 12
_MOST_ODDS: Final = 10**6


def upper_text(value: Fraction | Decimal, digits: int = 3) -> str:
    """Return an epsilon, a delta or odds to so many significant digits, rounded up."""
    if value == Decimal("Infinity"):
        return "infinite"
    exact = Fraction(value)
    context = Context(prec=digits, rounding=ROUND_CEILING)
    rounded = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    plain = rounded == 0 or -7 < rounded.adjusted() < 12
    return f"{rounded.normalize(context):f}" if plain else f"{rounded:E}"


def odds_text(odds: Fraction) -> str:
    """Return odds rounded up to three digits, large ones to a whole number: "3.01", "1,097"."""
    places = 2 if odds < 10 else 1 if odds < 100 else 0
    # In integers: a Decimal would be rounded again, by the app's decimal context.
    whole, part = divmod(ceil(odds * 10**places), 10**places)
    return f"{whole:,}.{part:0{places}d}" if places else f"{whole:,}"


def percent_text(share: Fraction, bound: Literal["least", "most"]) -> str:
    """Return a probability in per cent, rounded down for "at least", and up for "at most".

    With enough digits to tell it from 0; what is above 99.9% is at most 100%.
    """
    if bound == "most" and Fraction(999, 1000) < share < 1:
        return "100%"
    small = 0 < share < Fraction(1, 1000)
    digits = 1 - floor(log10(100 * share)) if small else 1  # two significant ones
    scaled = 100 * share * 10**digits
    whole = floor(scaled) if bound == "least" else ceil(scaled)
    return f"{whole / 10**digits:.{digits}f}%"


def epsilon_ceiling(epsilon: Fraction) -> Decimal:
    """Return an epsilon rounded up to 12 decimal places."""
    # Put together from digits: arithmetic would round by the app's decimal context, even down.
    units = ceil_div(epsilon.numerator * 10**_PLACES, epsilon.denominator)
    return Decimal((0, tuple(map(int, str(units))), -_PLACES))


def times_likelier(odds: Fraction) -> str:
    """Return odds as a bound in words, rounded up: what is stated is never less than what holds."""
    if is_vast(odds):
        return "possibly more than a million times likelier"
    return f"at most {odds_text(odds)} times likelier"


def is_vast(odds: Fraction) -> bool:
    """Tell odds at which nothing is protected any more."""
    return odds > _MOST_ODDS


def promise_text(odds: Fraction) -> str:
    """Return the promise of a report, as a part of a sentence."""
    return f"a response is {times_likelier(odds)} than with any other answer"
