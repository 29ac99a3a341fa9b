"""Which workers live: the event loop of each says so about once a second, in shared memory.

A process that is stopped says nothing, nor does a loop that is blocked. No answer is asked for: a
worker that hangs could give none.
"""

import asyncio
import mmap
import time
from collections.abc import Callable
from typing import Final

LOOK_SECONDS: Final = 1.0
"""Between two beats, and between two looks at all of them."""
FROZEN_SECONDS: Final = 20.0
"""A worker that has been silent for as long will not go on. No work that a worker does in its
event loop takes a second; all that is long is done in threads."""
SILENT_SECONDS: Final = 5.0
"""For as long a worker may be silent and be counted on."""
_CELL: Final = "d"
_CELL_BYTES: Final = 8


class Heartbeats:
    """The heartbeats of some workers; made by their parent, before it forks."""

    def __init__(self, workers: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._beats = memoryview(mmap.mmap(-1, workers * _CELL_BYTES)).cast(_CELL)
        self._clock = clock
        self._seen = [0.0] * workers
        self._still = [0.0] * workers
        self._looked_at = clock()

    def beat(self, worker: int) -> None:
        """Note that a worker lives, or is being started."""
        self._beats[worker] = self._clock()

    async def keep_beating(self, worker: int) -> None:
        """Note that a worker lives for as long as its event loop runs."""
        while True:
            self.beat(worker)
            await asyncio.sleep(LOOK_SECONDS)

    def leads(self, worker: int) -> bool:
        """Return if no worker with a lower number is alive."""
        alive_since = self._clock() - SILENT_SECONDS
        return all(beat < alive_since for beat in self._beats[:worker])

    def look(self) -> list[float]:
        """Return for how many seconds each worker has been silent, if that is asked once a second.

        Only time counts during which the caller itself ran: with a machine that slept, or a group
        of processes that was stopped, nobody has died.
        """
        now = self._clock()
        passed = min(now - self._looked_at, 2 * LOOK_SECONDS)
        self._looked_at = now
        for worker, beat in enumerate(self._beats):
            self._still[worker] = self._still[worker] + passed if beat == self._seen[worker] else 0
            self._seen[worker] = beat
        return self._still.copy()
