"""One request: counted, made, and what came of it recorded.

While nothing leaves the device, since there is no route or the name is not resolved, nobody else
knows of it: such tries are not counted as sends, and follow each other soon (D8).
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from deniable.client.clock import Clock
from deniable.client.sending.backoff import Backoff
from deniable.client.sending.delivery import (
    Drop,
    PendingReport,
    Resend,
    Step,
    next_steps,
)
from deniable.client.sending.outbox import Outbox
from deniable.client.sending.transport import REQUEST_SECONDS, HttpAnswer, Transport, TransportError
from deniable.messages import MAX_ANSWER_BYTES, pack_upload

__all__ = ["Sender", "Sent"]

_LOG = logging.getLogger("deniable")
_CLAIM_SECONDS: Final = 2 * REQUEST_SECONDS
_OFFLINE: Final = Backoff(first=5.0, most=45.0)


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of one request.

    Attributes:
        steps: what follows for each report; none if nothing left the device.
        reasons: why each still waits, in the same order; empty where it does not.
    """

    steps: Sequence[Step]
    reasons: Sequence[str]


class _CalledOff(Exception):
    """The user, or another process, came between the choice of a report and its sending."""


class Sender:
    """Sends reports of the outbox, one request at a time.

    Args:
        outbox: where they wait.
        transport: how the collector is reached.
        clock: the device's time.
        backoff: how long to wait between the first two sends of a report.
        jitter: returns a number in [0, 1).
    """

    def __init__(
        self,
        outbox: Outbox,
        transport: Transport,
        clock: Clock,
        backoff: Backoff,
        jitter: Callable[[], float],
    ) -> None:
        self._outbox = outbox
        self._transport = transport
        self._clock = clock
        self._backoff = backoff
        self._jitter = jitter
        self._warned = False
        self._unsent = 0
        self._rests_until = 0.0

    def rest(self) -> float:
        """Return the seconds for which it is of no use to try again: the device is offline."""
        return max(0.0, self._rests_until - self._clock.monotonic()) if self._unsent else 0.0

    def send(
        self,
        batch: Sequence[PendingReport],
        seconds: float,
        others: Iterable[tuple[PendingReport, float]] = (),
    ) -> Sent | None:
        """Send one request.

        Args:
            batch: the reports that it holds.
            seconds: that it may take.
            others: reports that are due as well, and their new times.

        Returns:
            None if the user, or another process, came in between: then nothing was sent.
        """
        began = self._clock.now()
        if not self._outbox.begin(batch, began + _CLAIM_SECONDS, began, others):
            return None
        started = self._clock.monotonic()
        answer, why = None, "unrecognised-answer"
        try:
            answer = self._post(batch, seconds)
        except _CalledOff:
            self._outbox.take_back(batch, self._clock.now())
            return None
        except TransportError as error:
            why = f"unreachable: {error}"
            if not self._warned:  # one line an outage, not one a report or an attempt
                _LOG.warning("reports wait: the collector cannot be reached (%s)", error)
            self._warned = True
            if error.unsent:
                self._outbox.take_back(batch, self._clock.now())
                # From the start of one try to that of the next: resolvers may take long to fail.
                wait = _OFFLINE.seconds(self._unsent, self._jitter())
                self._rests_until = started + wait
                self._unsent += 1
                return Sent((), [why] * len(batch))
        else:
            self._warned = False
        self._unsent = 0
        now = self._clock.now()
        steps = next_steps(batch, answer, now, self._backoff, self._jitter)
        self._outbox.follow(zip(batch, steps, strict=True), now)
        _log_drops(batch, steps)
        return Sent(steps, [_reason(step, why) for step in steps])

    def _post(self, batch: Sequence[PendingReport], seconds: float) -> HttpAnswer:
        def check() -> None:
            if not self._outbox.still_wait(batch, self._clock.now()):
                raise _CalledOff

        return self._transport.request(
            "POST",
            "/v1/reports",
            {"Content-Type": "application/msgpack"},
            pack_upload([report.envelope for report in batch]),
            MAX_ANSWER_BYTES,
            seconds,
            before_body=check,
        )


def _reason(step: Step, why: str) -> str:
    if not isinstance(step, Resend):
        return ""
    return why if step.code is None else step.code.value


def _log_drops(batch: Sequence[PendingReport], steps: Sequence[Step]) -> None:
    drops = Counter(
        (report.name, step.verdict)
        for report, step in zip(batch, steps, strict=True)
        if isinstance(step, Drop)
    )
    for (name, verdict), count in sorted(drops.items()):
        _LOG.warning("survey %s: %d report(s) dropped: %s", name, count, verdict)
