"""What the device's own row and its tables add up to, inside a transaction."""

import sqlite3
from math import ceil
from typing import Final

from deniable.client.clock import Boot
from deniable.client.survey import DAY

__all__ = [
    "lived_by",
    "look_at_clock",
    "spent_by_day",
    "spent_in_all",
    "spent_since",
    "whole_days",
]

_LONGEST_GAP: Final = 7 * DAY
_NEVER: Final = -(2**62)


def look_at_clock(connection: sqlite3.Connection, now: float, boot: Boot | None) -> int:
    """Count the time since the last look, inside a transaction; return the seconds of use.

    A gap counts for a week at most, and within one boot of the machine for what passed by the
    boot's own clock, which nobody can set: where there is one, a clock that was ahead once and is
    put right holds up nothing.
    """
    lived = lived_by(connection, now, boot)
    connection.execute(
        "UPDATE device SET lived = :lived, boot = :boot, boot_seconds = :seconds,"
        " looked_at = CASE WHEN :boot = '' THEN max(looked_at, :now) ELSE :now END",
        {
            "lived": lived,
            "now": int(now),
            "boot": boot[0] if boot else "",
            "seconds": boot[1] if boot else 0.0,
        },
    )
    return lived


def lived_by(connection: sqlite3.Connection, now: float, boot: Boot | None) -> int:
    """Return the seconds of use that a look at the clock would count now; nothing is changed."""
    lived, looked_at, last, seconds = connection.execute(
        "SELECT lived, looked_at, boot, boot_seconds FROM device"
    ).fetchone()
    gap = int(now) - looked_at
    if boot is not None and boot[0] == last:
        # Where the clock says less, it was put back; of what it says besides, nothing is known.
        gap = ceil(boot[1] - seconds)
    return int(lived + max(0, min(gap, _LONGEST_GAP)))


def whole_days(lived: int) -> int:
    """Return seconds of use, rounded up to days: a decision keeps no finer time of an answer."""
    return -(-lived // DAY) * DAY


def spent_by_day(connection: sqlite3.Connection) -> dict[int, int]:
    """Return what was spent by day of use, by states of this device that are gone too."""
    rows = connection.execute(
        "SELECT lived, sum(cost) FROM"
        " (SELECT lived, cost FROM carried UNION ALL SELECT lived, cost FROM decisions)"
        " GROUP BY lived"
    )
    return {lived // DAY: int(cost) for lived, cost in rows}  # of whole days, all of them


def spent_in_all(connection: sqlite3.Connection) -> int:
    """Return what was ever spent, by states of this device that are gone too; in 1e-9 epsilon."""
    return spent_since(connection, _NEVER)


def spent_since(connection: sqlite3.Connection, lived: int) -> int:
    """Return what was spent after so many seconds of use, by states that are gone too."""
    (spent,) = connection.execute(
        "SELECT coalesce(sum(cost), 0) FROM"
        " (SELECT cost FROM carried WHERE lived > :lived"
        " UNION ALL SELECT cost FROM decisions WHERE lived > :lived)",
        {"lived": lived},
    ).fetchone()
    return int(spent)
