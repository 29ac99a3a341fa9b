"""The budget that the device may still spend, according to the state; sums in 1e-9 epsilon.

1. Spent budget is never given back, even if this device's state that spent it is gone. Which names
   a lost state spent it on is unknown, so it counts for every name.
2. Accepting a manifest reserves the most that its undecided future epochs can cost, from the
   lifetime ceiling and from its name's ceiling. A draw turns a reservation into a spend. A
   reservation is released once its epoch is over, once a successor with the same name has replaced
   the manifest by the time the epoch begins, or once the app trusts another authority. Nothing else
   releases it (D3).
3. Reservations only limit further acceptances. Every draw is checked against the ceilings again,
   using actual spending. A clock that jumps may release too much, but spends nothing.
4. The sliding ceiling is additional: it limits the decisions within a period of *use*, as
   ``SlidingCeiling`` counts it. A device that lay unused is not locked out for ever.
5. This module knows no answers.
"""

import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import NamedTuple

from deniable.budget import RangeCost, epsilon_to_nano, format_nano
from deniable.client.errors import BudgetExhausted, ManifestFault, ManifestRefused
from deniable.client.survey import DAY, LONGEST_PERIOD, Survey
from deniable.mechanisms import Number, ceil_div
from deniable.messages import Manifest


@dataclass(frozen=True, slots=True)
class SlidingCeiling:
    """A ceiling on the cost of all surveys together within a period.

    The period is in days of use. A gap between two clock readings counts as a week at most; on
    Linux, within one boot, it counts as the boot clock's elapsed time. So setting the clock forward
    there frees no budget. Elsewhere, or before the first reading after a boot, it frees a week of
    the period: all of it, if it is no longer.
    """

    epsilon: Number
    days: int

    def __post_init__(self) -> None:
        if not 1 <= self.days <= LONGEST_PERIOD:
            raise ValueError(f"days must be at least 1 and at most {LONGEST_PERIOD}")
        _ = self.most

    @property
    def most(self) -> int:
        """Return the ceiling, in units of 1e-9 epsilon."""
        return epsilon_to_nano("epsilon", self.epsilon)

    @property
    def seconds(self) -> int:
        """Return the period in seconds."""
        return self.days * DAY


class Allowance(NamedTuple):
    """The ceilings that the app sets on all surveys together, in total and within a period."""

    lifetime: int  # in units of 1e-9 epsilon
    sliding: SlidingCeiling | None = None


class Reservation(NamedTuple):
    """The costs of one manifest's epochs, as stored in the state; in units of 1e-9 epsilon."""

    starts: int  # of epoch 0, Unix seconds
    epoch_seconds: int
    epochs: int
    range_epochs: int  # how many epochs share a kept response; 1 if each response is fresh
    range_cost: int  # cost of a report in each epoch of a range
    reserved: int  # cost of a report in every epoch

    @classmethod
    def of(cls, manifest: Manifest) -> "Reservation":
        """Return the costs of a manifest's epochs."""
        schedule, range_epochs = manifest.schedule, manifest.repeat.epochs or 1
        cost = RangeCost.of(manifest.mechanism)
        return cls(
            schedule.start,
            schedule.epoch_seconds,
            schedule.epochs,
            range_epochs,
            cost.cumulative(range_epochs),
            cost.most(schedule.epochs, range_epochs),
        )

    def ahead(self, instant: float, decided: int = -1, until: float = inf, spent: int = 0) -> int:
        """Return the cost of unfinished epochs above ``decided`` that begin before ``until``."""
        first = self.first_ahead(instant, decided)
        within = max(0.0, min(until, self.starts + self.epochs * self.epoch_seconds) - self.starts)
        end = ceil_div(int(within), self.epoch_seconds)
        if first >= end:
            return 0
        ranges = (end - 1) // self.range_epochs - first // self.range_epochs + 1
        return max(0, min(self.reserved, ranges * self.range_cost) - spent)

    def first_ahead(self, instant: float, decided: int) -> int:
        """Return the first epoch that is neither over nor decided."""
        return max(0, decided + 1, int((instant - self.starts) // self.epoch_seconds))


class Replacement(NamedTuple):
    """A manifest that is about to replace others with its name."""

    authority: bytes  # the first key of the authority's chain
    name: str
    sequence: int  # the manifest replaces those with lower sequences
    begins: int  # when the replacement happens, in Unix seconds
    dropped: Collection[bytes] = ()  # ids of manifests that this or another one replaces at once


def spent_in_all(connection: sqlite3.Connection) -> int:
    """Return the total spending, including by states that are gone; in 1e-9 epsilon."""
    return _sum(connection, "SELECT cost FROM carried UNION ALL SELECT cost FROM spending_by_name")


def spent_of_name(connection: sqlite3.Connection, name: str) -> int:
    """Return the spending of a name; spending by states that are gone counts for any name."""
    costs = "SELECT cost FROM carried UNION ALL SELECT cost FROM spending_by_name WHERE name = ?"
    return _sum(connection, costs, name)


def spent_since(connection: sqlite3.Connection, lived: int) -> int:
    """Return the spending since this many seconds of use, including by states that are gone."""
    costs = (
        "SELECT cost FROM carried WHERE lived > ?"
        " UNION ALL SELECT cost FROM decisions WHERE lived > ?"
    )
    return _sum(connection, costs, lived, lived)


def _sum(connection: sqlite3.Connection, costs: str, *parameters: object) -> int:
    (spent,) = connection.execute(
        f"SELECT coalesce(sum(cost), 0) FROM ({costs})",  # noqa: S608 - of the constants above
        parameters,
    ).fetchone()
    return int(spent)


def reserved_in_all(connection: sqlite3.Connection, replacement: Replacement | None = None) -> int:
    """Return the costs of all names, spent and reserved, given a manifest about to be accepted."""
    return spent_in_all(connection) + _reserved_ahead(connection, None, replacement)


def reserved_of_name(
    connection: sqlite3.Connection, name: str, replacement: Replacement | None = None
) -> int:
    """Return the costs of a name, spent and reserved, given a manifest about to be accepted."""
    return spent_of_name(connection, name) + _reserved_ahead(connection, name, replacement)


def check_allowance(
    connection: sqlite3.Connection, allowance: Allowance, survey: Survey, cost: int, lived: int
) -> BudgetExhausted | None:
    """Raise unless one more report to a survey fits; return the reason if it may fit later."""
    _check_spent(spent_in_all(connection), cost, allowance.lifetime, "this device may ever spend")
    total = survey.total_ceiling
    if total is not None:
        spent = spent_of_name(connection, survey.name)
        _check_spent(spent, cost, total, "this survey may ever cost")
    sliding = allowance.sliding
    return None if sliding is None else _exhausted(connection, sliding, cost, lived)


def _exhausted(
    connection: sqlite3.Connection, sliding: SlidingCeiling, cost: int, lived: int
) -> BudgetExhausted | None:
    recent = spent_since(connection, lived - sliding.seconds)
    if recent + cost <= sliding.most:
        return None
    return BudgetExhausted(
        f"in the last {sliding.days} days, this device spent {format_nano(recent)} of "
        f"{format_nano(sliding.most)}; a later epoch can be reported"
    )


def _check_spent(spent: int, cost: int, ceiling: int, what: str) -> None:
    if spent + cost > ceiling:
        raise ManifestRefused(
            ManifestFault.OVER_BUDGET,
            f"{format_nano(spent)} of the {format_nano(ceiling)} that {what} is already spent",
        )


def _reserved_ahead(
    connection: sqlite3.Connection, name: str | None, replacement: Replacement | None
) -> int:
    """Return the cost that accepted manifests may still incur, for one name or all."""
    (instant,) = connection.execute("SELECT looked_at FROM device").fetchone()
    total = 0
    for whose, manifests in groupby(_accepted(connection, name), itemgetter(0)):
        (decided,) = connection.execute(
            "SELECT coalesce(max(epoch), -1) FROM decisions WHERE name = ?", (whose[1],)
        ).fetchone()
        new = replacement
        if new is not None and new.authority != whose[0]:
            continue  # the app no longer trusts the authority, so nobody follows its manifests
        if new is not None and new.name != whose[1]:
            new = None
        until: float = inf
        for _, sequence, survey_id, reservation in manifests:  # newest first
            if new is not None and survey_id in new.dropped:
                continue
            if new is not None and sequence < new.sequence:
                until = min(until, new.begins)
            first = reservation.first_ahead(instant, decided)
            (spent,) = connection.execute(
                "SELECT coalesce(sum(cost), 0) FROM decisions WHERE name = ? AND survey_id = ?"
                " AND epoch >= ?",
                (whose[1], survey_id, first - first % reservation.range_epochs),
            ).fetchone()
            total += reservation.ahead(instant, decided, until, spent)
            until = min(until, reservation.starts)
    if type(total) is not int:  # a corrupted file
        raise ValueError("a row of the state is damaged")
    return total


def _accepted(
    connection: sqlite3.Connection, name: str | None
) -> Iterator[tuple[tuple[bytes, str], int, bytes, Reservation]]:
    rows = connection.execute(
        "SELECT authority, name, sequence, survey_id, starts, epoch_seconds, epochs, range_epochs,"
        " range_cost, reserved FROM manifests"
        " WHERE role = 'accepted' AND (name = :name OR :name IS NULL)"
        " ORDER BY authority, name, sequence DESC",
        {"name": name},
    ).fetchall()
    for authority, of_name, sequence, survey_id, *columns in rows:
        yield (authority, of_name), sequence, survey_id, Reservation(*columns)
