"""``DENIABLE_DEBUG=1`` or the setting ``debug``: the log of ``deniable`` on standard error.

No line contains an answer, since no log record does. Each line is printed once per process.
"""

import logging
import sys
from contextlib import suppress
from typing import Final

from deniable.terms.text import printable


class _Lines(logging.Handler):
    """Prints the log records of all clients' calls and background work."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):  # a standard error that is closed
            line = printable(record.getMessage())
            if line not in self.printed and sys.stderr is not None:
                self.printed.add(line)
                sys.stderr.write(f"deniable: {line}\n")


LINES: Final = _Lines()


def show_log() -> None:
    """Print log records from now on."""
    logger = logging.getLogger("deniable")
    logger.setLevel(logging.INFO)
    logger.addHandler(LINES)  # once, however many clients
