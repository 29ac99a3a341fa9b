"""Sending what waits: one report a request, on one lazy daemon thread or when flushed.

The thread exists only once there is something to send and consent to send it. It holds no data:
killing it at any instant loses nothing, since the outbox is in the state.
"""

import logging
import threading
from collections.abc import Callable

from deniable.client.clock import Clock
from deniable.client.delivery import (
    Backoff,
    Delivered,
    Drop,
    HttpAnswer,
    Step,
    longest_wait,
    next_step,
)
from deniable.client.errors import NotRecorded
from deniable.client.forks import keep_through_forks
from deniable.client.outbox import Outbox, PendingReport
from deniable.client.outcome import Delivery
from deniable.client.transport import REQUEST_SECONDS, Transport, TransportError
from deniable.messages import MAX_ANSWER_BYTES, pack_upload

__all__ = ["Uploader"]

_LOG = logging.getLogger("deniable")
_LONGEST_NAP = 3600.0


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
        chores: what the thread does besides, each time it wakes.
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
        chores: Callable[[], None],
    ) -> None:
        self._outbox = outbox
        self._transport = transport
        self._clock = clock
        self._backoff = backoff
        self._jitter = jitter
        self._spread = spread
        self._longest = longest
        self._chores = chores
        self._sending = threading.Lock()
        self._starting = threading.Lock()
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._reachable = True
        keep_through_forks(self)

    def before_fork(self, deadline: float) -> None:
        """Do nothing: a request may go on in the parent, and the state can wait for itself."""

    def after_fork(self, *, in_child: bool) -> None:
        """Have new locks and no thread in a child, where only the forking thread goes on."""
        if in_child:
            self._sending, self._starting = threading.Lock(), threading.Lock()
            self._wake = threading.Event()
            self._thread = None

    def start(self) -> None:
        """Start the thread, or wake it."""
        self._wake.set()
        with self._starting:
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

    def stop(self) -> None:
        """End the thread within a second; what waits stays in the state."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)

    def flush(self, timeout: float) -> Delivery:
        """Send now what waits, and again what fails, as often as the timeout allows.

        Only what the collector itself asked to wait with is left for later.
        """
        end = self._clock.monotonic() + timeout
        delivered = dropped = 0
        tried: set[tuple[str, int]] = set()
        while (left := end - self._clock.monotonic()) > 0:
            with self._sending:
                now = self._clock.now()
                waiting = self._outbox.pending(now)
                due = [report for report in waiting if self._is_due(report, now, tried)]
                if due:
                    tried.add((due[0].name, due[0].epoch))
                    step = self._send(due[0], min(left, REQUEST_SECONDS))
                    delivered += isinstance(step, Delivered)
                    dropped += isinstance(step, Drop)
                    continue
            pause = min((max(report.due, report.held) - now for report in waiting), default=left)
            if not waiting or pause >= left:
                break
            self._clock.sleep(max(pause, 0.001))
        now = self._clock.now()
        self._outbox.erase_settled(now)
        return Delivery(delivered, dropped, len(self._outbox.pending(now)))

    def _is_due(
        self, report: PendingReport, now: float, tried: set[tuple[str, int]] | None = None
    ) -> bool:
        """Tell whether to send it; ``tried`` is what a flush has sent, None outside of one."""
        longest = longest_wait(report, now, self._backoff) if report.attempts else self._longest
        if report.due > max(now + longest, report.starts):
            return True  # no wait is that long: the clock was put back since
        # What waits only to spread devices out in time, or for a network, is sent by a flush.
        flushed = tried is not None and (report.name, report.epoch) not in tried
        return report.held <= now if flushed else report.due <= now

    def _send(self, report: PendingReport, seconds: float) -> Step:
        answer = self._post(report, seconds)
        now = self._clock.now()
        step = next_step(report, answer, now, self._backoff, self._jitter)
        if isinstance(step, Delivered):
            self._outbox.settle(report, "delivered", step.verdict, now)
        elif isinstance(step, Drop):
            self._outbox.settle(report, "dropped", step.verdict, now)
            _LOG.warning("survey %s: a report was dropped: %s", report.name, step.verdict)
        else:
            self._outbox.postpone(report, step.due, answered=step.answered, now=now)
        return step

    def _post(self, report: PendingReport, seconds: float) -> HttpAnswer | None:
        try:
            answer = self._transport.request(
                "POST",
                "/v1/reports",
                {"Content-Type": "application/msgpack"},
                pack_upload([report.envelope]),
                MAX_ANSWER_BYTES,
                seconds,
            )
        except TransportError as error:
            if self._reachable:  # one line an outage, not one a report
                _LOG.warning("the collector cannot be reached (%s); reports wait", error)
            self._reachable = False
            return None
        self._reachable = True
        return answer

    def _run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            nap = _LONGEST_NAP
            try:
                self._chores()
                nap = min(nap, self._send_one())
            except NotRecorded as error:
                _LOG.info("reports wait: %s", error)  # the state has warned of its outage
            except Exception:  # noqa: BLE001 - a thread that ends would end sending for good
                _LOG.exception("reports wait, for an unforeseen reason")
            self._wake.wait(nap)

    def _send_one(self) -> float:
        """Send one report that is due; return the seconds until the next one is.

        The others that are due get new times: together they would be linked to each other (D7).
        """
        with self._sending:
            now = self._clock.now()
            due = [report for report in self._outbox.pending(now) if self._is_due(report, now)]
            if due:
                for other in due[1:]:
                    self._outbox.reschedule(other, now + self._spread(other.closes), now)
                self._send(due[0], REQUEST_SECONDS)
            else:
                self._outbox.erase_settled(now)
            now = self._clock.now()
            waiting = self._outbox.pending(now)
        return max(0.0, min((report.due - now for report in waiting), default=_LONGEST_NAP))
