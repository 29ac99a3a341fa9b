"""What the device does after a send: the protocol's table of codes, with no I/O (D8).

The device acts only on an answer that it recognises. Everything else, from a captive portal's page
to a cut connection, means that the report's fate is unknown: the same bytes are sent again later.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from deniable.client.outbox import PendingReport
from deniable.client.survey import DAY
from deniable.messages import RefusalCode, UploadAnswer, read_problem

__all__ = [
    "Backoff",
    "Delivered",
    "Drop",
    "HttpAnswer",
    "Resend",
    "Step",
    "longest_wait",
    "next_step",
]

_MOST_EARLY_SENDS: Final = 3
_COARSE_SECONDS: Final = (60, 600, 3600)
_MOST_JITTER: Final = 1 / 4


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP answer, as a transport returns it.

    Attributes:
        status: the status code.
        headers: by lower-case name.
        body: at most as many bytes as the transport was told to take.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The collector has the report; ``verdict`` is accepted or duplicate."""

    verdict: str


@dataclass(frozen=True, slots=True)
class Drop:
    """The report is of no more use; ``verdict`` is the collector's code, or why it is dropped."""

    verdict: str


@dataclass(frozen=True, slots=True)
class Resend:
    """Send the same bytes again at ``due``; ``answered``: this send was refused, not lost."""

    due: float
    answered: bool


Step = Delivered | Drop | Resend


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before another send: exponential, capped, jittered.

    Attributes:
        first: seconds before the second send.
        most: the longest wait in seconds.
    """

    first: float = 30.0
    most: float = 3600.0

    def seconds(self, attempts: int, jitter: float) -> float:
        """Return the wait after so many sends; ``jitter`` in [0, 1) halves it at most."""
        return min(self.most, self.first * 2.0 ** min(attempts, 30)) * (1 - jitter / 2)


_DROPPED: Final = frozenset(
    {
        RefusalCode.MALFORMED,
        RefusalCode.BAD_KEY,
        RefusalCode.BAD_SIGNATURE,
        RefusalCode.NOT_ENROLLED,
        RefusalCode.OUT_OF_DOMAIN,
        RefusalCode.REPORT_CONFLICT,
        # A request of one report cannot be split.
        RefusalCode.TOO_LARGE,
        RefusalCode.UNSUPPORTED_MEDIA_TYPE,
    }
)
_TOO_LATE: Final = frozenset({RefusalCode.EPOCH_CLOSED, RefusalCode.SURVEY_ENDED})


def next_step(
    report: PendingReport,
    answer: HttpAnswer | None,
    now: float,
    backoff: Backoff,
    jitter: Callable[[], float],
) -> Step:
    """Decide what follows from an answer to a request of this one report.

    Args:
        report: what was sent.
        answer: what came back; None if nothing did.
        now: Unix seconds.
        backoff: the waiting rule.
        jitter: returns a number in [0, 1).
    """
    later = now + backoff.seconds(report.attempts, jitter())
    if _seems_too_late(report, now):
        later = max(later, now + DAY)
    code = None
    if answer is not None and answer.status == 200:
        upload = UploadAnswer.from_json(answer.body, sent=1)
        if upload is not None and not upload.refused:
            return Delivered("accepted" if upload.accepted else "duplicate")
        code = upload.refused[0][1] if upload is not None else None
    elif answer is not None:
        code = read_problem(answer.body, answer.headers.get("content-type", ""), answer.status)
    if answer is None or code is None:
        return Resend(later, answered=False)
    if code in _DROPPED:
        return Drop(code.value)
    if code in _TOO_LATE:
        return Drop("may-have-been-counted" if report.unanswered else code.value)
    if code is RefusalCode.TOO_EARLY and report.attempts >= _MOST_EARLY_SENDS:
        return Resend(max(later, report.starts), answered=True)
    wait = _retry_after(answer.headers.get("retry-after", ""))
    if wait is not None:
        later = max(later, now + wait * (1 + jitter() * _MOST_JITTER))
    return Resend(later, answered=True)


def longest_wait(report: PendingReport, now: float, backoff: Backoff) -> float:
    """Return the longest time between two sends, in seconds, once the report's epoch has begun."""
    if _seems_too_late(report, now):
        return DAY
    return max(backoff.most, _COARSE_SECONDS[-1] * (1 + _MOST_JITTER))


def _seems_too_late(report: PendingReport, now: float) -> bool:
    # By this clock, which may be wrong: only the collector ends a report. It is asked once a day.
    return now >= report.closes + DAY


def _retry_after(value: str) -> int | None:
    # Rounded up to three coarse values, so that a collector cannot mark a device by its delay.
    if not (value.isascii() and value.isdigit()):
        return None
    seconds = int(value) if len(value) < 10 else _COARSE_SECONDS[-1]
    return next((coarse for coarse in _COARSE_SECONDS if seconds <= coarse), _COARSE_SECONDS[-1])
