"""What devices sent and what was acknowledged, a few bytes a report."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.soak.signing import Chunk
from deniable.stores.values import RECEIPT_KEY_BYTES

ROW_BYTES: Final = RECEIPT_KEY_BYTES + 2
"""Start of the public key, survey and epoch, response."""

Rows = NDArray[Any]
"""Rows of that size, as numpy's bytes."""

_SIGNED, _SENT, _ACKNOWLEDGED = range(3)


class Books:
    """One row a report of an honest device, numbered as they were signed."""

    def __init__(self) -> None:
        self._rows = bytearray()
        self._states = bytearray()

    def enter(self, chunk: Chunk) -> range:
        """Enter the reports of a chunk; return their numbers."""
        first = len(self._states)
        size = RECEIPT_KEY_BYTES
        for place, response in enumerate(chunk.responses):
            self._rows += chunk.keys[place * size : (place + 1) * size]
            self._rows += bytes((chunk.slot, response))
        self._states += bytes(len(chunk.responses))
        return range(first, len(self._states))

    def send(self, numbers: range) -> None:
        """Note that they are about to leave their devices."""
        for number in numbers:
            self._states[number] = max(self._states[number], _SENT)

    def acknowledge(self, numbers: range, refused: set[int]) -> None:
        """Note an answer: all are taken but those at the places of the upload that it refuses."""
        for place, number in enumerate(numbers):
            if place not in refused:
                self._states[number] = _ACKNOWLEDGED

    def sent(self) -> Rows:
        """Return the rows of all that was sent."""
        return self._where(_SENT)

    def acknowledged(self) -> Rows:
        """Return the rows of all that was acknowledged."""
        return self._where(_ACKNOWLEDGED)

    def _where(self, least: int) -> Rows:
        rows = np.frombuffer(bytes(self._rows), dtype=f"S{ROW_BYTES}")
        return rows[np.frombuffer(bytes(self._states), dtype=np.uint8) >= least]
