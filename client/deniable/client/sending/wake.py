"""The event that wakes the thread: it may be set in the middle of anything, even of setting it.

A signal's handler, or a finaliser, runs wherever its thread just was. If that is inside ``set`` of
threading's event, a second ``set`` waits for ever for a lock that this very thread holds.
"""

from contextlib import suppress
from queue import Empty, SimpleQueue


class Wake:
    """An event for one waiting thread; ``set`` takes no lock."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[None] = SimpleQueue()  # its put() is reentrant by contract

    def set(self) -> None:
        """Let the thread go on, now or when it waits next."""
        if self._calls.empty():
            self._calls.put(None)

    def clear(self) -> None:
        """Forget all calls so far: to be done before looking for what they were about."""
        with suppress(Empty):
            while True:
                self._calls.get_nowait()

    def wait(self, seconds: float) -> None:
        """Wait for a call, and so long at most."""
        with suppress(Empty):
            self._calls.get(timeout=seconds)
