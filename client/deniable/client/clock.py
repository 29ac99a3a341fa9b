"""Time as an argument: what the device knows about it."""

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

Boot = tuple[str, float]
"""The current boot of the machine, and the seconds since."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """The source of the client's time."""

    def now(self) -> float:
        """Return Unix seconds, according to the device."""

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()

    def boot_time(self) -> Boot | None:
        """Return the boot's id and its seconds, including sleep, by a clock that nobody can set."""
        if sys.platform == "linux":
            with suppress(OSError):
                boot = _BOOT_ID.read_bytes().decode(errors="replace").strip()
                return boot, time.clock_gettime(time.CLOCK_BOOTTIME)
        return None


def http_date(text: str) -> int | None:
    """Return the Unix seconds of a ``Date`` header; None unless it is an IMF-fixdate (RFC 9110)."""
    from email.utils import format_datetime, parsedate_to_datetime  # only for devices in doubt

    try:
        moment = parsedate_to_datetime(text)
        return int(moment.timestamp()) if format_datetime(moment, usegmt=True) == text else None
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
