"""What ``deniable serve`` changes in its own process, put back after a test that runs it here."""

import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def logging_kept() -> Iterator[None]:
    """Put handlers, levels and hooks back when the block ends."""
    root, ours = logging.getLogger(), logging.getLogger("deniable")
    handlers, levels, raises = root.handlers[:], (root.level, ours.level), logging.raiseExceptions
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook, warnings.showwarning
    try:
        yield
    finally:
        sys.excepthook, sys.unraisablehook, threading.excepthook, warnings.showwarning = hooks
        root.handlers[:] = handlers
        root.setLevel(levels[0])
        ours.setLevel(levels[1])
        logging.raiseExceptions = raises
