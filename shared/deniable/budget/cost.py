"""The cost of a report: its pure level, in billionths of epsilon, always rounded up.

Pure levels add up exactly (basic composition), whatever the answers were and however they changed
from epoch to epoch. A ledger of integers neither drifts nor rounds in anybody's favour but the
user's.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil, floor, log10
from typing import Final, Literal

from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Mechanism,
    Number,
    ceil_div,
    exact_number,
    log_ceiling,
)

NANO: Final = 10**9
"""Units of cost in one epsilon."""
_PLACES: Final = 12


def pure_cost(mechanism: Mechanism) -> int:
    """Return the cost of one response: epsilon' = ln(pure odds), rounded up to 1e-9."""
    odds = mechanism.privacy.odds
    if odds is None:
        raise InvalidPrivacyParameter(
            "the mechanism has no pure guarantee: some response excludes a category"
        )
    return log_ceiling(odds, NANO)


def epsilon_to_nano(name: str, epsilon: Number) -> int:
    """Return a ceiling in units of 1e-9 epsilon, rounded down; an error calls it ``name``."""
    exact = exact_number(name, epsilon)
    if exact < 0:
        raise InvalidPrivacyParameter(f"{name} must not be negative")
    return int(exact * NANO)


def format_nano(cost: int) -> str:
    """Return a cost for people: epsilon rounded up to three decimal places."""
    thousandths = -(-cost // (NANO // 1000))
    return f"{thousandths // 1000}.{thousandths % 1000:03d}"


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


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The budget of a device's lifetime, in units of 1e-9 epsilon."""

    most: int

    def admits(self, reserved: int, cost: int, epochs: int) -> bool:
        """Tell whether a survey of so many epochs fits beside what is already reserved.

        Everything a survey could ever cost is reserved when its manifest is accepted (D3), so that
        running out never depends on when or what a device reports.
        """
        return reserved + cost * epochs <= self.most
