"""Which manifests run at once, which of them a device follows, and what that costs it."""

import math
import textwrap
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from deniable.budget import NANO
from deniable.cli.life_terms import instant_text
from deniable.client import DEFAULT_LIFETIME_EPSILON, Survey
from deniable.client.ledger.admission import fits_declaration
from deniable.client.ledger.following import chosen_of
from deniable.client.ledger.reservations import Reservation
from deniable.messages import Manifest
from deniable.messages.bundle import declaration_of

__all__ = [
    "CEILING",
    "current",
    "declared",
    "epochs_left",
    "followed",
    "left_behind",
    "reserved",
    "reserved_by_all",
    "running",
]

CEILING: Final = DEFAULT_LIFETIME_EPSILON * NANO
"""What devices spend in all unless their app says otherwise, in units of 1e-9 epsilon."""


def running(surveys: Sequence[Manifest], ended: Collection[bytes], now: float) -> list[Manifest]:
    """Return the manifests that devices may follow: those that are neither over nor were ended.

    Args:
        surveys: by name, the newest first; and so they are returned.
        ended: the ids of those that were ended.
        now: Unix seconds.
    """
    return [each for each in surveys if each.survey_id not in ended and now < each.schedule.end]


def current(surveys: Sequence[Manifest]) -> list[Manifest]:
    """Return the newest of each name."""
    newest: dict[str, Manifest] = {}
    for manifest in surveys:
        newest.setdefault(manifest.name, manifest)
    return list(newest.values())


def declared(manifest: Manifest) -> Survey:
    """Return the survey that an app declares with what `survey publish` printed for a manifest."""
    arguments = declaration_of(manifest)
    return Survey.numeric(**arguments) if "low" in arguments else Survey(**arguments)


def followed(survey: Survey, offered: Sequence[Manifest], now: float) -> list[Manifest]:
    """Return what an app's devices accept: the newest that has begun and fits, and the next.

    Args:
        survey: what the app declares.
        offered: manifests that run, the newest first.
        now: Unix seconds.
    """
    return chosen_of(
        (each for each in offered if each.name == survey.name and fits_declaration(each, survey)),
        now,
    )


def epochs_left(manifest: Manifest, now: float) -> int:
    """Return how many epochs are not over."""
    schedule = manifest.schedule
    over = max(0, int((now - schedule.start) // schedule.epoch_seconds))
    return max(0, schedule.epochs - over)


def reserved(follows: Sequence[Manifest], now: float) -> int:
    """Return what a device sets aside for the manifests that it follows, in units of 1e-9 epsilon.

    It is the device's own arithmetic: for epochs that are not over, and of one manifest for those
    that begin before the next takes its place.
    """
    begins = [each.schedule.start for each in follows[1:]]
    return sum(
        Reservation.of(each).ahead(now, until=until)
        for each, until in zip(follows, [*begins, math.inf], strict=False)
    )


def reserved_by_all(offered: Sequence[Manifest], now: float) -> int:
    """Return the most that a device sets aside which declares a survey of each name.

    Of a name it is the declaration that costs most: an app has one of them.

    Args:
        offered: manifests that run, by name and the newest first.
        now: Unix seconds.

    Returns:
        Units of 1e-9 epsilon. What a device has spent before comes on top.
    """
    most: dict[str, int] = {}
    for manifest in offered:
        costs = reserved(followed(declared(manifest), offered, now), now)
        most[manifest.name] = max(most.get(manifest.name, 0), costs)
    return sum(most.values())


def left_behind(
    newest: Manifest, older: Sequence[Manifest], offered: Collection[Manifest], now: float
) -> Iterator[str]:
    """Yield, for each published declaration that the newest manifest does not fit, what it gets.

    Args:
        newest: of its name.
        older: all others of its name, the newest first.
        offered: those that run.
        now: Unix seconds.
    """
    told: list[Survey] = []
    for before in older:
        survey = declared(before)
        if survey in told or fits_declaration(newest, survey):
            continue
        told.append(survey)
        follows = followed(survey, [each for each in older if each in offered], now)
        end = max((each.schedule.end for each in follows), default=None)
        sequences = " and ".join(str(each.sequence) for each in follows)
        yield f"apps that declare {_difference(before, newest)} " + (
            "get nothing any more"
            if end is None
            else f"keep answering sequence {sequences}, until {instant_text(end)}"
        )


def _difference(before: Manifest, newest: Manifest) -> str:
    """Return by what people know the declaration of an older manifest from the newest one's."""
    if before.question != newest.question:
        return f'"{before.question}"'
    if before.categories != newest.categories:
        listed = textwrap.shorten(", ".join(before.categories), 60, placeholder=" …")
        return f"the {len(before.categories)} answers {listed}"
    return f"the ceilings of sequence {before.sequence}"
