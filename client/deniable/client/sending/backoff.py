"""The wait before another try."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Backoff:
    """The seconds to wait before another try: exponential, capped, jittered.

    It says when a report is sent for the second time, and when an issuer is asked again; a report's
    later sends are a day apart.
    """

    first: float = 30.0
    most: float = 3600.0

    def seconds(self, attempts: int, jitter: float) -> float:
        """Return the wait after so many sends; ``jitter`` in [0, 1) halves it at most."""
        return min(self.most, self.first * 2.0 ** min(attempts, 30)) * (1 - jitter / 2)


OFFLINE: Final = Backoff(first=5.0, most=600.0)
"""From try to try while nothing can leave the device: radio and processor are the user's."""
