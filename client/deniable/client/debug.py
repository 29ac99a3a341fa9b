"""The lines of ``DENIABLE_DEBUG=1`` or the setting ``debug``: what does not happen, and why.

1. Each line is printed once per process, on standard error: what calls return, and the warnings of
   the logger ``deniable``.
2. No line contains an answer: outcomes, deliveries and log records have none.
3. Nothing here raises, or changes what happens.
"""

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from deniable.client.client_settings import Arguments
from deniable.client.errors import ConsentMissing, NotReady, NotRecorded, StateUnavailable
from deniable.client.outcome import Delivery, Outcome, OutcomeStatus, Refresh
from deniable.client.sending.outbox import Outbox
from deniable.messages import instant_text
from deniable.terms.text import counted, printable

_said: Final[set[str]] = set()


class Debug:
    """The debug lines of one client; it asks the outbox what waits."""

    def __init__(self, outbox: Outbox, arguments: Arguments) -> None:
        self._outbox = outbox
        self._clock = arguments.settings.clock
        self._background = arguments.background
        logging.getLogger("deniable").addHandler(_WARNINGS)  # once, however many clients

    def say(
        self, result: Outcome | Refresh | Delivery | NotRecorded | Mapping[str, NotRecorded]
    ) -> None:
        """Print the result of a call, such as why the thread does not start or what is missing."""
        _say_all(self._lines(result))

    def _lines(self, result: object) -> Iterator[str]:
        match result:
            case Outcome():
                yield from self._of_outcome(result)
            case Refresh():
                yield from self._of_refresh(result)
            case Delivery():
                yield from self._of_delivery(result)
            case NotRecorded():
                yield f"the thread is not started: {result}{self._remedy(result)}"
            case Mapping():
                for name, why in result.items():
                    yield f"survey {name}: no manifest was accepted: {why}"

    def _of_outcome(self, outcome: Outcome) -> Iterator[str]:
        of = f"survey {outcome.survey}"
        if outcome.error is not None:
            yield f"{of}: nothing is recorded: {outcome.error}{self._remedy(outcome.error)}"
        elif outcome.status is OutcomeStatus.REPEATED:
            yield (
                f"{of}: repeated: epoch {outcome.epoch} already has its only report, and this "
                "answer changes nothing; a web worker that answers for many users repeats, since "
                "it is one device"
            )
        elif outcome.status is OutcomeStatus.LOCAL:
            yield f"{of}: consent is local: the report is shown by journal(), but never sent"
        else:
            yield from self._of_waiting()

    def _of_refresh(self, refresh: Refresh) -> Iterator[str]:
        for name, error in refresh.errors.items():
            yield f"survey {name}: not ready: {error}"
        for name, error in refresh.declined.items():
            yield f"survey {name}: keeps its manifest; no newer one: {error}"
        for name in refresh.later.keys() & set(refresh.ready):
            yield f"survey {name}: not fetched, since it is recent; use refresh(force=True)"

    def _of_delivery(self, delivery: Delivery) -> Iterator[str]:
        if delivery.error is not None:
            yield f"nothing could be sent: {delivery.error}{self._remedy(delivery.error)}"
        if delivery.dropped:
            yield f"{counted(delivery.dropped, 'report')} dropped: {dict(delivery.reasons)}"
        yield from self._of_waiting()

    def _of_waiting(self) -> Iterator[str]:
        waiting = self._outbox.pending(self._clock.now())
        if waiting:
            due = instant_text(int(min(report.earliest for report in waiting)))
            tried = " (sent before, unanswered)" if any(e.unanswered for e in waiting) else ""
            yield (
                f"waiting to be sent: {counted(len(waiting), 'report')}{tried}, the first at {due}"
                + (
                    ", or later, when a process calls start() or report()"
                    if self._background
                    else "; background=False: flush() sends what may be sent then"
                )
            )

    def _remedy(self, error: NotRecorded) -> str:
        """Return the next step if the error, which knows no client, does not name one."""
        if isinstance(error, ConsentMissing):
            return ""
        if isinstance(error, NotReady):
            return (
                "; the thread asks for it again"
                if self._background
                else "; background=False: nothing is fetched unless refresh() is called"
            )
        if isinstance(error, StateUnavailable):
            return "; the next call tries again: check that state= and its folder are writable"
        return ""


class _Warnings(logging.Handler):
    """Prints the warnings of background work."""

    def emit(self, record: logging.LogRecord) -> None:
        _say_all(warning.getMessage() for warning in [record])


_WARNINGS: Final = _Warnings(logging.WARNING)


def _say_all(lines: Iterable[str]) -> None:
    with suppress(Exception):  # a state that cannot be read, a standard error that is closed
        for line in lines:
            if line not in _said and sys.stderr is not None:
                _said.add(line)
                sys.stderr.write(f"deniable: {printable(line)}\n")
