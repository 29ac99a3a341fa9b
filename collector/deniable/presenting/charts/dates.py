"""Dates below an axis of epochs: round ones, as many as there is room for, in UTC."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from deniable.messages import calendar

_DAY: Final = 86_400
_MONDAY: Final = 4 * _DAY
"""The first Monday after the first of January 1970."""
_STEPS: Final = (
    *(1, 5, 15, 30, 60, 300, 900, 1800),
    *(hours * 3600 for hours in (1, 2, 3, 6, 12)),
    *(days * _DAY for days in (1, 2, 7, 14, 28)),
)
_MONTHS: Final = (1, 2, 3, 6, 12, 24, 60, 120)


def date_ticks(starts: Sequence[int], most: int) -> dict[int, str]:
    """Return texts for the places of epochs that begin a round stretch of time, at most so many.

    Of starts in Unix seconds, in order. Hours have the date where a day begins.
    """
    for step in _STEPS:
        first = _MONDAY if step % (7 * _DAY) == 0 else 0
        places = _changes([(start - first) // step for start in starts], most)
        if len(places) <= most:
            return {place: _text(starts, place, step) for place in places}
    months = [12 * moment.year + moment.month - 1 for moment in map(_moment, starts)]
    for step in _MONTHS:
        places = _changes([month // step for month in months], most)
        if len(places) <= most:
            break
    return {place: f"{_moment(starts[place]):%b %Y}" for place in places[: max(most, 1)]}


def _changes(stretches: Sequence[int], most: int) -> list[int]:
    """Return the places at which another stretch begins, and the first where there is room."""
    later = [place for place, (one, other) in enumerate(pairwise(stretches), 1) if one != other]
    room = not later or later[0] * most >= len(stretches)
    return [0, *later] if room else later


def _moment(instant: int) -> datetime:
    return calendar(instant) or datetime.max.replace(tzinfo=UTC)


def _text(starts: Sequence[int], place: int, step: int) -> str:
    moment = _moment(starts[place])
    date = f"{moment.day} {moment:%b}"
    new_day = not place or _moment(starts[place - 1]).date() != moment.date()
    return date if step >= _DAY or new_day else f"{moment:%H:%M:%S}"[: 5 if step >= 60 else 8]
