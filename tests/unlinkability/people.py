"""When people open the app: sessions of independent moments, or of habits."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Final

from tests.support.surveys import DAY, START

EPOCH_SECONDS: Final = 7 * DAY
HALF: Final = EPOCH_SECONDS / 2
SESSION_SECONDS: Final = 600.0
_HALVES_AFTER: Final = 2  # of grace, behind the last epoch

Sessions = list[tuple[float, float]]
"""Begin and end of each, Unix seconds, in order; none overlaps another."""

People = Callable[[Random, int], Sessions]
"""Draws one person's sessions of so many epochs."""


def independent(first: int = 2, second: int = 2) -> People:
    """Return people whose sessions are uniform in each half of an epoch: so many in each."""

    def draw(chance: Random, epochs: int) -> Sessions:
        return _apart(
            START + HALF * (half + chance.random())
            for half in range(2 * epochs + _HALVES_AFTER)
            for _ in range(second if half % 2 else first)
        )

    return draw


def habitual(hours: float, a_half: int = 2) -> People:
    """Return people with an hour of their own: sessions are as far from it, Gaussian, as this."""

    def draw(chance: Random, epochs: int) -> Sessions:
        own = chance.uniform(0, DAY)
        days = int(HALF * (2 * epochs + _HALVES_AFTER) / DAY)
        often = a_half / (HALF / DAY)
        return _apart(
            START + day * DAY + own + chance.gauss(0, hours * 3600)
            for day in range(days)
            if chance.random() < often
        )

    return draw


def about_turns(chance: Random, epochs: int) -> Sessions:
    """Return sessions in an epoch's first seven hours, and in its last six or those two days ago.

    So whether the app ran within the day before is the most that an epoch's first run can tell.
    """
    return _apart(
        moment
        for begin in (START + epoch * EPOCH_SECONDS for epoch in range(epochs + 1))
        for moment in (
            begin + chance.uniform(1, 7) * 3600,
            begin + EPOCH_SECONDS - chance.uniform(0, 6) * 3600 - chance.choice((0, 2 * DAY)),
        )
    )


def always_on(_chance: Random, epochs: int) -> Sessions:
    """Return the one session of a machine that never sleeps."""
    return [(float(START), START + HALF * (2 * epochs + _HALVES_AFTER))]


def _apart(moments: Iterable[float]) -> Sessions:
    sessions: Sessions = []
    for moment in sorted(moments):
        if moment > (sessions[-1][1] if sessions else START):
            sessions.append((moment, moment + SESSION_SECONDS))
    return sessions
