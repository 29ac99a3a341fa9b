"""What accepted manifests may still cost: their undecided epochs that lie ahead (D3).

1. Accepting a manifest reserves what all its epochs ahead can cost, of the lifetime ceiling and of
   its name's. A draw turns a reservation into a spend, which is never given back.
2. A reservation is released once its epoch is over, once a successor of the name has taken the
   manifest's place by the time the epoch begins, or once the app trusts another authority. Nothing
   else releases any.
3. Reservations only say what else may be accepted. Every draw is checked against the ceilings
   again, by what is spent (``allowance``): a clock that jumps releases too much and spends nothing.
"""

import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from math import inf
from operator import itemgetter

from deniable.budget import RangeCost
from deniable.mechanisms import ceil_div
from deniable.messages import Manifest

__all__ = ["Replacement", "Reservation", "reserved_ahead"]


@dataclass(frozen=True, slots=True)
class Reservation:
    """What the epochs of one manifest cost, as the state holds it; costs in 1e-9 epsilon.

    Attributes:
        starts: of epoch 0, Unix seconds.
        epoch_seconds: length of an epoch.
        epochs: how many.
        range_epochs: how many share kept responses; 1 where each response is fresh.
        range_cost: of a report in each epoch of a range.
        reserved: of a report in each of all epochs.
    """

    starts: int
    epoch_seconds: int
    epochs: int
    range_epochs: int
    range_cost: int
    reserved: int

    @classmethod
    def of(cls, manifest: Manifest) -> "Reservation":
        """Return what a manifest's epochs cost."""
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
        """Return what the epochs cost that are not over, above ``decided``, and begin in time.

        Args:
            instant: Unix seconds.
            decided: the highest epoch decided under the name.
            until: a successor takes the manifest's place then, Unix seconds.
            spent: in the range of the first of these epochs.
        """
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


@dataclass(frozen=True, slots=True)
class Replacement:
    """A manifest that is about to take the place of others of its name.

    Attributes:
        authority: whose they are, by the first key of its chain.
        name: of all of them.
        sequence: of the manifest; it takes the place of lower ones.
        begins: when it takes their place, Unix seconds.
        dropped: ids of those whose place it, or another one, takes at once.
    """

    authority: bytes
    name: str
    sequence: int
    begins: int
    dropped: Collection[bytes] = ()


def reserved_ahead(
    connection: sqlite3.Connection, name: str | None, replacement: Replacement | None = None
) -> int:
    """Return what accepted manifests may still cost, inside a transaction.

    Args:
        connection: the transaction's.
        name: of one name only; None for all.
        replacement: what is about to be accepted, and releases the epochs that it replaces.
    """
    (instant,) = connection.execute("SELECT looked_at FROM device").fetchone()
    total = 0
    for whose, manifests in groupby(_accepted(connection, name), itemgetter(0)):
        (decided,) = connection.execute(
            "SELECT coalesce(max(epoch), -1) FROM decisions WHERE name = ?", (whose[1],)
        ).fetchone()
        new = replacement
        if new is not None and new.authority != whose[0]:
            continue  # nobody follows what an authority signed that the app trusts no more
        if new is not None and new.name != whose[1]:
            new = None
        until: float = inf
        for _, sequence, survey_id, reservation in manifests:  # the newest first
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
