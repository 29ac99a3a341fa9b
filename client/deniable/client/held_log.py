"""The log of what may be called with an answer: held back until no frame holds it any more.

Handlers are called on the stack of whoever logs, and those of crash reporters collect its frames
with all their variables.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOG = logging.getLogger("deniable")


class _Held(threading.local):
    lines: list[tuple[str, tuple[object, ...]]] | None = None


_HELD = _Held()


def warn(message: str, *arguments: object) -> None:
    """Log a warning: at once, or once the thread's :func:`held_back` is left."""
    if _HELD.lines is None:
        _LOG.warning(message, *arguments)
    else:
        _HELD.lines.append((message, arguments))


@contextmanager
def held_back() -> Iterator[None]:
    """Hold back what this thread warns of; within another one, until that one is left."""
    if _HELD.lines is not None:
        yield
        return
    lines = _HELD.lines = []
    try:
        yield
    finally:
        _HELD.lines = None
        for message, arguments in lines:
            _LOG.warning(message, *arguments)
