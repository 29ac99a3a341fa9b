"""Sending what waits, on one lazy daemon thread or when flushed: one report a request, by default.

The thread exists only once there is something to send and consent to send it. It holds no data:
killing it at any instant loses nothing, since the outbox is in the state.

While nothing leaves the device, since there is no route or the name is not resolved, nobody else
knows of it: such tries are not counted as sends (D8), and grow as rare as every ten minutes. Where
the transport can look for a route, nothing is written for them either.
"""

import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from deniable.client.clock import Clock
from deniable.client.errors import NotRecorded, drop_frames
from deniable.client.outcome import Delivery
from deniable.client.sending.backoff import OFFLINE, Backoff
from deniable.client.sending.delivery import (
    Delivered,
    Drop,
    Enrol,
    PendingReport,
    Resend,
    Step,
    among,
    batch_of,
    is_due,
    next_steps,
    why_waits,
)
from deniable.client.sending.launch import LaunchDelay
from deniable.client.sending.outbox import Outbox
from deniable.client.sending.transport import (
    REQUEST_SECONDS,
    Transport,
    TransportError,
    outage,
)
from deniable.client.sending.wake import Wake
from deniable.client.state.forks import Forkable, keep_through_forks
from deniable.messages import MAX_ANSWER_BYTES, MAX_UPLOAD_REPORTS, RefusalCode, pack_upload

_LOG = logging.getLogger("deniable")
_LONGEST_NAP: Final = 3600.0
_STOP_SECONDS: Final = 1.0
_CLAIM_SECONDS: Final = 2 * REQUEST_SECONDS
_SILENCE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Sent:
    """The result of one request; empty if the user, or another process, came in between."""

    steps: Sequence[Step] = ()  # what follows for each report; none if nothing left the device
    reasons: Sequence[str] = ()  # why each still waits, in the same order; empty where it does not
    pending: Sequence[PendingReport] | None = None  # what waits then; None if nobody has looked


class _CalledOff(Exception):
    """The user, or another process, came between the choice of a report and its sending."""


class Uploader(Forkable):
    """Moves reports from the outbox to the collector.

    Args:
        launch: what is overdue at the thread's start waits for it.
        backoff: that of second sends.
        spread: given when a report closes, returns the seconds to wait with it, at random.
        linkable_batches: send all that is due in one request.
        chores: what the thread does besides, each time it wakes; returns the seconds to the next.
        sends_blindly: called before a report leaves that bears a token of blind enrolment.
    """

    def __init__(
        self,
        outbox: Outbox,
        transport: Transport,
        clock: Clock,
        launch: LaunchDelay,
        *,
        backoff: Backoff,
        jitter: Callable[[], float],
        spread: Callable[[float], float],
        linkable_batches: bool,
        chores: Callable[[], float],
        sends_blindly: Callable[[], None],
    ) -> None:
        self._outbox = outbox
        self._transport = transport
        self._clock = clock
        self._launch = launch
        self._backoff = backoff
        self._jitter = jitter
        self._spread = spread
        self._chores = chores
        self._sends_blindly = sends_blindly
        # Once a collector refused a batch as a whole, each report has its own while this lives.
        self._most = MAX_UPLOAD_REPORTS if linkable_batches else 1
        self._linkable_batches = linkable_batches
        self._sending = threading.Lock()
        self._flushing = threading.Lock()
        self._starting = threading.Lock()
        self._wake = Wake()
        self._stopping = False
        self._interrupt = threading.Event()
        self._thread: threading.Thread | None = None
        self._unforeseen = False
        self._warned = False
        self._unsent = 0  # tries that did not leave the device, since the last that did
        self._rests_until = 0.0
        self._silent_until = -inf
        keep_through_forks(self)

    def after_fork(self, *, in_child: bool) -> None:
        """Have new locks and no thread in a child, where only the forking thread goes on."""
        if in_child:
            self._sending, self._flushing = threading.Lock(), threading.Lock()
            self._starting = threading.Lock()
            self._wake, self._interrupt = Wake(), threading.Event()
            self._thread = None
            self._launch.restart()

    def start(self) -> None:
        """Start the thread, or wake it."""
        self._wake.set()
        if sys.is_finalizing():
            return  # a thread would never come to run, and Python 3.11 waits for it to
        if not self._starting.acquire(blocking=False):
            return  # it is being started, perhaps by what a signal's handler interrupted here
        try:
            running = self._thread is not None and self._thread.is_alive()
            if not running and not self._stopping:
                thread = threading.Thread(target=self._run, name="deniable", daemon=True)
                thread.start()
                self._thread = thread
        except RuntimeError as error:  # no more threads: the next call tries again
            _LOG.warning("reports wait: %s", error)
        finally:
            self._starting.release()

    def wake(self) -> None:
        """Let the thread look again, if there is one."""
        self._wake.set()

    def stop(self) -> None:
        """End the thread and what is being flushed, within a second; what waits stays there."""
        self._stopping = True
        self._wake.set()
        # For the flushes that are under way: a later one works, as a state opens again.
        self._interrupt.set()
        self._interrupt = threading.Event()
        end = time.monotonic() + _STOP_SECONDS
        if self._thread is not None:
            self._thread.join(timeout=_STOP_SECONDS)
        if self._flushing.acquire(timeout=max(0.0, end - time.monotonic())):
            self._flushing.release()

    def flush(self, timeout: float, *, due_only: bool = False) -> Delivery:
        """Send now what waits, and again what fails, as often as timeout and D8 allow.

        What the collector itself asked to wait with, and what must wait for a day, is left for
        later; with ``due_only`` also what is not due, and what fails, as the thread would. While
        nothing can leave the device it ends at once. While a request went unanswered, the others
        wait as well, until its second send or for a minute.
        """
        end, interrupt = self._clock.monotonic() + timeout, self._interrupt
        progress = _Progress(due_only)
        with _held(self._flushing, timeout) as alone:
            try:
                if alone:
                    self._flush(end, interrupt, progress)
                now = self._clock.now()
                left = self._outbox.end_flush(now)
            except NotRecorded as error:
                _LOG.info("nothing could be sent: %s", error)  # the state has warned of its outage
                return Delivery(progress.delivered, progress.dropped, None, drop_frames(error))
        waiting = dict(progress.why_waiting(left.pending, now))
        if left.unconsented is not None:
            waiting = {"no-consent": left.unconsented} if left.unconsented else {}
        pending = len(left.pending)
        return Delivery(
            progress.delivered, progress.dropped, pending, reasons=left.dropped, waiting=waiting
        )

    def _flush(self, end: float, interrupt: threading.Event, progress: "_Progress") -> None:
        known: Sequence[PendingReport] | None = None
        while (left := end - self._clock.monotonic()) > 0 and not interrupt.is_set():
            silence = left
            waiting: Sequence[PendingReport] = ()
            with _held(self._sending, left) as alone:
                left = end - self._clock.monotonic()  # the thread may have been sending
                now = self._clock.now()
                if alone and left > 0:
                    waiting = self._outbox.pending(now) if known is None else known
                known = None
                due = [report for report in waiting if progress.may_send(report, now)]
                if due:
                    batch = batch_of(due, self._most)
                    sent = self._send(batch, min(left, REQUEST_SECONDS))
                    progress.note(batch, sent)
                    if self._rest():
                        break
                    silence = self.silence()
                    if not silence:
                        known = sent.pending
                        continue
                    waiting = among(batch, sent.pending or ())
            dues = [max(report.due, report.held) - now for report in waiting if not report.renewing]
            pause = min([silence, *dues])
            if progress.due_only or not waiting or pause >= end - self._clock.monotonic():
                break
            self._clock.wait(interrupt, max(pause, 0.001))

    def _send(
        self,
        batch: Sequence[PendingReport],
        seconds: float,
        others: Iterable[tuple[PendingReport, float]] = (),
    ) -> _Sent:
        """Send these reports in one request; give the others, which are due too, new times."""
        started = self._clock.monotonic()
        if any(report.blind for report in batch):
            self._sends_blindly()
        if (offline := outage(self._transport, seconds)) is not None:
            return self._not_sent(batch, offline, started)
        began = self._clock.now()
        if not self._outbox.begin(batch, began + _CLAIM_SECONDS, began, others):
            return _Sent()
        answer, why = None, "unrecognised-answer"

        def check() -> None:
            if not self._outbox.still_wait(batch, self._clock.now()):
                raise _CalledOff

        try:
            answer = self._transport.request(
                "POST",
                "/v1/reports",
                {"Content-Type": "application/msgpack"},
                pack_upload([report.envelope for report in batch]),
                MAX_ANSWER_BYTES,
                max(0.001, started + seconds - self._clock.monotonic()),
                before_body=check,
            )
        except _CalledOff:
            self._outbox.take_back(batch, self._clock.now())
            return _Sent()
        except TransportError as error:
            if error.unsent:
                self._outbox.take_back(batch, self._clock.now())
                return self._not_sent(batch, error, started)
            why = self._warn_once(error)
            self._silent_until = self._clock.monotonic() + _SILENCE_SECONDS
        else:
            self._warned = False
            self._silent_until = -inf
        self._unsent = 0
        now = self._clock.now()
        steps = next_steps(batch, answer, now, self._backoff, self._jitter)
        pending = self._outbox.follow(zip(batch, steps, strict=True), now)
        _log_refusals(batch, steps)
        if any(isinstance(step, Resend) and step.alone for step in steps):
            self._most = 1
        if any(isinstance(step, Enrol) for step in steps):
            self._wake.set()  # another certificate is a chore
        return _Sent(steps, [_reason(step, why) for step in steps], pending)

    def _not_sent(
        self, batch: Sequence[PendingReport], error: TransportError, started: float
    ) -> _Sent:
        # From the start of one try to that of the next: resolvers may take long to fail.
        self._rests_until = started + OFFLINE.seconds(self._unsent, self._jitter())
        self._unsent += 1
        return _Sent(reasons=[self._warn_once(error)] * len(batch))

    def _warn_once(self, error: TransportError) -> str:
        if not self._warned:  # one line an outage, not one a report or an attempt
            _LOG.warning("reports wait: the collector cannot be reached (%s)", error)
        self._warned = True
        return f"unreachable: {error}"

    def silence(self) -> float:
        """Return the seconds for which the collector is left alone, having left one unanswered."""
        return max(0.0, self._silent_until - self._clock.monotonic())

    def _rest(self) -> float:
        """Return the seconds until the next try of a device that is offline."""
        return max(0.0, self._rests_until - self._clock.monotonic()) if self._unsent else 0.0

    def _run(self) -> None:
        while True:
            self._wake.clear()
            if self._is_stopping():  # after clear: or a stop that comes between is not heard
                break
            nap = _LONGEST_NAP
            try:
                nap = min(nap, self.step())
                self._unforeseen = False
            except NotRecorded as error:
                _LOG.info("reports wait: %s", error)  # the state has warned of its outage
            except Exception as error:  # noqa: BLE001 - a thread that ends would end sending for good
                if not self._unforeseen:  # one line an outage
                    _LOG.warning("reports wait: unforeseen %s", type(error).__name__)
                self._unforeseen = True
                _LOG.debug("what was not foreseen", exc_info=True)
            if not self._is_stopping():
                self._wake.wait(nap)
        with suppress(NotRecorded):
            self._launch.note()

    def step(self) -> float:
        """Do one round of sending and chores; return the seconds until the next one."""
        nap = self._launch.begin()
        if nap:
            return self._launch.rest(nap)
        again = self.send_due()  # first: a session may have time for one request only
        if self._is_stopping():  # it may have waited for the network
            return 0.0
        again = min(again, self._chores(), _LONGEST_NAP)
        self._launch.end_look()
        return self._launch.rest(self._launch.begin() or again)

    def _is_stopping(self) -> bool:
        return self._stopping  # asked anew each time: another thread sets it

    def send_due(self) -> float:
        """Send one report that is due, or one batch; return the seconds until the next is.

        The others that are due get new times: together they would be linked to each other (D7).
        """
        with self._sending:
            now = self._clock.now()
            waiting: Sequence[PendingReport] = self._outbox.pending(now)
            due = [report for report in waiting if is_due(report, now)]
            if not due:
                self._outbox.erase_settled(now)
            elif not self._launch.hold() and not self._rest():
                batch = batch_of(due, self._most)
                others = [] if self._linkable_batches else due[len(batch) :]
                later = [(other, now + self._spread(other.closes)) for other in others]
                sent = self._send(batch, REQUEST_SECONDS, later)
                now = self._clock.now()
                waiting = self._outbox.pending(now) if sent.pending is None else sent.pending
        dues = [report.due - now for report in waiting if not report.renewing]
        return max(0.0, self._rest(), min(dues, default=_LONGEST_NAP))


class _Progress:
    """The progress of a flush: what it has sent so far, and why the rest waits."""

    def __init__(self, due_only: bool) -> None:
        self.due_only = due_only
        self.delivered = 0
        self.dropped = 0
        self._tried: set[tuple[str, int]] = set()
        self._reasons: dict[tuple[str, int], str] = {}

    def may_send(self, report: PendingReport, now: float) -> bool:
        """Tell whether a report may be sent now; one that waits only to spread sends may, once."""
        untried = not self.due_only and (report.name, report.epoch) not in self._tried
        return is_due(replace(report, due=now) if untried else report, now)

    def note(self, batch: Sequence[PendingReport], sent: _Sent) -> None:
        keys = [(report.name, report.epoch) for report in batch]
        self._reasons.update(zip(keys, sent.reasons, strict=False))  # of none if called off
        if sent.steps:
            self._tried.update(keys)
        self.delivered += sum(isinstance(step, Delivered) for step in sent.steps)
        self.dropped += sum(isinstance(step, Drop) for step in sent.steps)

    def why_waiting(self, pending: Iterable[PendingReport], now: float) -> Counter[str]:
        return Counter(
            self._reasons.get((report.name, report.epoch))
            or why_waits(report, now, due_only=self.due_only)
            for report in pending
        )


def _reason(step: Step, why: str) -> str:
    if not isinstance(step, Resend):
        return ""
    return why if step.code is None else step.code.value


def _log_refusals(batch: Sequence[PendingReport], steps: Sequence[Step]) -> None:
    if any(isinstance(step, Resend) and step.code is RefusalCode.FORBIDDEN for step in steps):
        _LOG.warning(
            "reports wait: the collector takes none that come this way (forbidden), but perhaps "
            "those of a relay"
        )
    drops = Counter(
        (report.name, step.verdict)
        for report, step in zip(batch, steps, strict=True)
        if isinstance(step, Drop)
    )
    for (name, verdict), count in sorted(drops.items()):
        _LOG.warning("survey %s: %d report(s) dropped: %s", name, count, verdict)


@contextmanager
def _held(lock: threading.Lock, seconds: float) -> Iterator[bool]:
    """Hold a lock, if it can be had in this time; tell whether it could."""
    held = lock.acquire(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX))
    try:
        yield held
    finally:
        if held:
            lock.release()
