"""The spending by day of use: of this state, and in few enough numbers for the mark.

A decision keeps no finer time of an answer than its day of use. For the mark a day is merged with
later ones as it grows old: into the end of a block of a power of two of days, the longest one that
ended at least eight times its length ago. So

1. nothing is forgotten, and no cost is moved to an earlier time: no ceiling over any period sees
   less than there was; it sees a cost longer than it should, by an eighth of its age at most;
2. there are some eighty numbers for ten years, and no more than eight for each doubling of them;
3. merging now and once more later gives what merging later gives. So the costs of which a state
   does not know are the difference of two sums, both merged on the later one's day, exactly: none
   is lost, none counted twice.
"""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from math import ceil
from typing import Final

from deniable.client.clock import Boot
from deniable.client.survey import DAY

NEVER: Final = -(2**62)
"""Before any instant, and any time of use."""
_FINENESS: Final = 8
_LONGEST_GAP: Final = 7 * DAY


def look_at_clock(connection: sqlite3.Connection, now: float, boot: Boot | None) -> int:
    """Count the time since the last look; return the seconds of use.

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
    """Return seconds of use, rounded up to days."""
    return -(-lived // DAY) * DAY


def spent_by_day(connection: sqlite3.Connection) -> Counter[int]:
    """Return the spending by day of use, with that of this device's states that are gone."""
    spent: Counter[int] = Counter()
    for lived, cost in connection.execute(
        "SELECT lived, cost FROM carried UNION ALL SELECT lived, cost FROM spending_by_day"
    ):
        spent[lived // DAY] += int(cost)  # of whole days, all of them
    return spent


def merge_spending(connection: sqlite3.Connection, today: int) -> None:
    """Merge the days that have grown old by a day of use: that no report has to add up them all."""
    rows = connection.execute("SELECT lived, cost FROM spending_by_day").fetchall()
    before = {lived // DAY: int(cost) for lived, cost in rows}
    after = merged(before, today)
    connection.executemany(
        "DELETE FROM spending_by_day WHERE lived = ?",
        [(day * DAY,) for day in before.keys() - after.keys()],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO spending_by_day VALUES (?, ?)",
        [(day * DAY, cost) for day, cost in after.items() if before.get(day) != cost],
    )


def spent_in_all(connection: sqlite3.Connection) -> int:
    """Return the spending of all time, with that of states that are gone; in 1e-9 epsilon."""
    return _sum(connection, "SELECT cost FROM carried UNION ALL SELECT cost FROM spending_by_name")


def spent_of_name(connection: sqlite3.Connection, name: str) -> int:
    """Return the spending of a name; states that are gone may have spent theirs for any name."""
    costs = "SELECT cost FROM carried UNION ALL SELECT cost FROM spending_by_name WHERE name = ?"
    return _sum(connection, costs, name)


def spent_since(connection: sqlite3.Connection, lived: int) -> int:
    """Return the spending after so many seconds of use, with that of states that are gone."""
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


def merged(spent: Mapping[int, int], today: int) -> Counter[int]:
    """Return the costs by day of use, as they are merged on a day of use."""
    result: Counter[int] = Counter()
    end: int | None = None
    for day in sorted(spent):
        # All days up to the end of a block are of that block: the smaller ones in it are older.
        if end is None or day > end:
            end = _end_of_block(day, today)
        result[end] += spent[day]
    return result


def unknown(marked: Mapping[int, int], known: Mapping[int, int], today: int) -> Counter[int]:
    """Return the costs in a mark beyond those known, by day of use; none where more is known."""
    return merged(marked, today) - merged(known, today)


def _end_of_block(day: int, today: int) -> int:
    longest = (today - day) // _FINENESS
    if longest < 2:
        return day
    length = 1 << longest.bit_length() - 1  # no longer block ended so long ago
    end = -(-day // length) * length
    if today - end < _FINENESS * length:
        length //= 2  # but one of half the length did
        end = -(-day // length) * length
    return end
