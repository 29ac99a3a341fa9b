"""The consequences of the answer to a report's request: the protocol's table, with no I/O.

The device acts only on an answer that it recognises (D8). After everything else, from a captive
portal's page to a cut connection, the report's fate is unknown, and the same bytes are sent again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from deniable.client.sending.transport import HttpAnswer
from deniable.client.survey import DAY
from deniable.messages import RefusalCode, UploadAnswer, read_problem
from deniable.messages.refusals import Remedy

MOST_SENDS: Final = 6
"""How often a report is sent at most (D8)."""
UNANSWERED: Final = "unanswered"
"""The verdict on a report without a final answer to any send."""
UNSENT: Final = "epoch-over"
"""The verdict on a blind survey's report that could not leave in its own epoch."""
UNCERTAIN: Final = "may-have-been-counted"
"""The verdict on a report that failed after a send with an unknown result."""
REST_SECONDS: Final = DAY
"""How long a report rests before its third send, and before each later one."""
_QUICK_SENDS: Final = 2
_MOST_EARLY_SENDS: Final = 3
_COARSE_SECONDS: Final = (60, 600, 3600)
_MOST_JITTER: Final = 1 / 4
LONGEST_REST: Final = REST_SECONDS * (1 + _MOST_JITTER)
"""The longest wait between two sends, in seconds, once the report's epoch has begun."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """The seconds to wait before another try: exponential, capped, jittered.

    It determines when a report is sent for the second time, and when an issuer is asked again; a
    report's later sends are a day apart.
    """

    first: float = 30.0
    most: float = 3600.0

    def seconds(self, attempts: int, jitter: float) -> float:
        """Return the wait after this many sends; ``jitter`` in [0, 1) halves it at most."""
        return min(self.most, self.first * 2.0 ** min(attempts, 30)) * (1 - jitter / 2)


BACKOFF: Final = Backoff()
OFFLINE: Final = Backoff(first=5.0, most=600.0)
"""Between tries while nothing can leave the device: radio and processor belong to the user."""


@dataclass(frozen=True, slots=True)
class PendingReport:
    """A report that waits to be sent; instants are Unix seconds."""

    name: str
    epoch: int  # the report's key in the state, together with the name
    envelope: bytes = field(repr=False)  # the signed bytes, the same at every send
    starts: int  # when the epoch begins
    closes: int  # when the collector stops accepting the report
    attempts: int
    unanswered: int  # sends whose fate is unknown
    due: float
    held: float  # earliest time: the collector asked for it, a day must pass, or the time was drawn
    opens: float = 0.0  # earliest time, even for a flush
    until: float = inf  # never from then on
    # Whether it waits for another certificate, and is not to be sent; None if no other is possible.
    renewing: bool | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Return the report's key in the state."""
        return self.name, self.epoch

    @property
    def earliest(self) -> float:
        """Return the time before which the report is not sent, except by a flush."""
        return max(self.due, self.held, self.opens)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The collector has the report."""

    verdict: str


@dataclass(frozen=True, slots=True)
class Drop:
    """The report is useless: the collector's code, or the reason for dropping it."""

    verdict: str
    answered: bool = True  # whether this send was refused rather than lost


@dataclass(frozen=True, slots=True)
class Resend:
    """Send the same bytes again at ``due``; not before ``held``, even by a flush."""

    due: float
    held: float
    code: RefusalCode | None  # the refusal of this send; None if its fate is unknown


@dataclass(frozen=True, slots=True)
class Enrol:
    """The certificate was refused: request another for the same key, from ``due`` on."""

    due: float
    held: float


Step = Delivered | Drop | Resend | Enrol


def earliest_after(sends: int, now: float) -> float:
    """Return the earliest time of the next send after this many sends until now; 0 for no limit."""
    return now + REST_SECONDS if sends >= _QUICK_SENDS else 0.0


def is_due(report: PendingReport, now: float) -> bool:
    """Return whether a report may be sent and its time has come."""
    in_time = report.earliest <= now < report.until
    return in_time and not report.renewing and report.attempts < MOST_SENDS


def next_step(
    report: PendingReport,
    answer: HttpAnswer | None,
    now: float,
    backoff: Backoff,
    jitter: Callable[[], float],
) -> Step:
    """Decide the next step of a report from the answer to its request, or None for no answer."""
    verdict = _verdict(answer)
    if isinstance(verdict, Delivered):
        return verdict
    retry_after = None if answer is None else _retry_after(answer.headers.get("retry-after", ""))
    return _after_refusal(report, verdict, now, backoff, retry_after, jitter)


def _verdict(answer: HttpAnswer | None) -> Delivered | RefusalCode | None:
    """Return an answer's verdict on the one report that was sent, or None (D8)."""
    if answer is None:
        return None
    if answer.status != 200:
        return read_problem(answer.body, answer.headers.get("content-type", ""), answer.status)
    upload = UploadAnswer.from_json(answer.body, 1)
    if upload is None:
        return None
    if upload.refused:
        return upload.refused[0][1]
    return Delivered("accepted" if upload.accepted else "duplicate")


def _after_refusal(
    report: PendingReport,
    code: RefusalCode | None,
    now: float,
    backoff: Backoff,
    retry_after: int | None,
    jitter: Callable[[], float],
) -> Step:
    jitters = jitter(), (jitter() if retry_after is not None else 0.0)
    renews = code is RefusalCode.NOT_ENROLLED and report.renewing is False
    if code is not None:
        drops = code.remedy is Remedy.DROP
        late = code.remedy is Remedy.TOO_LATE
        if late or (drops and not (renews and report.attempts + 1 < MOST_SENDS)):
            # An earlier send may have been counted before the issuer lost the collector's trust.
            uncertain = report.unanswered and (late or code is RefusalCode.NOT_ENROLLED)
            return Drop(UNCERTAIN if uncertain else code.value)
    later = now + backoff.seconds(report.attempts, jitters[0])
    if renews:
        return Enrol(later, earliest_after(report.attempts + 1, now))
    if code is RefusalCode.TOO_EARLY and report.attempts >= _MOST_EARLY_SENDS:
        later = max(later, report.starts)
    elif code is not None and retry_after is not None:
        later = max(later, now + retry_after * (1 + jitters[1] * _MOST_JITTER))
    return _again(report, now, later, code, jitters[0])


def _again(
    report: PendingReport, now: float, later: float, code: RefusalCode | None, jitter: float
) -> Step:
    """Return a resend from ``later`` on, or after a day if one must pass; or the end of resends."""
    sends = report.attempts + 1
    if sends >= MOST_SENDS:
        return Drop(UNANSWERED, answered=code is not None)
    rested = earliest_after(sends, now)
    if rested:
        later = max(later, rested + jitter * _MOST_JITTER * REST_SECONDS)
    # An answer forbids an earlier send; silence does not.
    held = later if rested or code is not None else 0.0
    return Resend(later, held, code)


def _retry_after(value: str) -> int | None:
    # Rounded up to three coarse values, so that a collector cannot mark a device by its delay.
    if not (value.isascii() and value.isdigit()):
        return None
    seconds = int(value) if len(value) < 10 else _COARSE_SECONDS[-1]
    return next((coarse for coarse in _COARSE_SECONDS if seconds <= coarse), _COARSE_SECONDS[-1])


@dataclass(slots=True)
class Progress:
    """The progress of a flush: the reports sent so far."""

    due_only: bool
    delivered: int = 0
    dropped: int = 0
    _tried: set[tuple[str, int]] = field(default_factory=set)

    def may_send(self, report: PendingReport, now: float) -> bool:
        """Return whether a report may go now, even if it waits only to spread sends; but once."""
        due = report if self.due_only else replace(report, due=now)
        return report.key not in self._tried and is_due(due, now)

    def note(self, report: PendingReport, step: Step | None) -> None:
        """Note the next step of a report that was sent; None if nothing left the device."""
        self._tried.add(report.key)
        self.delivered += isinstance(step, Delivered)
        self.dropped += isinstance(step, Drop)
