"""The life of a survey: the actions that its schedule still requires. Pure.

Open → grace → sealed → a day later pruned → when all its epochs are sealed, ended.

L1. An epoch is sealed once its grace is over and L5 confirms it, or once its survey has ended, if
    it had begun by then: nothing can be counted in it any more.
L2. Its receipts are pruned once its seal is a day old, and not before.
L3. A survey ends once all its epochs are sealed.
L4. Completed actions are final. No clock undoes them, or requires them again.
L5. No clock is trusted against the reports, or alone for long: its effects are final (L4).

Reports prove the following: one of epoch n is counted only after n has begun, by its device's clock
and a collector's. Let n be the newest epoch with a counted report. Then

- a later epoch may not have begun, and contains nothing for a seal to protect: it is left open. So
  a survey ends automatically only if a report of its last epoch was counted;
- an epoch that closed before n opened is over, and is sealed;
- for the others, including n, only the clock decides. It is trusted within BELIEVED_SECONDS after
  they closed. After that, the operator is asked. Either no upkeep ran for that long, or the clock
  is ahead.

A clock that is ahead by more than BELIEVED_SECONDS, an epoch, its grace and EARLY_SECONDS is past
that time for every epoch that has begun: it seals no open epoch, and ends nothing. A clock that is
less far ahead seals too early by as much. Neither clock stops a correct one from continuing. This
assumes devices whose clocks do not have the same error: a report from the future through such a
collector would confirm its clock.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from deniable.messages import Manifest, Schedule
from deniable.stores.values import KEPT_SECONDS, Seal

BELIEVED_SECONDS: Final = 7 * 86_400
"""How late upkeep may be: a week, so that it need not ask the operator after some days off."""


class Action(StrEnum):
    """Actions that may be due; ASK is a seal if the clock is right, as only the operator knows."""

    SEAL = "seal"
    PRUNE = "prune"
    END = "end"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Due:
    """An action due for a survey, or for one of its epochs."""

    action: Action
    epoch: int | None = None


def due(
    manifest: Manifest,
    seals: Iterable[Seal],
    ended_at: int | None,
    newest: int | None,
    now: float,
) -> list[Due]:
    """Return the actions that are due for a survey, in order.

    The survey accepted reports until ``ended_at``; ``newest`` is the newest epoch with a counted
    report. Each is None if it does not exist. Times are Unix seconds.
    """
    schedule = manifest.schedule
    standing = {seal.epoch: seal for seal in seals}
    unsealed = [epoch for epoch in range(schedule.epochs) if epoch not in standing]
    closings = [_closing(schedule, epoch, ended_at, newest, now) for epoch in unsealed]
    actions = [Due(what, epoch) for what, epoch in zip(closings, unsealed, strict=True) if what]
    if ended_at is None and closings == [Action.SEAL] * len(unsealed):
        actions.append(Due(Action.END))
    actions += [
        Due(Action.PRUNE, seal.epoch)
        for seal in standing.values()
        if seal.pruned_at is None and now - seal.sealed_at >= KEPT_SECONDS
    ]
    return actions


def _closing(
    schedule: Schedule, epoch: int, ended_at: int | None, newest: int | None, now: float
) -> Action | None:
    closes = schedule.closes(epoch)
    if ended_at is not None:
        return Action.SEAL if now >= closes or ended_at >= schedule.opens(epoch) else None
    if newest is None or epoch > newest or now < closes:
        return None
    borne_out = schedule.opens(newest) >= closes or now < closes + BELIEVED_SECONDS
    return Action.SEAL if borne_out else Action.ASK


def finished(manifest: Manifest, seals: Iterable[Seal], ended_at: int | None) -> bool:
    """Return whether the survey is over, so that no action will be due again."""
    pruned = sum(seal.pruned_at is not None for seal in seals)
    return ended_at is not None and pruned == manifest.schedule.epochs
