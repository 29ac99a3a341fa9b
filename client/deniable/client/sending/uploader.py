"""Sending what waits, on one lazy daemon thread or when flushed: one report a request, by default.

The thread exists only once there is something to send and consent to send it. It holds no data:
killing it at any instant loses nothing, since the outbox is in the state.
"""

import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from deniable.client.clock import Clock
from deniable.client.errors import NotRecorded, drop_frames
from deniable.client.outcome import Delivery
from deniable.client.sending.delivery import (
    Backoff,
    Delivered,
    Drop,
    Enrol,
    PendingReport,
    Split,
    Step,
    batch_of,
    longest_wait,
    next_steps,
)
from deniable.client.sending.outbox import Outbox
from deniable.client.sending.transport import REQUEST_SECONDS, HttpAnswer, Transport, TransportError
from deniable.client.sending.wake import Wake
from deniable.client.state.forks import keep_through_forks
from deniable.messages import MAX_ANSWER_BYTES, MAX_UPLOAD_REPORTS, pack_upload

__all__ = ["Uploader"]

_LOG = logging.getLogger("deniable")
_LONGEST_NAP: Final = 3600.0
_CLAIM_SECONDS: Final = 2 * REQUEST_SECONDS
_STOP_SECONDS: Final = 1.0


class Uploader:
    """Moves reports from the outbox to the collector.

    Args:
        outbox: where they wait.
        transport: how the collector is reached.
        clock: the device's time.
        backoff: how long to wait between sends of one report.
        jitter: returns a number in [0, 1).
        spread: given when a report closes, returns the seconds to wait with it, at random.
        longest: no wait before a first send is longer, in seconds.
        linkable_batches: send all that is due in one request, and so tell the collector that it
            comes from one device.
        chores: what the thread does besides, each time it wakes; returns the seconds until it is
            to wake again for that.
    """

    def __init__(
        self,
        outbox: Outbox,
        transport: Transport,
        clock: Clock,
        backoff: Backoff,
        jitter: Callable[[], float],
        spread: Callable[[float], float],
        longest: float,
        linkable_batches: bool,
        chores: Callable[[], float],
    ) -> None:
        self._outbox = outbox
        self._transport = transport
        self._clock = clock
        self._backoff = backoff
        self._jitter = jitter
        self._spread = spread
        self._longest = longest
        self._chores = chores
        # What a collector says is too large for one request is not tried again while this lives.
        self._most = MAX_UPLOAD_REPORTS if linkable_batches else 1
        self._linkable_batches = linkable_batches
        self._sending = threading.Lock()
        self._flushing = threading.Lock()
        self._starting = threading.Lock()
        self._wake = Wake()
        self._stopping = False
        self._interrupt = threading.Event()
        self._thread: threading.Thread | None = None
        self._outages: set[str] = set()
        keep_through_forks(self)

    def before_fork(self, deadline: float) -> None:
        """Do nothing: a request may go on in the parent, and the state can wait for itself."""

    def after_fork(self, *, in_child: bool) -> None:
        """Have new locks and no thread in a child, where only the forking thread goes on."""
        if in_child:
            self._sending, self._flushing = threading.Lock(), threading.Lock()
            self._starting = threading.Lock()
            self._wake, self._interrupt = Wake(), threading.Event()
            self._thread = None

    def start(self) -> None:
        """Start the thread, or wake it."""
        self._wake.set()
        if sys.is_finalizing():
            return  # a thread would never come to run, and Python 3.11 waits for it to
        if not self._starting.acquire(blocking=False):
            return  # it is being started, perhaps by what a signal's handler interrupted here
        try:
            running = self._thread is not None and self._thread.is_alive()
            if running or self._stopping:
                return
            thread = threading.Thread(target=self._run, name="deniable", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads: the next call tries again
                _LOG.warning("reports wait: %s", error)
            else:
                self._thread = thread
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

    def flush(self, timeout: float) -> Delivery:
        """Send now what waits, and again what fails, as often as the timeout allows.

        Only what the collector itself asked to wait with is left for later.
        """
        end, interrupt = self._clock.monotonic() + timeout, self._interrupt
        ends: Counter[type[Step]] = Counter()
        with _held(self._flushing, timeout) as alone:
            try:
                if alone:
                    self._flush(end, interrupt, ends)
                now = self._clock.now()
                self._outbox.erase_settled(now)
                waiting, dropped = len(self._outbox.pending(now)), self._outbox.dropped(now)
            except NotRecorded as error:
                _LOG.info("nothing could be sent: %s", error)  # the state has warned of its outage
                return Delivery(ends[Delivered], ends[Drop], None, drop_frames(error))
        return Delivery(ends[Delivered], ends[Drop], waiting, reasons=dropped)

    def _flush(self, end: float, interrupt: threading.Event, ends: Counter[type[Step]]) -> None:
        tried: set[tuple[str, int]] = set()
        while (left := end - self._clock.monotonic()) > 0 and not interrupt.is_set():
            with _held(self._sending, left) as alone:
                now = self._clock.now()
                waiting = self._outbox.pending(now) if alone else []
                due = [report for report in waiting if self._is_due(report, now, tried)]
                if due:
                    batch = batch_of(due, self._most)
                    steps = self._send(batch, min(left, REQUEST_SECONDS))
                    ends.update(map(type, steps))
                    if steps:
                        tried.update((report.name, report.epoch) for report in batch)
                    continue
            sendable = [report for report in waiting if not report.renewing]
            pause = min((max(report.due, report.held) - now for report in sendable), default=left)
            if not waiting or pause >= left:
                break
            self._clock.wait(interrupt, max(pause, 0.001))

    def _is_due(
        self, report: PendingReport, now: float, tried: set[tuple[str, int]] | None = None
    ) -> bool:
        """Tell whether to send it; ``tried`` is what a flush has sent, None outside of one."""
        if report.renewing:
            return False
        longest = longest_wait(report, now, self._backoff) if report.attempts else self._longest
        if report.due > max(now + longest, report.starts):
            return True  # no wait is that long: the clock was put back since
        # What waits only to spread devices out in time, or for a network, is sent by a flush.
        flushed = tried is not None and (report.name, report.epoch) not in tried
        return report.held <= now if flushed else report.due <= now

    def _send(self, batch: Sequence[PendingReport], seconds: float) -> list[Step]:
        """Send one request; return what followed for each report.

        Nothing if it was split, or not sent: the user, or another process, came in between.
        """
        if not self._outbox.begin_sending(batch, self._clock.now()):
            return []
        answer = self._post(batch, seconds)
        now = self._clock.now()
        steps = next_steps(batch, answer, now, self._backoff, self._jitter)
        if isinstance(steps, Split):
            self._outbox.split(batch, now)
            self._most = max(1, len(batch) // 2)
            return []
        self._outbox.follow(zip(batch, steps, strict=True), now)
        drops = Counter(
            (report.name, step.verdict)
            for report, step in zip(batch, steps, strict=True)
            if isinstance(step, Drop)
        )
        for (name, verdict), count in sorted(drops.items()):
            _LOG.warning("survey %s: %d report(s) dropped: %s", name, count, verdict)
        if any(isinstance(step, Enrol) for step in steps):
            self._wake.set()  # another certificate is a chore
        return steps

    def _post(self, batch: Sequence[PendingReport], seconds: float) -> HttpAnswer | None:
        try:
            answer = self._transport.request(
                "POST",
                "/v1/reports",
                {"Content-Type": "application/msgpack"},
                pack_upload([report.envelope for report in batch]),
                MAX_ANSWER_BYTES,
                seconds,
            )
        except TransportError as error:
            self._warn_once("network", f"the collector cannot be reached ({error})")
            return None
        self._outages.discard("network")
        return answer

    def _warn_once(self, outage: str, why: object) -> None:
        """Log one line an outage, not one a report or an attempt."""
        if outage not in self._outages:
            self._outages.add(outage)
            _LOG.warning("reports wait: %s", why)

    def _run(self) -> None:
        while True:
            self._wake.clear()
            if self._is_stopping():  # after clear: or a stop that comes between is not heard
                return
            nap = _LONGEST_NAP
            try:
                again = self._chores()
                if self._is_stopping():  # the chores may have waited for the network
                    return
                nap = min(nap, again, self._send_due())
                self._outages.discard("unforeseen")
            except NotRecorded as error:
                _LOG.info("reports wait: %s", error)  # the state has warned of its outage
            except Exception as error:  # noqa: BLE001 - a thread that ends would end sending for good
                self._warn_once("unforeseen", f"unforeseen {type(error).__name__}")
                _LOG.debug("what was not foreseen", exc_info=True)
            self._wake.wait(nap)

    def _is_stopping(self) -> bool:
        return self._stopping  # asked anew each time: another thread sets it

    def _send_due(self) -> float:
        """Send one report that is due, or one batch; return the seconds until the next is.

        The others that are due get new times: together they would be linked to each other (D7).
        """
        with self._sending:
            now = self._clock.now()
            due = [report for report in self._outbox.pending(now) if self._is_due(report, now)]
            if due:
                batch = batch_of(due, self._most)
                others = [] if self._linkable_batches else due[len(batch) :]
                later = [(other, now + self._spread(other.closes)) for other in others]
                claimed = self._outbox.claim(batch, now + _CLAIM_SECONDS, later, now)
                if claimed:
                    self._send(claimed, REQUEST_SECONDS)
            else:
                self._outbox.erase_settled(now)
            now = self._clock.now()
            waiting = self._outbox.pending(now)
        dues = [report.due - now for report in waiting if not report.renewing]
        return max(0.0, min(dues, default=_LONGEST_NAP))


@contextmanager
def _held(lock: threading.Lock, seconds: float) -> Iterator[bool]:
    """Hold a lock, if it can be had in this time; tell whether it could."""
    held = lock.acquire(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX))
    try:
        yield held
    finally:
        if held:
            lock.release()
