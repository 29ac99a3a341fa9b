"""Sending waiting reports, one per request, on a lazy daemon thread or in a flush.

The thread exists only if there is something to send and consent to send it. The thread keeps no
data: killing it at any instant loses nothing, since the outbox is in the state.

If nothing can leave the device, for lack of a route or a resolved name, no send is counted (D8).
The thread tries again, eventually every ten minutes.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from typing import Final

from deniable.client.clock import Clock
from deniable.client.errors import NotRecorded, drop_frames
from deniable.client.outcome import Delivery
from deniable.client.sending.delays import LaunchDelay, Wake
from deniable.client.sending.outbox import Others, Outbox, SendCancelled
from deniable.client.sending.reply import (
    BACKOFF,
    OFFLINE,
    Drop,
    Enrol,
    PendingReport,
    Progress,
    Resend,
    Step,
    is_due,
    next_step,
)
from deniable.client.sending.transport import REQUEST_SECONDS, HttpAnswer, Transport, TransportError
from deniable.client.threads import Forkable, Turn, keep_through_forks, say_held
from deniable.messages import RefusalCode, pack_upload
from deniable.messages.refusals import MAX_ANSWER_BYTES

_LOG = logging.getLogger("deniable")
_LONGEST_NAP: Final = 3600.0
_STOP_SECONDS: Final = 1.0
_SILENCE_SECONDS: Final = 60.0


class Uploader(Forkable):
    """Moves reports from the outbox to the collector.

    Args:
        launch: the delay of reports that are overdue when the thread starts.
        spread: returns a random delay in seconds, given the time when a report closes.
        maintenance: run at each wake, in addition to sending; returns the seconds to the next.
        asks: starts asking issuers, without waiting; returns the seconds to the next time.
    """

    def __init__(
        self,
        outbox: Outbox,
        transport: Transport,
        clock: Clock,
        launch: LaunchDelay,
        *,
        jitter: Callable[[], float],
        spread: Callable[[float], float],
        maintenance: Callable[[], float],
        asks: Callable[[], float],
    ) -> None:
        self._outbox = outbox
        self._transport = transport
        self._clock = clock
        self._launch = launch
        self._jitter = jitter
        self._spread = spread
        self._maintenance = maintenance
        self._asks = asks
        self._sending, self._flushing, self._running = Turn(), Turn(), Turn()
        self._wake = Wake()
        self._stopping = False
        self._interrupts = 0
        self._thread: threading.Thread | None = None
        self._unforeseen = False
        self._warned = False
        self._unsent = 0  # tries that did not leave the device, since the last that did
        self._rests_until = 0.0
        self._silent_until = -inf
        keep_through_forks(self)

    def after_fork(self, *, in_child: bool) -> None:
        """Make new locks and no thread in a child, where only the forking thread continues."""
        if in_child:
            self._sending, self._flushing, self._running = Turn(), Turn(), Turn()
            self._wake, self._thread = Wake(), None
            self._launch.restart()

    def start(self) -> None:
        """Start the thread, or wake it."""
        self._wake.set()
        if sys.is_finalizing():
            return  # a thread would never run, and Python 3.11 would wait for it
        alive = self._thread is not None and self._thread.is_alive()
        if alive or self._running.is_taken() or self._stopping:
            return
        try:
            self._thread = threading.Thread(target=self._run, name="deniable", daemon=True)
            self._thread.start()
        except RuntimeError as error:  # no more threads: the next call tries again
            _LOG.warning("reports are waiting: %s", error)

    def wake(self) -> None:
        """Wake the thread, if there is one."""
        self._wake.set()

    def stop(self) -> None:
        """End the thread and any flush within a second; waiting reports stay."""
        self._stopping = True
        self._wake.set()
        self.interrupt()
        end = time.monotonic() + _STOP_SECONDS
        if self._thread is not None and self._thread.is_alive():  # or it could not be started
            self._thread.join(timeout=_STOP_SECONDS)
        with _held(self._flushing, end - time.monotonic()):
            pass

    def interrupt(self) -> None:
        """End the current flushes; later ones work, since a state can be reopened."""
        self._interrupts += 1

    def flush(self, timeout: float, due_only: bool) -> Delivery:
        """Send each waiting report now, once, as far as timeout and D8 allow.

        After an unanswered request, the others wait as well. Reports that the collector asked to
        delay, or that must wait for a day, are skipped.
        """
        end, interrupts = self._clock.monotonic() + timeout, self._interrupts
        progress = Progress(due_only)
        with self._outbox.state.patience(timeout), _held(self._flushing, timeout) as alone:
            try:
                if alone:
                    self._flush(end, interrupts, progress)
                pending = self._outbox.end_flush(self._clock.now())
            except NotRecorded as error:
                _LOG.info("nothing could be sent: %s", error)  # the state has warned of its outage
                return Delivery(progress.delivered, progress.dropped, None, drop_frames(error))
        return Delivery(progress.delivered, progress.dropped, len(pending))

    def _flush(self, end: float, interrupts: int, progress: Progress) -> None:
        while (left := end - self._clock.monotonic()) > 0 and self._interrupts == interrupts:
            with _held(self._sending, left) as alone:
                left = end - self._clock.monotonic()  # the thread may be sending
                now = self._clock.now()
                waiting = self._outbox.pending(now) if alone and left > 0 else []
                due = [report for report in waiting if progress.may_send(report, now)]
                if not due:
                    break
                progress.note(due[0], self._send(due[0], min(left, REQUEST_SECONDS)))
                if len(waiting) == 1 or self._rest() or self.silence():
                    break

    def _send(self, report: PendingReport, seconds: float, others: Others = ()) -> Step | None:
        """Send this report, and give the other due reports new times; return its next step."""
        started = self._clock.monotonic()
        if not self._outbox.begin(report, self._clock.now(), others):
            return None
        try:
            answer = self._transport.request(
                "POST",
                "/v1/reports",
                {"Content-Type": "application/msgpack"},
                pack_upload([report.envelope]),
                MAX_ANSWER_BYTES,
                max(0.001, started + seconds - self._clock.monotonic()),
                before_body=lambda: self._outbox.check_waits(report, self._clock.now()),
            )
        except (SendCancelled, TransportError) as error:
            return self._without_answer(report, error, started)
        self._warned, self._silent_until = False, -inf
        return self._follow(report, answer)

    def _without_answer(
        self, report: PendingReport, error: SendCancelled | TransportError, started: float
    ) -> Step | None:
        if isinstance(error, TransportError) and not self._warned:  # one line per outage
            _LOG.warning("reports are waiting: the collector cannot be reached (%s)", error)
            self._warned = True
        if isinstance(error, TransportError) and not error.unsent:
            self._silent_until = self._clock.monotonic() + _SILENCE_SECONDS
            return self._follow(report, None)
        self._outbox.undo_send(report, self._clock.now())
        if isinstance(error, TransportError):
            # From the start of one try to the next, since resolvers may take long to fail.
            self._rests_until = started + OFFLINE.seconds(self._unsent, self._jitter())
            self._unsent += 1
        return None

    def _follow(self, report: PendingReport, answer: HttpAnswer | None) -> Step:
        """Record and return the step after an answer, or after none."""
        self._unsent = 0
        now = self._clock.now()
        step = next_step(report, answer, now, BACKOFF, self._jitter)
        self._outbox.follow(report, step, now)
        if isinstance(step, Enrol):
            self._wake.set()  # requesting another certificate is a maintenance task
        if isinstance(step, Drop):
            _LOG.warning("survey %s: a report was dropped: %s", report.name, step.verdict)
        if isinstance(step, Resend):
            why = step.code or "no recognised answer"
            _LOG.info("survey %s: a report waits: %s", report.name, why)
        if isinstance(step, Resend) and step.code is RefusalCode.FORBIDDEN:
            _LOG.warning(
                "reports are waiting: the collector refuses reports sent this way (forbidden), but "
                "may accept reports from a relay"
            )
        return step

    def silence(self) -> float:
        """Return the seconds without requests after an unanswered one."""
        return max(0.0, self._silent_until - self._clock.monotonic())

    def _rest(self) -> float:
        """Return the seconds until the next try of a device that is offline."""
        return max(0.0, self._rests_until - self._clock.monotonic()) if self._unsent else 0.0

    def _run(self) -> None:
        running = self._running.take()
        if running is None:
            return  # another thread was started at the same time
        self._thread = threading.current_thread()
        while True:
            self._wake.clear()
            if self._is_stopping():  # after clear, since a stop before it would be lost
                break
            nap = _LONGEST_NAP
            try:
                nap = min(nap, self.step())
                self._unforeseen = False
            except NotRecorded as error:
                _LOG.info("reports are waiting: %s", error)  # the state has warned of its outage
            except Exception as error:  # noqa: BLE001 - a thread that ends would end sending for good
                if not self._unforeseen:  # one line per outage
                    _LOG.warning("reports are waiting: unexpected %s", type(error).__name__)
                self._unforeseen = True
                _LOG.debug("unexpected error", exc_info=True)
            say_held()
            if not self._is_stopping():
                self._wake.wait(nap)
        with suppress(NotRecorded):
            self._launch.note()

    def step(self) -> float:
        """Do one round of sending and maintenance; return the seconds until the next."""
        nap = self._launch.begin()
        if nap:
            return self._launch.rest(nap)
        # Issuers first: they are asked at the same time, whatever happens to reports.
        again = min(self._asks(), self.send_due())
        if self._is_stopping():  # the step may have waited for the network
            return 0.0
        again = min(again, self._maintenance(), _LONGEST_NAP)
        self._launch.end_look()
        return self._launch.rest(self._launch.begin() or again)

    def _is_stopping(self) -> bool:
        return self._stopping  # read anew each time: another thread sets it

    def send_due(self) -> float:
        """Send one due report; return the seconds until the next is due.

        The other due reports get new times: together they would be linked to each other (D7).
        """
        with _held(self._sending, inf):
            now = self._clock.now()
            waiting: Sequence[PendingReport] = self._outbox.pending(now)
            due = [report for report in waiting if is_due(report, now)]
            if not due:
                self._outbox.end_flush(now)
            elif not self._launch.hold() and not self._rest():
                later = [
                    (other, now + self._spread(min(other.closes, other.until))) for other in due[1:]
                ]
                self._send(due[0], REQUEST_SECONDS, later)
                now = self._clock.now()
                waiting = self._outbox.pending(now)
        dues = [report.earliest - now for report in waiting if not report.renewing]
        return max(0.0, self._rest(), min(dues, default=_LONGEST_NAP))


@contextmanager
def _held(turn: Turn, seconds: float) -> Iterator[bool]:
    """Take a turn if it becomes free within this time; return whether it did."""
    taken = turn.take(seconds)
    try:
        yield taken is not None
    finally:
        if taken is not None:
            taken.give_back()
