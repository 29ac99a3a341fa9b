"""The cost of a report: its pure level, in billionths of epsilon, always rounded up.

Pure levels add up exactly (basic composition), whatever the answers were and however they changed
from epoch to epoch. A ledger of integers neither drifts nor rounds in anybody's favour but the
user's.
"""

from dataclasses import dataclass
from typing import Final

from deniable.mechanisms import (
    InvalidPrivacyParameter,
    Mechanism,
    Number,
    exact_number,
    log_ceiling,
)

NANO: Final = 10**9
"""Units of cost in one epsilon."""


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
