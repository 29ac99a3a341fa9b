"""The manifest that is published next under a name, while older ones of it may go on running.

A device never decides an epoch number at or below the highest that it has decided under the name,
and comes to a successor only after the end of the epoch that it decided last (D3). When it comes is
not known: with the next refresh, or with an update of its app, years later. So the epochs of a
successor bear numbers with which nobody has to wait, from whichever older manifest and whenever
they come: where epochs are equally long the numbers go on as they would have, and where they become
longer they jump to where those of the older manifest will have got to.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from deniable.messages import InvalidManifest, Manifest, Schedule
from deniable.publishing.survey_file import SurveyFile

_DAY: Final = 86_400
_LENGTHS: Final = ("epoch_seconds", "epochs", "grace_seconds")
_SHARED: Final = (
    *("name", "question", "categories", "epsilon", "delta", "specification", "repeat"),
    *("enrolment", "minimum_reports"),
)
"""What a survey file and a manifest call alike."""


def next_manifest(
    survey: SurveyFile, before: Sequence[Manifest], origin: str, nonce: bytes, now: float
) -> Manifest:
    """Return the manifest to be published after all those of its name, the newest first.

    It begins when the current epoch of the newest one ends, or today if that one is over. The nonce
    is 16 fresh random bytes.

    Raises:
        InvalidManifest: naming the field at fault.
    """
    start, length = survey.start, survey.epoch_seconds
    schedules = [old.schedule for old in before]
    # Midnight UTC, or for shorter epochs the last whole multiple of them.
    unit = min(length, _DAY) or _DAY
    midnight = int(now // unit) * unit
    if not schedules:
        start = midnight if start is None else start
    else:
        if start is None:
            newest = schedules[0]
            begins = max(newest.epoch_start(_current(newest, now) + 1), midnight)
            first = _first_number(schedules, begins, length)
            start = begins - first * length
        else:
            _check_start(schedules, start, length, now)
            first = 1 + max(_current(schedule, now) for schedule in schedules)
        if survey.epochs <= first:
            raise InvalidManifest(
                "epochs",
                f"must exceed {first}: numbers go on from the surveys published before under this "
                f"name, whose epochs cannot be used again: {survey.epochs} more are "
                f"epochs = {first + survey.epochs}",
            )
    if start < 0 and survey.start is None:
        raise InvalidManifest("epoch", "is too long to number on from the survey before; set start")
    return Manifest(
        sequence=before[0].sequence + 1 if before else 0,
        nonce=nonce,
        schedule=Schedule(start, length, survey.epochs, survey.grace_seconds),
        origin=origin,
        **{field: getattr(survey, field) for field in _SHARED},
    )


def _current(schedule: Schedule, now: float) -> int:
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
        before = _current(schedule, begins - schedule.epoch_seconds)
        last = schedule.epochs - 1
        for decided in (before, min(before + 1, last), last):
            comes = max(begins, schedule.epoch_start(decided + 1))
            first = max(first, decided + 1 - (comes - begins) // length)
    return first


def _check_start(schedules: Sequence[Schedule], start: int, length: int, now: float) -> None:
    """Check that no device has to wait for more than an epoch until a number is free."""
    for schedule in schedules:
        for decided in (_current(schedule, now), schedule.epochs - 1):
            comes = max(schedule.epoch_start(decided + 1), now)
            if decided >= 0 and start + decided * length > comes:
                raise InvalidManifest(
                    "start",
                    f"makes devices wait for more than an epoch: their next one is number "
                    f"{decided + 1}; leave start out, and the numbers go on",
                )


def says_the_same(survey: SurveyFile, before: Manifest, origin: str) -> bool:
    """Tell whether a survey file asks for nothing that the newest manifest does not already do.

    That one must be signed for the collector's origin; else it reaches no device.
    """
    schedule = before.schedule
    same, lengths = attrgetter(*_SHARED), attrgetter(*_LENGTHS)
    return bool(
        same(survey) == same(before)
        and lengths(survey) == lengths(schedule)
        and survey.start in {None, schedule.start}
        and origin == before.origin
    )
