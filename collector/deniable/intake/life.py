"""The life of a survey: what its schedule asks for that is not done yet. Pure.

Open → grace → sealed → a day later pruned → when all its epochs are sealed, ended.

L1. An epoch is sealed once its grace is over; or once its survey has ended, if it had begun by
    then: nothing can be counted in it any more.
L2. Its receipts are pruned once its seal has stood for a day, and not before.
L3. A survey ends once all its epochs are sealed.
L4. What is done is final. No clock undoes it, nor asks for it again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from deniable.messages import Manifest
from deniable.messages.receipt import KEPT_SECONDS

__all__ = ["Action", "Due", "StandingSeal", "due", "finished"]


class Action(StrEnum):
    """What can be due."""

    SEAL = "seal"
    PRUNE = "prune"
    END = "end"


@dataclass(frozen=True, slots=True)
class Due:
    """One thing to do with a survey.

    Attributes:
        action: what.
        epoch: of which epoch; None if it is about all of them.
    """

    action: Action
    epoch: int | None = None


class StandingSeal(Protocol):
    """As much of a seal as matters here."""

    @property
    def epoch(self) -> int:
        """Return which epoch."""

    @property
    def sealed_at(self) -> int:
        """Return when, in Unix seconds."""

    @property
    def pruned_at(self) -> int | None:
        """Return when its receipts were erased; None while they are kept."""


def due(
    manifest: Manifest, seals: Iterable[StandingSeal], ended_at: int | None, now: float
) -> list[Due]:
    """Return what is due, in the order in which it is to be done.

    Args:
        manifest: the survey.
        seals: all that stand.
        ended_at: Unix seconds when the survey ended; None while it takes reports.
        now: Unix seconds.
    """
    schedule = manifest.schedule
    standing = {seal.epoch: seal for seal in seals}
    unsealed = [epoch for epoch in range(schedule.epochs) if epoch not in standing]
    closed = [
        epoch
        for epoch in unsealed
        if now >= schedule.closes(epoch)
        or (ended_at is not None and ended_at >= schedule.opens(epoch))
    ]
    actions = [Due(Action.SEAL, epoch) for epoch in closed]
    if ended_at is None and len(closed) == len(unsealed):
        actions.append(Due(Action.END))
    actions += [
        Due(Action.PRUNE, seal.epoch)
        for seal in standing.values()
        if seal.pruned_at is None and now - seal.sealed_at >= KEPT_SECONDS
    ]
    return actions


def finished(manifest: Manifest, seals: Iterable[StandingSeal], ended_at: int | None) -> bool:
    """Return if nothing will ever be due again."""
    pruned = sum(seal.pruned_at is not None for seal in seals)
    return ended_at is not None and pruned == manifest.schedule.epochs
