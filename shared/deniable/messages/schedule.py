"""Epochs: time slices in which a device reports at most once per survey; and repeated responses.

A device never decides an epoch number at or below the highest that it has decided under the name,
and switches to a successor only after the end of the epoch that it decided last (D3).
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from deniable.messages import codec
from deniable.messages.refusals import InvalidManifest, Refusal, RefusalCode

MAX_EPOCHS = 10_000
"""The number of epochs under one name: they are 0 to 9,999."""
EARLY_SECONDS = 300
"""How far a device's clock may run ahead of the collector's before an epoch starts."""

_LAST_INSTANT = 2**53
MAX_MEMOISED_CATEGORIES: Final = 16
"""With more, unchanging responses would identify a device and link its epochs."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Epoch e covers [start + e·len, start + (e + 1)·len), in Unix seconds.

    Reports of an epoch are still accepted for ``grace_seconds`` after it.
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
        """Return when the epoch begins, which is when the previous one ends."""
        return self.start + epoch * self.epoch_seconds

    def epoch_at(self, now: float) -> int | None:
        """Return the epoch that covers this time; None before the first and after the last."""
        epoch = int((now - self.start) // self.epoch_seconds)
        return epoch if 0 <= epoch < self.epochs else None

    def meshes(self, other: "Schedule") -> bool:
        """Return whether each epoch of one schedule overlaps at most one epoch of the other."""
        apart = self.end <= other.start or other.end <= self.start
        length = self.epoch_seconds
        alike = length == other.epoch_seconds and (self.start - other.start) % length == 0
        return apart or alike

    def opens(self, epoch: int) -> int:
        """Return the time from which an epoch's reports are accepted: its start minus tolerance."""
        return self.epoch_start(epoch) - EARLY_SECONDS

    def closes(self, epoch: int) -> int:
        """Return the time from which an epoch's reports are refused: its end plus grace."""
        return self.epoch_start(epoch + 1) + self.grace_seconds


@dataclass(frozen=True, slots=True)
class Repeat:
    """The relation between a device's responses in different epochs.

    Responses are independent, or memoised: the same answer gets the same kept response throughout a
    range of this many epochs, 2 to 10,000.
    """

    kind: Literal["fresh", "memoised"] = "fresh"
    epochs: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in {"fresh", "memoised"}:
            raise InvalidManifest("repeat", "must be fresh or memoised")
        if (self.epochs is not None) != (self.kind == "memoised"):
            raise InvalidManifest("repeat", "must name epochs if and only if it is memoised")
        if self.epochs is not None and not 2 <= self.epochs <= MAX_EPOCHS:
            raise InvalidManifest("repeat", f"must have 2 to {MAX_EPOCHS:,} epochs")

    def memo_range(self, epoch: int) -> range | None:
        """Return the range of epochs that contains this epoch; None if no responses are kept."""
        if self.epochs is None:
            return None
        first = epoch - epoch % self.epochs
        return range(first, first + self.epochs)

    def to_map(self) -> dict[str, object]:
        """Return the canonical map of the wire."""
        if self.epochs is None:
            return {"kind": self.kind}
        return {"kind": self.kind, "epochs": self.epochs}

    @classmethod
    def from_map(cls, value: object) -> "Repeat":
        """Read the map of the wire."""
        kind = value.get("kind") if type(value) is dict else None
        if kind == "fresh":
            codec.exact_map(value, ("kind",))
            return FRESH
        if kind == "memoised":
            fields = codec.exact_map(value, ("kind", "epochs"))
            return cls("memoised", codec.uint(fields["epochs"]))
        raise Refusal(RefusalCode.MALFORMED, "repeat is of an unknown kind")


FRESH: Final = Repeat()
"""A new response in each epoch."""


def calendar(instant: float) -> datetime | None:
    """Return Unix seconds as a UTC time; None if outside the calendar. It never raises.

    All external times pass through here: a signed number may be anything up to 2^64 - 1.
    """
    try:
        return datetime.fromtimestamp(instant, UTC)  # noqa: TID251 - the one place
    except (OSError, OverflowError, ValueError):
        return None


def day_text(instant: float) -> str:
    """Return the day of an instant in UTC, for people. It never raises."""
    return instant_text(instant, "%Y-%m-%d")


def instant_text(instant: float, form: str = "%Y-%m-%d %H:%M UTC") -> str:
    """Return Unix seconds as a date and time in UTC, for people. It never raises."""
    if (moment := calendar(instant)) is not None:
        return moment.strftime(form)
    return "beyond the year 9999" if instant > 0 else "before the year 1"
