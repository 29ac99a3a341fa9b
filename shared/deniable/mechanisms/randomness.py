"""The source of privacy noise: 64-bit words of the operating system's generator."""

import os
from collections.abc import Callable
from typing import Final

_WORD: Final = 64

Draw = Callable[[], int]
"""One uniform integer in [0, 2^64) a call; only :func:`os_random_word` makes an answer private."""


def os_random_word() -> int:
    """Return 64 uniform bits of the operating system's CSPRNG."""
    return int.from_bytes(os.urandom(8))


def uniform_below(bound: int, draw: Draw = os_random_word) -> int:
    """Return an integer uniform in [0, bound), exactly."""
    # A power of two below 2 * bound: every attempt succeeds with a probability above 1/2, and all
    # that succeed are equally likely.
    bits = (bound - 1).bit_length()
    while True:
        value = 0
        for _ in range(-(-bits // _WORD)):
            value = value << _WORD | draw()
        value &= (1 << bits) - 1
        if value < bound:
            return value
