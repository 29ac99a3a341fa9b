"""The reports of a request, and what follows from its answer: the protocol's table, with no I/O.

The device acts only on an answer that it recognises (D8). Everything else, from a captive portal's
page to a cut connection, means that the reports' fate is unknown: the same bytes are sent again.
Whatever comes, a report is sent ``MOST_SENDS`` times at most, and from the third on a day apart, so
that no answer, and no silence, makes a device call more often.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from deniable.client.sending.backoff import Backoff
from deniable.client.sending.transport import HttpAnswer
from deniable.client.survey import DAY
from deniable.messages import (
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_REPORTS,
    RefusalCode,
    UploadAnswer,
    read_problem,
)
from deniable.messages.refusals import Remedy

MOST_SENDS: Final = 6
"""How often a report is sent in its life (D8)."""
UNANSWERED: Final = "unanswered"
"""The verdict on a report of which no send brought an answer that ends it."""
REST_SECONDS: Final = DAY
"""How long a report rests before its third send, and before each later one."""
_QUICK_SENDS: Final = 2
_ARRAY_HEADER_BYTES: Final = 3
_MOST_EARLY_SENDS: Final = 3
_COARSE_SECONDS: Final = (60, 600, 3600)
_MOST_JITTER: Final = 1 / 4
LONGEST_REST: Final = REST_SECONDS * (1 + _MOST_JITTER)
"""No wait between two sends is longer, in seconds, once the report's epoch has begun."""


@dataclass(frozen=True, slots=True)
class PendingReport:
    """A report that waits to be sent; instants are Unix seconds."""

    name: str
    epoch: int  # with the name, its key in the state
    envelope: bytes = field(repr=False)  # the signed bytes, the same at every send
    starts: int  # when the epoch begins
    closes: int  # when the collector stops taking it
    attempts: int
    unanswered: int  # sends whose fate is unknown
    due: float
    held: float  # not before: the collector asked so, a day must pass, or the time was drawn
    renewable: bool = False  # another certificate may be asked for, if this one is refused
    renewing: bool = False  # it waits for that, and is not to be sent
    blind: bool = False  # it bears a token of blind enrolment


@dataclass(frozen=True, slots=True)
class Delivered:
    """The collector has the report.

    The verdict is ``accepted-or-duplicate`` where an answer to several does not tell which is what.
    """

    verdict: str


@dataclass(frozen=True, slots=True)
class Drop:
    """The report is of no more use: the collector's code, or why it is dropped."""

    verdict: str
    answered: bool = True  # whether this send was refused, not lost


@dataclass(frozen=True, slots=True)
class Resend:
    """Send the same bytes again at ``due``; not before ``held``, whoever flushes."""

    due: float
    held: float
    code: RefusalCode | None  # what this send was refused with; None if its fate is unknown
    alone: bool = False  # in a request of its own


@dataclass(frozen=True, slots=True)
class Enrol:
    """Its certificate was refused: ask for another for the same key, from ``due`` on."""

    due: float
    held: float


Step = Delivered | Drop | Resend | Enrol


def earliest_after(sends: int, now: float) -> float:
    """Return before when no other send may follow so many sends, the last of them now; 0 if any."""
    return now + REST_SECONDS if sends >= _QUICK_SENDS else 0.0


def is_due(report: PendingReport, now: float) -> bool:
    """Tell whether a report may be sent, and its time has come."""
    return not report.renewing and report.attempts < MOST_SENDS and report.due <= now >= report.held


def why_waits(report: PendingReport, now: float, *, due_only: bool) -> str:
    """Return why a flush did not try to send it, as ``Delivery.waiting`` has it."""
    if report.renewing:
        return "certificate"
    if report.held > now and not report.attempts:
        return "drawn-time"
    if report.held > now:
        return "next-day" if earliest_after(report.attempts, now) else "held"
    return "not-due" if due_only and report.due > now else "no-time"


def among(batch: Iterable[PendingReport], pending: Iterable[PendingReport]) -> list[PendingReport]:
    """Return the pending reports among a batch that was sent, as they are now."""
    keys = {(report.name, report.epoch) for report in batch}
    return [report for report in pending if (report.name, report.epoch) in keys]


def batch_of(due: Sequence[PendingReport], most: int) -> list[PendingReport]:
    """Return the first of these reports: at least one, and no more than a request may hold."""
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
) -> list[Step]:
    """Decide the next step of each report of a request from its answer, None if there is none."""
    code, verdicts = _verdicts(answer, len(sent))
    # About one report only if there was but one: bytes that rotted in the state make the whole
    # array malformed, and must not take the reports beside them with them.
    if code is not None and code.remedy is Remedy.SPLIT and len(sent) > 1:
        return [_again(report, now, now, code, 0.0, alone=True) for report in sent]
    retry_after = None if answer is None else _retry_after(answer.headers.get("retry-after", ""))
    # What was sent together goes on waiting together: one draw for all.
    waits = jitter(), (jitter() if retry_after is not None else 0.0)
    return [
        verdict
        if isinstance(verdict, Delivered)
        else _after_refusal(report, verdict, now, backoff, retry_after, waits)
        for report, verdict in zip(sent, verdicts, strict=True)
    ]


def _verdicts(
    answer: HttpAnswer | None, sent: int
) -> tuple[RefusalCode | None, Sequence[Delivered | RefusalCode | None]]:
    """Return an answer's code for the request, and its verdict on each report, if any (D8)."""
    if answer is None:
        return None, [None] * sent
    if answer.status != 200:
        code = read_problem(answer.body, answer.headers.get("content-type", ""), answer.status)
        return code, [code] * sent
    upload = UploadAnswer.from_json(answer.body, sent)
    if upload is None:
        return None, [None] * sent
    if upload.accepted and upload.duplicates:
        taken = Delivered("accepted-or-duplicate")
    else:
        taken = Delivered("accepted" if upload.accepted else "duplicate")
    refused = dict(upload.refused)
    return None, [refused.get(index, taken) for index in range(sent)]


def _after_refusal(
    report: PendingReport,
    code: RefusalCode | None,
    now: float,
    backoff: Backoff,
    retry_after: int | None,
    jitters: tuple[float, float],
) -> Step:
    renews = code is RefusalCode.NOT_ENROLLED and report.renewable
    if code is not None:
        drops = code.remedy in {Remedy.DROP, Remedy.SPLIT}
        late = code.remedy is Remedy.TOO_LATE
        if late or (drops and not (renews and report.attempts + 1 < MOST_SENDS)):
            # An issuer may have lost the collector's trust since an earlier send was counted.
            uncertain = report.unanswered and (late or code is RefusalCode.NOT_ENROLLED)
            return Drop("may-have-been-counted" if uncertain else code.value)
    later = now + backoff.seconds(report.attempts, jitters[0])
    if renews:
        return Enrol(later, earliest_after(report.attempts + 1, now))
    if code is RefusalCode.TOO_EARLY and report.attempts >= _MOST_EARLY_SENDS:
        later = max(later, report.starts)
    elif code is not None and retry_after is not None:
        later = max(later, now + retry_after * (1 + jitters[1] * _MOST_JITTER))
    return _again(report, now, later, code, jitters[0])


def _again(
    report: PendingReport,
    now: float,
    later: float,
    code: RefusalCode | None,
    jitter: float,
    *,
    alone: bool = False,
) -> Step:
    """Return a resend at this time or, if a day must pass first, after it; or the end of them."""
    sends = report.attempts + 1
    if sends >= MOST_SENDS:
        return Drop(UNANSWERED, answered=code is not None)
    rested = earliest_after(sends, now)
    if rested:
        later = max(later, rested + jitter * _MOST_JITTER * REST_SECONDS)
    # An answer asks not to come before its time; silence does not.
    held = later if rested or (code is not None and not alone) else 0.0
    return Resend(later, held, code, alone)


def _retry_after(value: str) -> int | None:
    # Rounded up to three coarse values, so that a collector cannot mark a device by its delay.
    if not (value.isascii() and value.isdigit()):
        return None
    seconds = int(value) if len(value) < 10 else _COARSE_SECONDS[-1]
    return next((coarse for coarse in _COARSE_SECONDS if seconds <= coarse), _COARSE_SECONDS[-1])
