"""What goes into a request, and what follows from its answer: the protocol's table, with no I/O.

The device acts only on an answer that it recognises (D8). Everything else, from a captive portal's
page to a cut connection, means that the reports' fate is unknown: the same bytes are sent again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from deniable.client.sending.transport import HttpAnswer
from deniable.client.survey import DAY
from deniable.messages import (
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_REPORTS,
    RefusalCode,
    UploadAnswer,
    read_problem,
)

__all__ = [
    "Backoff",
    "Delivered",
    "Drop",
    "Enrol",
    "PendingReport",
    "Resend",
    "Split",
    "Step",
    "batch_of",
    "longest_wait",
    "next_steps",
]

_ARRAY_HEADER_BYTES: Final = 3
_MOST_EARLY_SENDS: Final = 3
_COARSE_SECONDS: Final = (60, 600, 3600)
_MOST_JITTER: Final = 1 / 4


@dataclass(frozen=True, slots=True)
class PendingReport:
    """A report that waits to be sent.

    Attributes:
        name: the survey's name.
        epoch: the decided epoch; with the name, its key in the state.
        envelope: the signed bytes, the same at every send.
        starts: when the epoch begins, Unix seconds.
        closes: when the collector stops taking it, Unix seconds.
        attempts: sends so far.
        unanswered: sends whose fate is unknown.
        due: when to send next, Unix seconds.
        held: not before, because the collector asked so, Unix seconds.
        renewable: whether another certificate may be asked for, if this one is refused.
        renewing: whether it waits for that, and is not to be sent.
    """

    name: str
    epoch: int
    envelope: bytes = field(repr=False)
    starts: int
    closes: int
    attempts: int
    unanswered: int
    due: float
    held: float
    renewable: bool = False
    renewing: bool = False


@dataclass(frozen=True, slots=True)
class Delivered:
    """The collector has the report.

    Attributes:
        verdict: ``accepted`` or ``duplicate``; ``accepted-or-duplicate`` where an answer to several
            reports does not tell which were which.
    """

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


@dataclass(frozen=True, slots=True)
class Enrol:
    """Its certificate was refused: ask for another for the same key, from ``due`` on."""

    due: float


@dataclass(frozen=True, slots=True)
class Split:
    """Nothing became of any report of a request: send them again at once, in smaller ones."""


Step = Delivered | Drop | Resend | Enrol


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
        RefusalCode.TOO_LARGE,
        RefusalCode.UNSUPPORTED_MEDIA_TYPE,
    }
)
_SPLIT: Final = frozenset(
    {
        RefusalCode.TOO_LARGE,
        # Bytes that rotted in the state make the whole array malformed; they must not take the
        # reports beside them with them.
        RefusalCode.MALFORMED,
    }
)
"""Refusals of a whole request that are about one report only if there was but one."""
_TOO_LATE: Final = frozenset({RefusalCode.EPOCH_CLOSED, RefusalCode.SURVEY_ENDED})


def batch_of(due: Sequence[PendingReport], most: int) -> list[PendingReport]:
    """Return the first of these reports, as many as one request may hold: at least one.

    Args:
        due: what to send; not empty.
        most: how many at most, at least 1.
    """
    batch = [due[0]]
    size = _ARRAY_HEADER_BYTES + len(due[0].envelope)
    for report in due[1 : min(most, MAX_UPLOAD_REPORTS)]:
        size += len(report.envelope)
        if size > MAX_UPLOAD_BYTES:
            break
        batch.append(report)
    return batch


def next_steps(
    sent: Sequence[PendingReport],
    answer: HttpAnswer | None,
    now: float,
    backoff: Backoff,
    jitter: Callable[[], float],
) -> list[Step] | Split:
    """Decide what follows for each report from the answer to the one request that held them.

    Args:
        sent: the request's reports, in its order; not empty.
        answer: what came back; None if nothing did.
        now: Unix seconds.
        backoff: the waiting rule.
        jitter: returns a number in [0, 1).
    """
    verdicts = _verdicts(answer, len(sent))
    if isinstance(verdicts, Split):
        return verdicts
    asked = _retry_after(answer.headers.get("retry-after", "")) if answer is not None else None
    # What was sent together goes on waiting together: one draw for all.
    waits = jitter(), (jitter() if asked is not None else 0.0)
    return [
        verdict
        if isinstance(verdict, Delivered)
        else _after_refusal(report, verdict, now, backoff, asked, waits)
        for report, verdict in zip(sent, verdicts, strict=True)
    ]


def _verdicts(
    answer: HttpAnswer | None, sent: int
) -> Sequence[Delivered | RefusalCode | None] | Split:
    """Return what the answer says of each report: None where it is not recognised (D8)."""
    if answer is None:
        return [None] * sent
    if answer.status != 200:
        code = read_problem(answer.body, answer.headers.get("content-type", ""), answer.status)
        return Split() if code in _SPLIT and sent > 1 else [code] * sent
    upload = UploadAnswer.from_json(answer.body, sent)
    if upload is None:
        return [None] * sent
    if upload.accepted and upload.duplicates:
        taken = Delivered("accepted-or-duplicate")
    else:
        taken = Delivered("accepted" if upload.accepted else "duplicate")
    refused = dict(upload.refused)
    return [refused.get(index, taken) for index in range(sent)]


def _after_refusal(
    report: PendingReport,
    code: RefusalCode | None,
    now: float,
    backoff: Backoff,
    asked: int | None,
    jitters: tuple[float, float],
) -> Step:
    later = now + backoff.seconds(report.attempts, jitters[0])
    if _seems_too_late(report, now):
        later = max(later, now + DAY)
    if code is None:
        return Resend(later, answered=False)
    if code is RefusalCode.NOT_ENROLLED and report.renewable:
        return Enrol(later)
    if code in _DROPPED:
        return Drop(code.value)
    if code in _TOO_LATE or (code is RefusalCode.UNKNOWN_SURVEY and _seems_too_late(report, now)):
        return Drop("may-have-been-counted" if report.unanswered else code.value)
    if code is RefusalCode.TOO_EARLY and report.attempts >= _MOST_EARLY_SENDS:
        return Resend(max(later, report.starts), answered=True)
    if asked is not None:
        later = max(later, now + asked * (1 + jitters[1] * _MOST_JITTER))
    return Resend(later, answered=True)


def longest_wait(report: PendingReport, now: float, backoff: Backoff) -> float:
    """Return the longest time between two sends, in seconds, once the report's epoch has begun."""
    if _seems_too_late(report, now):
        return DAY
    return max(backoff.most, _COARSE_SECONDS[-1] * (1 + _MOST_JITTER))


def _seems_too_late(report: PendingReport, now: float) -> bool:
    # By this clock, which may be wrong: it alone ends no report. The collector is asked once a day.
    return now >= report.closes + DAY


def _retry_after(value: str) -> int | None:
    # Rounded up to three coarse values, so that a collector cannot mark a device by its delay.
    if not (value.isascii() and value.isdigit()):
        return None
    seconds = int(value) if len(value) < 10 else _COARSE_SECONDS[-1]
    return next((coarse for coarse in _COARSE_SECONDS if seconds <= coarse), _COARSE_SECONDS[-1])
