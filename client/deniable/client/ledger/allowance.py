"""What the device may still spend, as the state holds it; all sums in units of 1e-9 epsilon.

1. A manifest reserves everything that it could ever cost when it is accepted, of the lifetime
   ceiling and of its name's; nothing is given back (D3, D4). What lost states had reserved stays
   reserved; for which names is not known, so it counts for every name.
2. The sliding ceiling is additional: it looks at what was decided within a period of *use*. A gap
   between two looks at the clock counts for a week at most, so that setting the clock forward frees
   a week of the period, and a device that lay in a drawer is not locked out for ever.
3. Nothing here knows an answer.
"""

import sqlite3
from dataclasses import dataclass

from deniable.budget import Ceiling, epsilon_to_nano, format_nano
from deniable.client.errors import BudgetExhausted, ManifestFault, ManifestRefused
from deniable.client.state.tallies import reserved_in_all
from deniable.client.survey import DAY, Survey
from deniable.mechanisms import Number

__all__ = [
    "Allowance",
    "SlidingCeiling",
    "check_allowance",
    "reserved_of_name",
    "spent_in_all",
    "spent_recently",
]


@dataclass(frozen=True, slots=True)
class SlidingCeiling:
    """What all surveys together may cost within a period.

    Attributes:
        epsilon: the most; exact, as everywhere: a decimal string or an int, never a float.
        days: how long a report counts, in days of use: of a gap between two looks at the clock a
            week counts at most. So a clock that is set forward frees a week of the period, and
            all of a period that is no longer.

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


def reserved_of_name(connection: sqlite3.Connection, name: str) -> int:
    """Return what all accepted manifests of a name have reserved, and any that lost states knew."""
    (reserved,) = connection.execute(
        "SELECT carried + (SELECT coalesce(sum(reserved), 0) FROM manifests WHERE name = ?)"
        " FROM device",
        (name,),
    ).fetchone()
    return int(reserved)


def spent_in_all(connection: sqlite3.Connection) -> int:
    """Return the sum of all decisions' costs."""
    (spent,) = connection.execute("SELECT coalesce(sum(cost), 0) FROM decisions").fetchone()
    return int(spent)


def spent_recently(connection: sqlite3.Connection, sliding: SlidingCeiling, lived: int) -> int:
    """Return the costs decided within the sliding period, which ends after ``lived`` seconds."""
    (recent,) = connection.execute(
        "SELECT coalesce(sum(cost), 0) FROM decisions WHERE lived > ?", (lived - sliding.seconds,)
    ).fetchone()
    return int(recent)


def check_allowance(
    connection: sqlite3.Connection, allowance: Allowance, survey: Survey, cost: int, lived: int
) -> None:
    """Check that one more report of a survey fits.

    Raises:
        ManifestRefused: if the app lowered its ceilings, of all or of the name, below what is
            spent.
        BudgetExhausted: if the sliding ceiling does not allow it yet.
    """
    # All that manifests can cost was reserved within the ceilings when they were accepted, so that
    # nothing needs adding up; but the app may have lowered its ceilings since.
    if reserved_in_all(connection) > allowance.lifetime.most:
        _check_spent(connection, "", allowance.lifetime, cost, "this device may ever spend")
    total = survey.total_ceiling
    if total is not None and reserved_of_name(connection, survey.name) > total.most:
        _check_spent(connection, survey.name, total, cost, "this survey may ever cost")
    sliding = allowance.sliding
    if sliding is None:
        return
    recent = spent_recently(connection, sliding, lived)
    if recent + cost > sliding.most:
        raise BudgetExhausted(
            f"{format_nano(recent)} of the {format_nano(sliding.most)} that this device spends in "
            f"{sliding.days} days is spent; a later epoch can be reported"
        )


def _check_spent(
    connection: sqlite3.Connection, name: str, ceiling: Ceiling, cost: int, what: str
) -> None:
    (spent,) = connection.execute(
        "SELECT carried + (SELECT coalesce(sum(cost), 0) FROM decisions WHERE ?1 IN ('', name))"
        " FROM device",
        (name,),
    ).fetchone()
    if not ceiling.admits(spent, cost, 1):
        raise ManifestRefused(
            ManifestFault.OVER_BUDGET,
            f"{format_nano(spent)} of the {format_nano(ceiling.most)} that {what} is spent",
        )
