"""What the device's own row and its tables add up to, inside a transaction."""

import sqlite3
from typing import Final

from deniable.client.survey import DAY

__all__ = ["lived_by", "look_at_clock", "reserved_in_all"]

_LONGEST_GAP: Final = 7 * DAY


def look_at_clock(connection: sqlite3.Connection, now: float) -> int:
    """Count the time since the last look, inside a transaction; return the seconds of use."""
    connection.execute(
        "UPDATE device SET lived = lived + max(0, min(?1 - looked_at, ?2)),"
        " looked_at = max(looked_at, ?1)",
        (int(now), _LONGEST_GAP),
    )
    (lived,) = connection.execute("SELECT lived FROM device").fetchone()
    return int(lived)


def lived_by(connection: sqlite3.Connection, now: float) -> int:
    """Return the seconds of use that a look at the clock would count now; nothing is changed."""
    (lived,) = connection.execute(
        "SELECT lived + max(0, min(?1 - looked_at, ?2)) FROM device", (int(now), _LONGEST_GAP)
    ).fetchone()
    return int(lived)


def reserved_in_all(connection: sqlite3.Connection) -> int:
    """Return what is reserved of the lifetime budget, by lost states too."""
    (reserved,) = connection.execute(
        "SELECT carried + (SELECT coalesce(sum(reserved), 0) FROM manifests) FROM device"
    ).fetchone()
    return int(reserved)
