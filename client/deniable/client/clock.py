"""Time as an argument: what the device knows of it."""

import time
from threading import Event
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Where the client gets its time from."""

    def now(self) -> float:
        """Return Unix seconds, as the device believes them to be."""

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""

    def wait(self, event: Event, seconds: float) -> None:
        """Wait until the event is set, and so long at most."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()

    def wait(self, event: Event, seconds: float) -> None:
        """Wait until the event is set, and so long at most."""
        event.wait(seconds)
