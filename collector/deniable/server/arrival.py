"""When reports come, against their epoch: the only sign of devices' clocks, which send no time."""

from deniable.messages import Schedule
from deniable.server.meters import Meters

__all__ = ["observe_arrival"]


def observe_arrival(meters: Meters, schedule: Schedule, epoch: int, now: float) -> None:
    """Observe an admissible report that came before its epoch, or after its end.

    Before: the device's clock is fast. After: it is slow, or what it sent was held up. Most come
    within their epoch, which tells nothing and is not counted.
    """
    since = now - schedule.epoch_start(epoch)
    if since < 0:
        meters.observe("early_seconds", -since)
    elif since >= schedule.epoch_seconds:
        meters.observe("late_seconds", since - schedule.epoch_seconds)
