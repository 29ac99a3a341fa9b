"""Between a store and its database: where statements fail, pause, and end with their process."""

import threading
from collections.abc import Callable

from tests.system.simulation.operations import Breakage

_SECONDS = 20.0


class Died(Exception):
    """The process has ended; nothing after it happened."""


class Seam:
    """What happens at the statements of one collector's writing connection."""

    def __init__(self) -> None:
        self.dead = False  # nothing is executed any more
        self._broken: tuple[int, Breakage] | None = None
        self._held: tuple[int, Callable[[], None]] | None = None
        self._released = threading.Event()

    def break_after(self, statements: int, how: Breakage) -> None:
        """Let a statement fail, after so many others."""
        self._broken = statements, how

    def hold_after(self, statements: int, reached: Callable[[], None]) -> None:
        """Pause after so many statements; tell of it, in the thread that pauses."""
        self._released.clear()
        self._held = statements, reached

    def release(self) -> None:
        self._held = None
        self._released.set()

    @property
    def holds(self) -> bool:
        """Return if the next statement may have to pause."""
        return self._held is not None

    def before(self) -> Breakage | None:
        """Take note of a statement; return how it fails."""
        if self._held is not None:
            statements, reached = self._held
            if statements:
                self._held = statements - 1, reached
            else:
                self._held = None
                reached()
                assert self._released.wait(_SECONDS)
        if self.dead:
            raise Died
        if self._broken is not None:
            statements, how = self._broken
            if statements:
                self._broken = statements - 1, how
            else:
                self._broken = None
                return how
        return None
