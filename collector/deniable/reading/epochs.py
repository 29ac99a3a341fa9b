"""Epochs: when each was, and whether its figures are final."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from deniable.messages import Schedule


class EpochState(StrEnum):
    """States of an epoch: whether more of its reports may be counted."""

    OPEN = "open"
    """It is not over, or has not even begun: devices' clocks may be ahead."""

    GRACE = "grace"
    """It is over, and late reports are taken."""

    CLOSED = "closed"
    """Nothing is taken any more, and nothing says so yet: it is about to be sealed."""

    SEALED = "sealed"
    """Its counts never change again."""


@dataclass(frozen=True, slots=True)
class EpochStanding:
    """The standing of an epoch when its figures were read; the seal's digest is 64 hex digits."""

    state: EpochState
    seal: str | None = None


def epoch_standing(schedule: Schedule, epoch: int, now: float, seal: bytes | None) -> EpochStanding:
    """Return the standing of an epoch."""
    if seal is not None:
        return EpochStanding(EpochState.SEALED, seal.hex())
    if now >= schedule.closes(epoch):
        return EpochStanding(EpochState.CLOSED)
    over = now >= schedule.epoch_start(epoch + 1)
    return EpochStanding(EpochState.GRACE if over else EpochState.OPEN)


def iso_time(instant: int | None) -> str | None:
    """Return Unix seconds in UTC as ISO 8601 has it; None of None and beyond the year 9999."""
    if instant is None:
        return None
    try:
        return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError):
        return None


def instant_text(instant: float) -> str:
    """Return Unix seconds as a date and time in UTC, for people."""
    iso = iso_time(int(instant))
    return "beyond the year 9999" if iso is None else f"{iso[:10]} {iso[11:16]} UTC"
