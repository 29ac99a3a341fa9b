"""The journal: what this device stored and sent, and what it was told, for its user to see.

It holds responses, which were drawn at random, and never an answer: the device stores none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from deniable.budget import format_nano
from deniable.client.consent import ConsentRecord
from deniable.client.transparency.explanation import consent_lines
from deniable.client.transparency.figures import Figures
from deniable.client.transparency.plain_text import (
    labelled,
    printable,
    shown_day,
    shown_time,
    wrapped,
)

__all__ = [
    "EnrolmentEntry",
    "EventEntry",
    "Journal",
    "JournalEntry",
    "ManifestEntry",
    "MemoEntry",
    "PreviewEntry",
    "ReportEntry",
    "RotationEntry",
]

_ERASED: Final = "erased"
_VERDICTS: Final = {
    "accepted": "the collector has counted it",
    "duplicate": "the collector had counted it before",
    "accepted-or-duplicate": "the collector has counted it",
    "cap-age": "it waited too long on this device",
    "cap-bytes": "too much waited on this device",
    "cap-number": "too many reports waited on this device",
    "consent-withdrawn": "consent ended before it was delivered",
    "state-doubted": "the state may have been a copy or an old backup",
    "not-enrolled": "nobody vouched for this device",
    "purged": "it was erased at the user's wish",
    "unanswered": "no send of six brought an answer that ends it; it may have been counted",
    "may-have-been-counted": "the collector takes it no more; an earlier send went unanswered",
}
_PROOF: Final = "its signer signed another of the same number: devices may be shown different ones"

_SEEN: Final = "the account, the survey, the epoch and this device's key for it; no response"
_FORK: Final = "its signer handed over to another key as well, or had done so before"


@dataclass(frozen=True, slots=True)
class ReportEntry(Figures):
    """A report: the one decision about an epoch.

    Attributes:
        at: when it was decided, Unix seconds by this device's clock; once it is settled, only the
            day on which it was.
        survey: the survey's name.
        epoch: which.
        survey_id: 64 hex digits.
        collector: the origin that it is for.
        status: pending, delivered or dropped.
        verdict: the collector's last word, or why it was dropped here; a code.
        response: the category that was drawn, if the bytes and the survey are still there.
        content: the signed bytes, the same at every send; None once erased. A request's body is an
            array of such, in the protocol's encoding.
        sends: how often it was sent.
        unanswered: sends whose fate is unknown: the report may have been counted.
        due: when it is sent next, if it is pending.
        settled: the day on which it was delivered or dropped.
        starts, ends, closes: of the epoch, and until when the collector takes its reports.
        cost: in units of 1e-9 epsilon.
    """

    _kind: ClassVar = "report"
    _costs: ClassVar = ("cost",)

    at: int
    survey: str
    epoch: int
    survey_id: str
    collector: str
    status: str
    verdict: str
    response: str | None
    content: bytes | None = field(repr=False)
    sends: int
    unanswered: int
    due: float | None
    settled: int | None
    starts: int
    ends: int
    closes: int
    cost: int

    def to_dict(self) -> dict[str, Any]:
        """Return the entry for JSON; bytes are in hex, or "erased"."""
        told = Figures.to_dict(self)
        size = None if self.content is None else len(self.content)
        return {**told, "content": told["content"] or _ERASED, "size": size}

    def lines(self) -> list[str]:
        """Return the text, at 80 columns."""
        shown = shown_time if self.settled is None else shown_day
        text = f"report to {self.survey!r}, epoch {self.epoch}: {self.status}"
        lines = wrapped(f"{shown(self.at)}  {text}", rest="  ")
        if self.settled is not None:
            meaning = _VERDICTS.get(self.verdict)
            because = f"{self.verdict} ({meaning})" if meaning else self.verdict
            lines += labelled("Verdict", f"{because}, {shown_day(self.settled)}")
        elif self.due is not None:
            lines += labelled("Next send", f"not before {shown_time(self.due)}")
        unanswered = f", {self.unanswered} of them without an answer" if self.unanswered else ""
        lines += labelled("Sent", f"{_times(self.sends)}{unanswered}; to {self.collector}")
        lines += labelled("Cost", f"epsilon {format_nano(self.cost)}")
        return lines + _content_lines(self.response, self.content)


@dataclass(frozen=True, slots=True)
class PreviewEntry(Figures):
    """What would have been reported; consent was local, so it is never sent, and unsigned.

    Attributes:
        at: when it was drawn, Unix seconds.
        survey: the survey's name.
        epoch: which.
        response: the category that was drawn, if the survey is still known.
        content: what a report would sign.
    """

    _kind: ClassVar = "preview"

    at: int
    survey: str
    epoch: int
    response: str | None
    content: bytes = field(repr=False)

    def lines(self) -> list[str]:
        """Return the text, at 80 columns."""
        what = f"preview of a report to {self.survey!r}, epoch {self.epoch}: never sent"
        return _headline(self.at, what) + _content_lines(self.response, self.content)


@dataclass(frozen=True, slots=True)
class EventEntry(Figures):
    """What happened to the device besides.

    Attributes:
        at: Unix seconds.
        event: consent, purge, state-replaced, new-device and such; a code.
        detail: more of it.
    """

    _kind: ClassVar = "event"

    at: int
    event: str
    detail: str

    def lines(self) -> list[str]:
        """Return the text, at 80 columns."""
        return _headline(self.at, f"{self.event}: {self.detail}")


@dataclass(frozen=True, slots=True)
class ManifestEntry(Figures):
    """A signed survey that came: accepted, refused, or proof against its signer.

    Attributes:
        at: when it was first seen, Unix seconds.
        survey: its name.
        sequence: its number among those of that name.
        survey_id, authority: 64 hex digits each.
        role: accepted, refused or equivocating.
        reason: which rule it broke; empty if accepted.
        reserved: what accepting it set aside, in units of 1e-9 epsilon.
        content: the signed bytes, as they came.
        contradicted: the other signed bytes of the same sequence, of one that proves equivocation.
    """

    _kind: ClassVar = "manifest"
    _costs: ClassVar = ("reserved",)

    at: int
    survey: str
    sequence: int
    survey_id: str
    authority: str
    role: str
    reason: str
    reserved: int
    content: bytes = field(repr=False)
    contradicted: bytes | None = field(repr=False)

    def lines(self) -> list[str]:
        """Return the text, at 80 columns; of the bytes, only a proof's are shown."""
        what = f"survey {self.survey!r}, number {self.sequence}: {self.role}"
        lines = _headline(self.at, what)
        lines += labelled("Survey id", self.survey_id)
        lines += labelled("Signed by", self.authority)
        if self.reason:
            lines += labelled("Because", self.reason)
        if self.role == "accepted":
            lines += labelled("Set aside", f"epsilon {format_nano(self.reserved)}")
        if self.contradicted is not None:
            lines += labelled("Proof", _PROOF)
            lines += _bytes_lines("Bytes", self.content)
            lines += _bytes_lines("The other's", self.contradicted)
        return lines


@dataclass(frozen=True, slots=True)
class RotationEntry(Figures):
    """A hand-over of the key that signs surveys: followed, or proof against its signer.

    Attributes:
        at: when it was first seen, Unix seconds.
        old_key, new_key: 64 hex digits each.
        sequence: its number along the chain of keys.
        role: followed (the new key is trusted, for good) or forking.
        content: the bytes that both keys signed, as they came.
    """

    _kind: ClassVar = "rotation"

    at: int
    old_key: str
    new_key: str
    sequence: int
    role: str
    content: bytes = field(repr=False)

    def lines(self) -> list[str]:
        """Return the text, at 80 columns; of the bytes, only a proof's are shown."""
        lines = _headline(self.at, f"authority's key rotated, number {self.sequence}: {self.role}")
        lines += labelled("From", self.old_key)
        lines += labelled("To", self.new_key)
        if self.role == "forking":
            lines += labelled("Proof", _FORK)
            lines += _bytes_lines("Bytes", self.content)
        return lines


@dataclass(frozen=True, slots=True)
class EnrolmentEntry(Figures):
    """A certificate that was wanted for this device's key of an epoch.

    Attributes:
        at: when it was first wanted, Unix seconds.
        survey: the survey's name.
        epoch: which.
        survey_id: 64 hex digits.
        issuer: the public key of who gave the latest, 64 hex digits; None if nobody did.
        asks: how often the app was called to ask for it, each time telling its issuer the survey's
            id, the epoch and the key, in the account's name.
        content: the certificate; None before it came, and once it is erased.
        closes: when it is erased, Unix seconds.
    """

    _kind: ClassVar = "enrolment"

    at: int
    survey: str
    epoch: int
    survey_id: str
    issuer: str | None
    asks: int
    content: bytes | None = field(repr=False)
    closes: int

    def lines(self) -> list[str]:
        """Return the text, at 80 columns."""
        what = f"certificate for {self.survey!r}, epoch {self.epoch}: "
        if self.content is not None:
            what += "held"
        else:
            what += "none so far" if self.issuer is None else _ERASED
        lines = _headline(self.at, what)
        lines += labelled("Asked", f"the app's issuer, {_times(self.asks)}: it saw {_SEEN}")
        if self.issuer is not None:
            lines += labelled("Given by", self.issuer)
        if self.content is not None:
            lines += _bytes_lines("Bytes", self.content)
        return lines


JournalEntry = (
    ReportEntry | PreviewEntry | EventEntry | ManifestEntry | RotationEntry | EnrolmentEntry
)


@dataclass(frozen=True, slots=True)
class MemoEntry(Figures):
    """A key that keeps the responses of a range of epochs the same; it is never sent.

    Attributes:
        survey: the survey's name.
        survey_id: 64 hex digits.
        first: the range's first epoch.
        ends: the range's end, when the key is erased, Unix seconds.
        live: whether the key is still there.
        reports: decided under it.
    """

    survey: str
    survey_id: str
    first: int
    ends: int
    live: bool
    reports: int

    def lines(self) -> list[str]:
        """Return the text, at 80 columns."""
        fate = f"kept until {shown_time(self.ends)}" if self.live else _ERASED
        text = f"{self.survey!r} from epoch {self.first}: {fate}; used {_times(self.reports)}"
        return labelled("Memo key", text, indent=0)


@dataclass(frozen=True, slots=True)
class Journal(Figures):
    """All that this device stored and sent.

    ``str()`` gives text for a terminal, at 80 columns.

    Attributes:
        consent: the user's decision, and what holds.
        entries: newest last.
        dropped: how many reports were dropped, by reason.
        memos: keys of memoised surveys, which stay on the device.
    """

    consent: ConsentRecord
    entries: tuple[JournalEntry, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    memos: tuple[MemoEntry, ...] = ()

    def __str__(self) -> str:
        lines = consent_lines(self.consent)
        if not self.entries:
            return "\n".join([*lines, *labelled("Journal", "nothing was stored or sent", indent=0)])
        lines += labelled(
            "Responses",
            "drawn at random: each may or may not be the answer, which is stored nowhere",
            indent=0,
        )
        for entry in self.entries:
            lines += ["", *entry.lines()]
        lines.append("")
        if self.dropped:
            counts = ", ".join(f"{reason} {count}" for reason, count in self.dropped.items())
            lines += labelled("Dropped", counts, indent=0)
        for memo in self.memos:
            lines += memo.lines()
        return "\n".join(lines).rstrip("\n")


def _headline(at: int, text: str) -> list[str]:
    return wrapped(f"{shown_time(at)}  {text}", rest="  ")


def _content_lines(response: str | None, content: bytes | None) -> list[str]:
    if content is None:
        return labelled("Bytes", _ERASED)
    known = "of a survey that is not known any more" if response is None else printable(response)
    return labelled("Response", known) + _bytes_lines("Bytes", content)


def _bytes_lines(label: str, content: bytes) -> list[str]:
    text = content.hex()
    width = 64
    rows = [text[at : at + width] for at in range(0, len(text), width)] or [""]
    lines = labelled(label, f"{len(content):,}, in hex:")
    return lines + [line for row in rows for line in labelled("", row)]


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count:,} times")
