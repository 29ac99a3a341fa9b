"""The next manifest published under a name, while older ones may still run.

It is unknown when a device switches to a successor: with the next refresh, or years later with an
update of its app. A device decides no number twice (D3). So the epochs of a successor have numbers
for which no device has to wait, from whichever older manifest and whenever it switches. If epochs
are equally long, the numbers continue. If they become longer, the numbers jump to those that the
older manifest will have reached. A file may also state when its epochs begin.
"""

import time
from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Final

from deniable.estimates.accuracy import reports_for_half_width
from deniable.estimates.binomial import NotInvertible
from deniable.messages import Enrolment, InvalidManifest, Manifest, Schedule
from deniable.publishing.blind_keys import BlindKeys, blind_surveys
from deniable.publishing.survey_file import SurveyFile, naming

_DAY: Final = 86_400
_LENGTHS: Final = ("epoch_seconds", "epochs", "grace_seconds")
_SHARED: Final = (
    *("name", "question", "categories", "epsilon", "delta", "specification", "repeat"),
    "minimum_reports",
)
"""Fields with the same name in a survey file and a manifest."""

_NOWHERE: Final = "https://nowhere.invalid"


def next_manifest(
    survey: SurveyFile,
    before: Sequence[Manifest],
    origin: str,
    nonce: bytes,
    now: float,
    beside: Iterable[Manifest] = (),
) -> Manifest:
    """Return the manifest to be published after all those of its name, the newest first.

    The manifest begins when the newest one's current epoch ends, or today if that one is over; if
    it is blind, with the current epoch of other blind surveys in ``beside``. The nonce is 16 fresh
    random bytes.
    """
    start, length = survey.start, survey.epoch_seconds
    schedules = [old.schedule for old in before]
    if start is None:
        # Midnight UTC, or for shorter epochs the last whole multiple of them.
        unit = min(length, _DAY) or _DAY
        earliest = int(now // unit) * unit
        for other in blind_surveys(beside) if isinstance(survey.enrolment, BlindKeys) else ():
            if other.schedule.epoch_seconds == length and now < other.schedule.end:
                earliest = int(now) - (int(now) - other.schedule.start) % length
        start, first = continued(schedules, length, now, earliest)
        if start < 0:
            raise InvalidManifest(
                "epoch", "is too long for the earlier epoch numbers to continue; set start"
            )
    else:
        _check_start(schedules, start, length, now)
        first = 1 + max((current_number(schedule, now) for schedule in schedules), default=-1)
    if survey.epochs <= first and first > 0:
        raise InvalidManifest(
            "epochs",
            f"must exceed {first}: the epoch numbers of earlier surveys with this name cannot be "
            f"used again. For {survey.epochs} more epochs, set epochs = {first + survey.epochs}",
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
    """Check that no device waits longer than an epoch for a free number."""
    for schedule in schedules:
        for decided in (current_number(schedule, now), schedule.epochs - 1):
            comes = max(schedule.epoch_start(decided + 1), now)
            if decided >= 0 and start + decided * length > comes:
                raise InvalidManifest(
                    "start",
                    "would make devices wait for more than an epoch, since their next epoch is "
                    f"number {decided + 1}; omit start to continue the numbering",
                )


def says_the_same(survey: SurveyFile, before: Manifest, origin: str) -> bool:
    """Return whether a survey file requests only what the newest manifest already has.

    The manifest must be signed for the collector's origin; otherwise it reaches no device.
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


def draft(file: Path, **instead: str) -> Manifest:
    """Return the first manifest of a survey file, for no collector, with some fields replaced."""
    written = SurveyFile.load(file, **instead)
    with naming(file):
        manifest = next_manifest(written, [], _NOWHERE, bytes(16), time.time())
        check_invertible(manifest)
    return manifest


def check_invertible(manifest: Manifest) -> None:
    """Raise InvalidManifest if no estimate could distinguish a survey's answers."""
    try:
        if manifest.values is None:
            reports_for_half_width(manifest.mechanism, 0.05)
        else:
            from deniable.estimates import reports_for_mean

            reports_for_mean(manifest.mechanism, manifest.values, 1.0)
    except NotInvertible as error:
        raise InvalidManifest(
            "epsilon",
            "is too small to distinguish so many categories; raise it or use fewer categories. If "
            "this is a matrix, its rows must be linearly independent",
        ) from error


def continued(
    before: Sequence[Schedule],
    epoch_seconds: int,
    now: float,
    earliest: int,
) -> tuple[int, int]:
    """Return the start and first number of epochs after these schedules, the newest first.

    The first begins when the newest schedule's current epoch ends, or at ``earliest`` if that is
    over. The start is that of epoch 0, in Unix seconds, negative if there was never such a time.
    """
    begins, first = earliest, 0
    if before:
        begins = max(before[0].epoch_start(current_number(before[0], now) + 1), earliest)
        first = _first_number(before, begins, epoch_seconds)
    return begins - first * epoch_seconds, first


def current_number(schedule: Schedule, now: float) -> int:
    """Return the number of the current epoch: -1 before the first, afterwards the last number."""
    return max(-1, min(int((now - schedule.start) // schedule.epoch_seconds), schedule.epochs - 1))


def _first_number(schedules: Sequence[Schedule], begins: int, length: int) -> int:
    """Return the least number for the epoch that begins then, such that no device waits.

    A device that decided epoch k of an older schedule switches at its end, or at ``begins`` if that
    is later. The epoch at that time must have a number above k. Up to ``begins``, the first number
    required for k rises with k. After ``begins``, it rises if the older epochs are shorter, and
    falls otherwise. So three values of k suffice: the last that ends by then, the one after it, and
    the last.
    """
    first = 0
    for schedule in schedules:
        before = current_number(schedule, begins - schedule.epoch_seconds)
        last = schedule.epochs - 1
        for decided in (before, min(before + 1, last), last):
            comes = max(begins, schedule.epoch_start(decided + 1))
            first = max(first, decided + 1 - (comes - begins) // length)
    return first
