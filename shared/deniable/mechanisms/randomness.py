"""The source of privacy noise: 64-bit words of the operating system's generator."""

import os
from collections.abc import Callable

__all__ = ["Draw", "os_random_word"]

Draw = Callable[[], int]
"""One uniform integer in [0, 2^64) a call; only :func:`os_random_word` makes an answer private."""


def os_random_word() -> int:
    """Return 64 uniform bits of the operating system's CSPRNG."""
    return int.from_bytes(os.urandom(8))
