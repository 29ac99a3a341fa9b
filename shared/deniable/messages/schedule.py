"""Epochs: the time slices in which a device reports at most once per survey."""

from dataclasses import dataclass

from deniable.messages.refusals import InvalidManifest

MAX_EPOCHS = 10_000
"""Epoch numbers of one name: 0 to 9,999."""
EARLY_SECONDS = 300
"""How far a device's clock may run ahead of the collector's before an epoch starts."""

_LAST_INSTANT = 2**53


@dataclass(frozen=True, slots=True)
class Schedule:
    """Epoch e covers [start + e·len, start + (e + 1)·len), in Unix seconds.

    For ``grace_seconds`` after an epoch its reports are still taken.
    """

    start: int
    epoch_seconds: int
    epochs: int
    grace_seconds: int

    def __post_init__(self) -> None:
        if self.start < 0:
            raise InvalidManifest("start", "must not be negative")
        if self.epoch_seconds < 1:
            raise InvalidManifest("epoch_seconds", "must be at least 1")
        if not 1 <= self.epochs <= MAX_EPOCHS:
            raise InvalidManifest("epochs", f"must be in [1, {MAX_EPOCHS}]")
        if self.grace_seconds < 0:
            raise InvalidManifest("grace_seconds", "must not be negative")
        if self.end + self.grace_seconds >= _LAST_INSTANT:
            raise InvalidManifest("epochs", "the last instant must be below 2^53 Unix seconds")

    @property
    def end(self) -> int:
        """Return when the last epoch ends."""
        return self.epoch_start(self.epochs)

    def epoch_start(self, epoch: int) -> int:
        """Return when the epoch begins, which is when the one before it ends."""
        return self.start + epoch * self.epoch_seconds

    def epoch_at(self, now: float) -> int | None:
        """Return the epoch that covers this time, None before the first and after the last."""
        epoch = int((now - self.start) // self.epoch_seconds)
        return epoch if 0 <= epoch < self.epochs else None

    def opens(self, epoch: int) -> int:
        """Return the time from which an epoch's reports are taken: its start less the tolerance."""
        return self.epoch_start(epoch) - EARLY_SECONDS

    def closes(self, epoch: int) -> int:
        """Return the time from which an epoch's reports are no longer taken: its end plus grace."""
        return self.epoch_start(epoch + 1) + self.grace_seconds
