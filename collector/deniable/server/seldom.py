"""What can happen a thousand times a second is logged once a minute, or it would fill the disk."""

import math
from collections.abc import Callable
from typing import Final

__all__ = ["Seldom"]

_SECONDS_BETWEEN: Final = 60.0


class Seldom:
    """Tells whether something of a kind is to be logged now.

    Args:
        clock: returns seconds that never run backwards.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._logged: dict[str, float] = {}

    def __call__(self, kind: str) -> bool:
        """Return if nothing of this kind was logged for a minute; kinds are few, and ours."""
        now = self._clock()
        due = now - self._logged.get(kind, -math.inf) >= _SECONDS_BETWEEN
        if due:
            self._logged[kind] = now
        return due
