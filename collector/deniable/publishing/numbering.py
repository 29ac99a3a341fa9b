"""The manifest that is published next under a name, while older ones of it may go on running.

Unless its file says when its epochs begin, they are numbered as ``deniable.messages.numbering``
says.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from deniable.messages import Enrolment, InvalidManifest, Manifest, Schedule
from deniable.messages.numbering import continued, current_number
from deniable.publishing.blind_keys import BlindKeys
from deniable.publishing.survey_file import SurveyFile

_DAY: Final = 86_400
_LENGTHS: Final = ("epoch_seconds", "epochs", "grace_seconds")
_SHARED: Final = (
    *("name", "question", "categories", "epsilon", "delta", "specification", "repeat"),
    "minimum_reports",
)
"""What a survey file and a manifest call alike."""


def next_manifest(
    survey: SurveyFile,
    before: Sequence[Manifest],
    origin: str,
    nonce: bytes,
    now: float,
    after_epoch: int = -1,
) -> Manifest:
    """Return the manifest to be published after all those of its name, the newest first.

    It begins when the current epoch of the newest one ends, or today if that one is over. The nonce
    is 16 fresh random bytes. Manifests that are lost had numbers up to ``after_epoch``.

    Raises:
        InvalidManifest: naming the field at fault.
    """
    start, length = survey.start, survey.epoch_seconds
    schedules = [old.schedule for old in before]
    if start is None:
        # Midnight UTC, or for shorter epochs the last whole multiple of them.
        unit = min(length, _DAY) or _DAY
        start, first = continued(schedules, length, now, int(now // unit) * unit, after_epoch)
        if start < 0:
            raise InvalidManifest(
                "epoch", "is too long to number on from what was before; set start"
            )
    elif after_epoch >= 0:
        raise InvalidManifest("start", "is to be left out where numbers go on after a lost epoch")
    else:
        _check_start(schedules, start, length, now)
        first = 1 + max((current_number(schedule, now) for schedule in schedules), default=-1)
    if survey.epochs <= first and first > 0:
        raise InvalidManifest(
            "epochs",
            f"must exceed {first}: numbers go on from the surveys published before under this "
            f"name, whose epochs cannot be used again: {survey.epochs} more are "
            f"epochs = {first + survey.epochs}",
        )
    enrolment = survey.enrolment
    if isinstance(enrolment, BlindKeys):
        enrolment = enrolment.enrolment(first, survey.epochs)
    return Manifest(
        enrolment=enrolment,
        sequence=before[0].sequence + 1 if before else 0,
        nonce=nonce,
        schedule=Schedule(start, length, survey.epochs, survey.grace_seconds),
        origin=origin,
        **{field: getattr(survey, field) for field in _SHARED},
    )


def _check_start(schedules: Sequence[Schedule], start: int, length: int, now: float) -> None:
    """Check that no device has to wait for more than an epoch until a number is free."""
    for schedule in schedules:
        for decided in (current_number(schedule, now), schedule.epochs - 1):
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
        and _same_enrolment(survey.enrolment, before.enrolment)
    )


def _same_enrolment(written: Enrolment | BlindKeys, before: Enrolment) -> bool:
    return written.lists(before) if isinstance(written, BlindKeys) else written == before
