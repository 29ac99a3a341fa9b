"""The delay before a report's request: random, and drawn again after a launch (D7).

A request never coincides with a launch. A launch shows that somebody uses the device, so reports
overdue when the thread starts wait for a delay of running time. The delay is drawn once for each
collector. The remaining delay is kept in the state, so that starts of a few seconds eventually use
it up. If it were drawn anew at each start, hardly any would send. It is stored at running times
that double, so a killed process loses at most half of it. A delay costs at most nine small writes.

A thread that wakes later than intended, by more than the longest delay, was suspended, like
background apps and closed laptops. That also shows a user, and counts as a start. One moment of the
suspension counts as running time. So a machine that wakes only for shorter times, or whose timers
are always late, eventually sends.
"""

from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from math import inf
from operator import sub
from queue import Empty, SimpleQueue
from typing import Final

from deniable.client.clock import Clock
from deniable.client.state.state import State
from deniable.client.state.transactions import kept

DELIVERY_SECONDS: Final = 3600.0
"""A report is sent at a random time within these seconds, unless the app sets another limit."""
LONGEST_DELAY: Final = 30
"""In seconds of running; no delay is longer than ``delivery_seconds`` either."""
_FIRST_NOTE: Final = 0.25


def report_delay(closes: float, now: float, most: float, jitter: float) -> float:
    """Return a random wait before a report closes: at most half of the time left."""
    # A report that already seems closed is not urgent, and must not leave together with others.
    left = closes - now
    return jitter * (min(most, left / 2) if left > 0 else most)


class _Phase(Enum):
    STOPPED = auto()  # no thread has started
    LOOKING = auto()  # the thread is looking for the first time: reports due now were due before
    WAITING = auto()  # some reports were due
    OVER = auto()


class LaunchDelay:
    """The delay of overdue reports at a start; for one thread.

    No delay is longer than ``spread`` seconds; ``jitter`` is uniform in [0, 1).
    """

    def __init__(
        self, state: State, collector: str, clock: Clock, jitter: Callable[[], float], spread: float
    ) -> None:
        self.state = state
        self._collector = collector
        self._clock = clock
        self._jitter = jitter
        self._most = min(spread, LONGEST_DELAY)
        self.restart()

    def restart(self) -> None:
        """Forget that a thread has started: in the child of a fork, it has not."""
        self._back_at, self._nap = (inf, inf), 0.0
        self._phase = _Phase.STOPPED
        self._left: float | None = None  # seconds at the thread's start; None if not drawn
        self._started = -inf
        self._noted = 0.0

    def hold(self) -> float:
        """Return the seconds for which due reports still have to wait; draw the delay if needed."""
        if self._phase is _Phase.LOOKING:
            self._phase = _Phase.WAITING
            if self._left is None:
                self._left = int(self._jitter() * self._most * 1000) / 1000
                self._noted = -inf  # the delay itself is to be stored
        if self._phase is not _Phase.WAITING or self._left is None:
            return 0.0
        return max(0.0, self._started + self._left - self._clock.monotonic())

    def begin(self) -> float:
        """Begin a round of the thread; return the seconds to wait before it, 0 for none."""
        # Two clocks: one stands still while the machine sleeps, the other may be set back.
        resumed: float | None = None
        if max(map(sub, self._instants(), self._back_at)) > LONGEST_DELAY:
            if self._phase is _Phase.WAITING and self._left is not None:
                ran = self._back_at[1] - self._nap - self._started + min(self._nap, _FIRST_NOTE)
                resumed = max(0.0, self._left - ran)
            self.restart()
        if self._phase is _Phase.STOPPED:
            self._left = self._stored() if self._most > 0 else None
            if resumed is not None:
                self._left = resumed
            self._started = self._clock.monotonic()
            self._phase = _Phase.LOOKING if self._most > 0 else _Phase.OVER
        if self._phase is not _Phase.WAITING:
            return 0.0
        left = self.hold()
        if left == 0:
            self._store(None)  # before any report leaves, for the same reason as in note()
            self._phase = _Phase.OVER
            return 0.0
        ran = self._clock.monotonic() - self._started
        if ran >= self._next_note():
            self.note()
        return min(left, self._next_note() - ran)

    def end_look(self) -> None:
        """End the first round: reports that fall due from now on have their own random times."""
        if self._phase is _Phase.LOOKING:
            self._phase = _Phase.OVER
        elif self._phase is _Phase.WAITING and self._noted < 0:
            self.note()

    def rest(self, seconds: float) -> float:
        """Note when the thread intends to wake for its next round; return the seconds."""
        now, running = self._instants()
        self._back_at, self._nap = (now + seconds, running + seconds), seconds
        return seconds

    def note(self) -> None:
        """Store the rest of a delay, if one is in progress.

        A delay that is over has sent nothing yet, so the next start must find some of it left.
        """
        if self._phase is _Phase.WAITING and (left := self.hold()) > 0:
            self._store(left)
            self._noted = max(0.0, self._clock.monotonic() - self._started)

    def _instants(self) -> tuple[float, float]:
        return self._clock.now(), self._clock.monotonic()

    def _next_note(self) -> float:
        note = _FIRST_NOTE
        while note <= self._noted:
            note *= 2
        return note

    @kept
    def _stored(self) -> float | None:
        with self.state.reading(self._clock.now()) as connection:
            row = (
                connection
                and connection.execute(
                    "SELECT left_ms FROM launches WHERE origin = ?", (self._collector,)
                ).fetchone()
            )
        left = row[0] if row else None
        return min(left / 1000, self._most) if isinstance(left, int) else None  # or corrupted

    @kept
    def _store(self, left: float | None) -> None:
        with self.state.existing(self._clock.now()) as connection:
            if connection is None:
                return
            if left is None:
                connection.execute("DELETE FROM launches WHERE origin = ?", (self._collector,))
                return
            connection.execute(
                "INSERT INTO launches VALUES (?, ?)"
                # Of several processes, the furthest ahead counts.
                " ON CONFLICT (origin) DO UPDATE SET left_ms = min(left_ms, excluded.left_ms)",
                (self._collector, int(left * 1000)),
            )


class Wake:
    """An event for one waiting thread; it may be set at any moment, even during another ``set``.

    A signal handler or a finaliser interrupts its thread anywhere. If that is inside ``set`` of
    ``threading.Event``, a second ``set`` waits for ever for a lock that its own thread holds.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[None] = SimpleQueue()  # its put() is reentrant by contract

    def set(self) -> None:
        """Let the thread continue, now or when it waits next."""
        if self._calls.empty():
            self._calls.put(None)

    def clear(self) -> None:
        """Forget all calls so far, before the caller looks for their causes."""
        with suppress(Empty):
            while True:
                self._calls.get_nowait()

    def wait(self, seconds: float) -> None:
        """Wait for a call, at most this many seconds."""
        with suppress(Empty):
            self._calls.get(timeout=seconds)
