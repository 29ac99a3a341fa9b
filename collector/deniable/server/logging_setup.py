"""Logs of the collector, and their form: configured here and nowhere else.

L1. A line contains no address, no key and nothing from a request.
L2. For an exception, only its types and places in the code are logged, never its text, which may
    repeat request data.
L3. For other libraries' messages, only the constant sentence in their code is logged.
L4. In the format json, every line of a running collector is one object, even for uncaught errors.
"""

import asyncio
import json
import logging
import math
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import PurePath
from time import monotonic
from types import TracebackType
from typing import Any, Final, TextIO

_OURS: Final = "deniable"
_LOG = logging.getLogger("deniable.collector")
_SECONDS_BETWEEN: Final = 60.0


class LogThrottle:
    """A throttle for frequent log lines: one of each kind per minute."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._logged: dict[str, float] = {}

    def __call__(self, kind: str) -> bool:
        """Return whether no line of this kind was logged for a minute; kinds are few and fixed."""
        now = self._clock()
        due = now - self._logged.get(kind, -math.inf) >= _SECONDS_BETWEEN
        if due:
            self._logged[kind] = now
        return due


def configure_logging(log_format: str, stream: TextIO | None = None) -> None:
    """Make this process log as text or JSON, and keep anything else from its standard error.

    Fields of a line come from ``extra={"fields": {…}}``.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Json() if log_format == "json" else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger(_OURS).setLevel(logging.INFO)
    logging.raiseExceptions = False  # it would print a record that cannot be formatted
    sys.excepthook = _uncaught
    sys.unraisablehook = lambda it: _LOG.error(
        "an error that could not be reported", exc_info=it.exc_value
    )
    threading.excepthook = lambda it: _LOG.error(
        "an unexpected error ended a thread", exc_info=it.exc_value
    )
    warnings.showwarning = lambda *_, **__: None  # Python's warnings are for developers


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        line = f"{_time(record)} {record.levelname.lower()}: {_message(record)}"
        return f"{line}  {fields}" if fields else line


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "message": _message(record),
            "process": record.process,
        }
        return json.dumps(line | _fields(record), default=str)


def _time(record: logging.LogRecord) -> str:
    when = datetime.fromtimestamp(record.created, UTC)  # noqa: TID251 - our own clock's
    return when.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def _message(record: logging.LogRecord) -> str:
    if record.name.partition(".")[0] == _OURS:
        return " ".join(record.getMessage().split())
    said, _, _ = str(record.msg).partition("\n")
    return f"{record.name}: {said}"


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields: dict[str, object] = dict(getattr(record, "fields", {}))
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        fields["error"] = " from ".join(type(cause).__name__ for cause in _chain(error))
        fields["at"] = " < ".join(_places(error))
    return fields


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, each once."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _places(error: BaseException) -> list[str]:
    """Return the places of an error, the innermost first: ``folder/file.py:line``."""
    return [
        f"{'/'.join(PurePath(frame.filename).parts[-2:])}:{frame.lineno}"
        for frame in reversed(traceback.extract_tb(error.__traceback__))
    ]


class LoopErrors:
    """The log of errors in the event loop itself, such as running out of file descriptors."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._throttle = LogThrottle(clock)

    def __call__(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log a context of the event loop's exception handler, once a minute."""
        # The rest is the repr of a callback with its arguments, or of a transport.
        message, _, _ = str(context.get("message", "unforeseen")).partition(" <")
        if message.startswith("Exception in callback"):
            message, _, _ = message.partition("(")
        if self._throttle(message):
            _LOG.error("event loop: %s", message, exc_info=context.get("exception"))


def _uncaught(kind: type[BaseException], error: BaseException, trail: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trail)
    else:
        _LOG.critical("an unexpected error ended the process", exc_info=error)
