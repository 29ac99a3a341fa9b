"""Numbers and starts of the epochs of a manifest that follows others of its name.

A device never decides an epoch number at or below the highest that it has decided under the name,
and comes to a successor only after the end of the epoch that it decided last (D3). When it comes is
not known: with the next refresh, or with an update of its app, years later. So the epochs of a
successor bear numbers with which nobody has to wait, from whichever older manifest and whenever
they come: where epochs are equally long the numbers go on as they would have, and where they become
longer they jump to where those of the older manifest will have got to.
"""

from collections.abc import Sequence
from typing import NamedTuple

from deniable.messages.schedule import Schedule


class Continuation(NamedTuple):
    """The place at which the epochs of a successor go on."""

    start: int  # of epoch 0, Unix seconds; negative if there was never such a time
    first: int  # the number of the first epoch that devices decide


def continued(
    before: Sequence[Schedule],
    epoch_seconds: int,
    now: float,
    earliest: int,
    after_epoch: int = -1,
) -> Continuation:
    """Return where the epochs go on after these schedules, the newest first.

    The first begins when the current epoch of the newest one ends, or at ``earliest`` if that one
    is over. Its number is above ``after_epoch``, which manifests that are not among these have had.
    """
    begins, first = earliest, after_epoch + 1
    if before:
        begins = max(before[0].epoch_start(current_number(before[0], now) + 1), earliest)
        first = max(first, _first_number(before, begins, epoch_seconds))
    return Continuation(begins - first * epoch_seconds, first)


def current_number(schedule: Schedule, now: float) -> int:
    """Return the number of the current epoch: -1 before the first, the last one's ever after."""
    return max(-1, min(int((now - schedule.start) // schedule.epoch_seconds), schedule.epochs - 1))


def _first_number(schedules: Sequence[Schedule], begins: int, length: int) -> int:
    """Return the least number for the epoch that begins then, with which no device has to wait.

    Who decided epoch k of an older schedule comes at its end, or at ``begins`` if that is later,
    and the epoch of then must have a number above k. With k, what that asks of the first number
    rises up to ``begins``. After it, it rises if the older epochs are the shorter ones, else it
    falls. So three k do for all: the last that ends by then, the one after it, and the last.
    """
    first = 0
    for schedule in schedules:
        before = current_number(schedule, begins - schedule.epoch_seconds)
        last = schedule.epochs - 1
        for decided in (before, min(before + 1, last), last):
            comes = max(begins, schedule.epoch_start(decided + 1))
            first = max(first, decided + 1 - (comes - begins) // length)
    return first
