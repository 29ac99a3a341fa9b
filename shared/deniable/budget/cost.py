"""The cost of a report: its pure level, in billionths of epsilon, always rounded up.

Pure levels add up exactly (basic composition), whatever the answers were and however they changed
from epoch to epoch. A ledger of integers neither drifts nor rounds in anybody's favour but the
user's.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Mechanism,
    Number,
    ceil_div,
    exact_number,
    log_ceiling,
)

__all__ = ["NANO", "Ceiling", "epsilon_ceiling", "epsilon_to_nano", "format_nano", "pure_cost"]

NANO: Final = 10**9
"""Units of cost in one epsilon."""
_PLACES: Final = 12


def pure_cost(mechanism: Mechanism) -> int:
    """Return what one response costs: epsilon' = ln(pure odds), rounded up to 1e-9.

    Raises:
        InvalidPrivacyParameter: if some response excludes a category, so that no budget covers it.
    """
    odds = mechanism.privacy.odds
    if odds is None:
        raise InvalidPrivacyParameter(
            "the mechanism has no pure guarantee: some response excludes a category"
        )
    return log_ceiling(odds, NANO)


def epsilon_to_nano(name: str, epsilon: Number) -> int:
    """Return a ceiling in units of 1e-9 epsilon, rounded down; ``name`` is what an error calls it.

    Raises:
        TypeError: for a float or another type that does not hold the number exactly.
        InvalidPrivacyParameter: for a negative number, or one that is not written plainly.
    """
    exact = exact_number(name, epsilon)
    if exact < 0:
        raise InvalidPrivacyParameter(f"{name} must not be negative")
    return int(exact * NANO)


def format_nano(cost: int) -> str:
    """Return a cost for people: epsilon rounded up to three decimal places."""
    thousandths = -(-cost // (NANO // 1000))
    return f"{thousandths // 1000}.{thousandths % 1000:03d}"


def epsilon_ceiling(epsilon: Fraction) -> Decimal:
    """Return an epsilon rounded up to 12 decimal places."""
    # Put together from digits: arithmetic would round by the app's decimal context, even down.
    units = ceil_div(epsilon.numerator * 10**_PLACES, epsilon.denominator)
    return Decimal((0, tuple(map(int, str(units))), -_PLACES))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What a device will spend over its lifetime, in units of 1e-9 epsilon."""

    most: int

    def admits(self, reserved: int, cost: int, epochs: int) -> bool:
        """Tell whether a survey of so many epochs fits beside what is already reserved.

        Everything a survey could ever cost is reserved when its manifest is accepted (D3), so that
        running out never depends on when or what a device reports.
        """
        return reserved + cost * epochs <= self.most
