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
    expired,
    next_step,
)
from deniable.client.errors import NotRecorded
from deniable.client.outbox import Outbox, PendingReport
from deniable.client.outcome import Delivery
from deniable.client.transport import Transport, TransportError
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
        chores: what the thread does besides, each time it wakes.
    """

    def __init__(
        self,
        outbox: Outbox,
        transport: Transport,
        clock: Clock,
        backoff: Backoff,
        jitter: Callable[[], float],
        chores: Callable[[], None],
    ) -> None:
        self._outbox = outbox
        self._transport = transport
        self._clock = clock
        self._backoff = backoff
        self._jitter = jitter
        self._chores = chores
        self._sending = threading.Lock()
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._reachable = True

    def start(self) -> None:
        """Start the thread, or wake it."""
        self._wake.set()
        if self._thread is None and not self._stopping:
            self._thread = threading.Thread(target=self._run, name="deniable", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread within a second; what waits stays in the state."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)

    def flush(self, timeout: float) -> Delivery:
        """Send now what waits, including what is due to be sent again within the timeout."""
        end = self._clock.monotonic() + timeout
        delivered = dropped = 0
        while self._clock.monotonic() < end:
            step, pause = self._send_next(flushing=True)
            delivered += isinstance(step, Delivered)
            dropped += isinstance(step, Drop)
            if step is None:
                if pause is None or pause > end - self._clock.monotonic():
                    break
                self._clock.sleep(max(pause, 0.001))
        now = self._clock.now()
        self._outbox.erase_settled(now)
        return Delivery(delivered, dropped, len(self._outbox.pending(now)))

    def _send_next(self, *, flushing: bool) -> tuple[Step | None, float | None]:
        """Send the report that is due first.

        Returns:
            What became of it, or None and the seconds until one is due (None if none waits).
        """
        with self._sending:
            now = self._clock.now()
            waiting = self._outbox.pending(now)
            for report in waiting:
                # What was never sent waits only to spread devices out in time: a flush overrides.
                if report.due <= now or (flushing and report.attempts == 0):
                    return self._send(report, now), None
            return None, waiting[0].due - now if waiting else None

    def _send(self, report: PendingReport, now: float) -> Step:
        step: Step
        if expired(report, now):
            step = Drop("may-have-been-counted" if report.unanswered else "expired")
        else:
            answer = self._post(report)
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

    def _post(self, report: PendingReport) -> HttpAnswer | None:
        try:
            answer = self._transport.request(
                "POST",
                "/v1/reports",
                {"Content-Type": "application/msgpack"},
                pack_upload([report.envelope]),
                MAX_ANSWER_BYTES,
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
                step, pause = self._send_next(flushing=False)
                if step is not None:
                    continue
                self._outbox.erase_settled(self._clock.now())
                nap = min(nap, pause) if pause is not None else nap
            except NotRecorded as error:
                _LOG.warning("reports wait: %s", error)
            self._wake.wait(nap)
