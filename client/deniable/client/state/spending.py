"""What was spent on which day of use, in few enough numbers for the mark.

A day is merged with later ones as it grows old: into the end of a block of a power of two of days,
the longest one that ended at least eight times its length ago. So

1. nothing is forgotten, and no cost is moved to an earlier time: no ceiling over any period sees
   less than there was; it sees a cost longer than it should, by an eighth of its age at most;
2. there are some eighty numbers for ten years, and no more than eight for each doubling of them;
3. merging now and once more later gives what merging later gives. So the costs of which a state
   does not know are the difference of two sums, both merged on the later one's day, exactly: none
   is lost, none counted twice.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

__all__ = ["merged", "unknown"]

_FINENESS: Final = 8


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


def unknown(told: Mapping[int, int], known: Mapping[int, int], today: int) -> Counter[int]:
    """Return what was spent by others: of what is told, what is not known.

    Where more is known than told, as beside an older mark, it is nothing.

    Args:
        told: by day of use, merged or not.
        known: likewise; what a lost state had spent is merged here too.
        today: a day of use by which both were merged.
    """
    return merged(told, today) - merged(known, today)


def _end_of_block(day: int, today: int) -> int:
    end, length = day, 1
    while today - (longer := -(-day // (2 * length)) * 2 * length) >= 2 * length * _FINENESS:
        end, length = longer, 2 * length
    return end
