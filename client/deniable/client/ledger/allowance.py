"""What the device may still spend, as the state holds it; all sums in units of 1e-9 epsilon.

1. What was spent is never given back, by states of this device that are gone neither; for which
   names those spent it is not known, so it counts for every name. What is reserved besides stands
   in ``reservations``.
2. The sliding ceiling is additional: it looks at what was decided within a period of *use*. A gap
   between two looks at the clock counts for a week at most, and within one boot of the machine for
   no more than passed by its boot clock, where it has one. So a clock that is set forward frees
   nothing, or a week without a boot clock or after another boot, and a device that lay in a drawer
   is not locked out for ever.
3. Nothing here knows an answer.
"""

import sqlite3
from dataclasses import dataclass

from deniable.budget import Ceiling, epsilon_to_nano, format_nano
from deniable.client.errors import BudgetExhausted, ManifestFault, ManifestRefused
from deniable.client.ledger.reservations import Replacement, reserved_ahead
from deniable.client.state.tallies import spent_in_all, spent_since
from deniable.client.survey import DAY, Survey
from deniable.mechanisms import Number

__all__ = [
    "Allowance",
    "SlidingCeiling",
    "check_allowance",
    "reserved_in_all",
    "reserved_of_name",
]


@dataclass(frozen=True, slots=True)
class SlidingCeiling:
    """What all surveys together may cost within a period.

    Attributes:
        epsilon: the most; exact, as everywhere: a decimal string or an int, never a float.
        days: how long a report counts, in days of use: of a gap between two looks at the clock a
            week counts at most, and on Linux, within one boot, what passed by the boot clock. So a
            clock that is set forward frees nothing there; elsewhere, or before the first look
            after a boot, it frees a week of the period, and all of a period that is no longer.

    Raises:
        TypeError, InvalidPrivacyParameter: for an epsilon that is a float or negative.
        ValueError: for less than a day.
    """

    epsilon: Number
    days: int

    def __post_init__(self) -> None:
        if self.days < 1:
            raise ValueError("days must be at least 1")
        _ = self.most

    @property
    def most(self) -> int:
        """Return the most, in units of 1e-9 epsilon."""
        return epsilon_to_nano("epsilon", self.epsilon)

    @property
    def seconds(self) -> int:
        """Return the period in seconds."""
        return self.days * DAY


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the app lets this device spend.

    Attributes:
        lifetime: on all surveys together, ever.
        sliding: on all surveys together within a period; None for no such ceiling.
    """

    lifetime: Ceiling
    sliding: SlidingCeiling | None = None


def spent_of_name(connection: sqlite3.Connection, name: str) -> int:
    """Return what a name has spent, and what states that are gone have, for whatever names."""
    (spent,) = connection.execute(
        "SELECT (SELECT coalesce(sum(cost), 0) FROM carried)"
        " + (SELECT coalesce(sum(cost), 0) FROM decisions WHERE name = ?)",
        (name,),
    ).fetchone()
    return int(spent)


def reserved_in_all(connection: sqlite3.Connection, replacement: Replacement | None = None) -> int:
    """Return what all names have spent, and may still spend; see :func:`reserved_ahead`."""
    return spent_in_all(connection) + reserved_ahead(connection, None, replacement)


def reserved_of_name(
    connection: sqlite3.Connection, name: str, replacement: Replacement | None = None
) -> int:
    """Return what a name has spent, and may still spend; see :func:`reserved_ahead`."""
    return spent_of_name(connection, name) + reserved_ahead(connection, name, replacement)


def check_allowance(
    connection: sqlite3.Connection, allowance: Allowance, survey: Survey, cost: int, lived: int
) -> None:
    """Check that one more report of a survey fits.

    Raises:
        ManifestRefused: if the app lowered its ceilings, of all or of the name, below what is
            spent.
        BudgetExhausted: if the sliding ceiling does not allow it yet.
    """
    _check_spent(spent_in_all(connection), cost, allowance.lifetime, "this device may ever spend")
    total = survey.total_ceiling
    if total is not None:
        spent = spent_of_name(connection, survey.name)
        _check_spent(spent, cost, total, "this survey may ever cost")
    sliding = allowance.sliding
    if sliding is None:
        return
    recent = spent_since(connection, lived - sliding.seconds)
    if recent + cost > sliding.most:
        raise BudgetExhausted(
            f"{format_nano(recent)} of the {format_nano(sliding.most)} that this device spends in "
            f"{sliding.days} days is spent; a later epoch can be reported"
        )


def _check_spent(spent: int, cost: int, ceiling: Ceiling, what: str) -> None:
    if not ceiling.admits(spent, cost, 1):
        raise ManifestRefused(
            ManifestFault.OVER_BUDGET,
            f"{format_nano(spent)} of the {format_nano(ceiling.most)} that {what} is spent",
        )
