"""The journal: what this device stored, sent and received, for its user to see.

It contains responses, which were drawn at random, and never an answer: the device stores none. Each
kind of entry is one table of the state: its query names the fields, its rows are the text.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, partial
from typing import Any, ClassVar, Final, TypeVar, get_args

from deniable.budget import format_nano
from deniable.client.consent import ConsentRecord
from deniable.client.explaining.explain import held_manifest
from deniable.client.explaining.explanation import consent_lines
from deniable.client.state.state import State
from deniable.client.survey import DAY
from deniable.messages import Manifest, Refusal, SignedReport, day_text, instant_text
from deniable.terms.text import Disclosure, Row, labelled, printable, text_of, wrapped

_ERASED: Final = "erased"
_DRAWN: Final = (
    "drawn at random: each may or may not match the answer, which is not stored anywhere"
)
_VERDICTS: Final = {
    "accepted": "the collector has counted the report",
    "duplicate": "the collector had counted the report before",
    "too-old": "the report waited too long on this device",
    "consent-withdrawn": "consent ended before the report was delivered",
    "state-doubted": "the state may have been a copy or an old backup",
    "not-enrolled": "nobody vouched for this device",
    "forbidden": "the collector refuses reports sent this way, but may accept reports from a relay",
    "purged": "the user erased the report",
    "unanswered": "six attempts got no final answer; the report may have been counted",
    "may-have-been-counted": "the report was too late; an earlier send may have been counted",
    "epoch-over": "the report could not be sent in its own epoch, and a later epoch would reveal "
    "whose report it is",
}
_PROOF: Final = (
    "two surveys have the same sequence and signer, so devices may see different surveys"
)
_SEEN: Final = "the account, the survey, the epoch and this device's key for it; no response"
_SEEN_BLINDLY: Final = (
    "the account, the survey, the epoch and a value that never reveals this device's key; no "
    "response"
)


@dataclass(frozen=True, slots=True)
class _Entry(Disclosure):
    """An entry with its time, in Unix seconds by this device's clock."""

    _query: ClassVar[str]

    at: int

    def lines(self) -> list[str]:
        """Return the text, at 80 columns."""
        title, rows = self._text()
        return [*wrapped(f"{self._when()}  {title}", rest="  "), *text_of(rows)]

    def _when(self) -> str:
        return instant_text(self.at)

    def _text(self) -> tuple[str, list[Row]]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ReportEntry(_Entry):
    """A report: the one decision about an epoch. Once it is settled, ``at`` is the day only."""

    _kind: ClassVar = "report"
    _costs: ClassVar = ("cost",)
    _query: ClassVar = (
        "SELECT decided AS at, name AS survey, epoch, survey_id, origin AS collector, status,"
        " verdict, envelope AS content, attempts AS sends, unanswered,"
        " CASE status WHEN 'pending' THEN due END AS due, settled, starts, ends, closes, cost,"
        " relayed FROM decisions ORDER BY name, epoch"
    )

    survey: str
    epoch: int
    survey_id: str
    collector: str  # the origin of its collector
    status: str  # pending, delivered or dropped
    verdict: str  # the collector's final code, or the reason for dropping it
    response: str | None  # the drawn response, if the bytes and the survey are still there
    content: bytes | None = field(repr=False)  # the signed bytes; a request is an array of these
    sends: int
    unanswered: int  # sends whose fate is unknown: the report may have been counted
    due: float | None  # when the report is sent next, if it is pending
    settled: int | None  # the day on which the report was delivered or dropped
    starts: int
    ends: int
    closes: int  # when the collector stops accepting the report
    cost: int
    relayed: bool  # whether it was decided with a relay, and is only sent through one

    def to_dict(self) -> dict[str, Any]:
        """Return the entry for JSON; bytes are in hex, or "erased"."""
        values = Disclosure.to_dict(self)
        size = None if self.content is None else len(self.content)
        return {**values, "content": values["content"] or _ERASED, "size": size}

    def _when(self) -> str:
        return instant_text(self.at) if self.settled is None else day_text(self.at)

    def _text(self) -> tuple[str, list[Row]]:
        meaning = _VERDICTS.get(self.verdict)
        because = f"{self.verdict} ({meaning})" if meaning else self.verdict
        settled = "" if self.settled is None else f"{because}, {day_text(self.settled)}"
        waits = self.settled is None and self.due is not None
        unanswered = f", {self.unanswered} unanswered" if self.unanswered else ""
        by = ", through a relay only" if self.relayed else ""
        return f"report to {self.survey!r}, epoch {self.epoch}: {self.status}", [
            ("Verdict", settled),
            ("Last answer", because if self.settled is None else ""),
            ("Next send", f"not before {instant_text(self.due or 0)}" if waits else ""),
            ("Attempts", f"{self.sends}{unanswered}; to {self.collector}{by}"),
            ("Cost", f"epsilon {format_nano(self.cost)}"),
            *_content(self.response, self.content),
        ]


@dataclass(frozen=True, slots=True)
class EventEntry(_Entry):
    """An event other than reports: consent, purge, state-replaced, new-device and so on."""

    _kind: ClassVar = "event"
    _query: ClassVar = "SELECT at, kind AS event, detail FROM events ORDER BY number"

    event: str  # a code
    detail: str

    def _text(self) -> tuple[str, list[Row]]:
        return f"{self.event}: {self.detail}", []


@dataclass(frozen=True, slots=True)
class ManifestEntry(_Entry):
    """A signed survey that was received: accepted, replaced, refused, or evidence of fraud."""

    _kind: ClassVar = "manifest"
    _costs: ClassVar = ("reserved",)
    _query: ClassVar = (
        "SELECT m.seen AS at, m.name AS survey, m.sequence, m.survey_id, m.signer AS authority,"
        " m.role, m.reason, m.reserved, m.envelope AS content,"
        " (SELECT o.envelope FROM manifests o WHERE m.role = 'equivocating'"
        " AND o.authority = m.authority AND o.name = m.name AND o.sequence = m.sequence"
        " AND o.role != 'equivocating' LIMIT 1) AS contradicted"
        " FROM manifests m ORDER BY m.name, m.sequence"
    )

    survey: str
    sequence: int  # the survey's number among those of that name
    survey_id: str
    authority: str
    role: str
    reason: str  # the rule that the survey broke; empty if accepted
    reserved: int  # the reservation for accepting the survey
    content: bytes = field(repr=False)
    contradicted: bytes | None = field(repr=False)  # the other survey with this sequence, as proof

    def _text(self) -> tuple[str, list[Row]]:
        accepted, proof = self.role == "accepted", self.contradicted is not None
        return f"survey {self.survey!r}, sequence {self.sequence}: {self.role}", [
            ("Survey id", self.survey_id),
            ("Signed by", self.authority),
            ("Because", self.reason),
            ("Set aside", f"epsilon {format_nano(self.reserved)}" if accepted else ""),
            ("Proof", _PROOF if proof else ""),
            ("Bytes", self.content if proof else None),
            ("The other's", self.contradicted),
        ]


@dataclass(frozen=True, slots=True)
class RotationEntry(_Entry):
    """A rotation of the key that signs surveys: followed, or evidence of fraud."""

    _kind: ClassVar = "rotation"
    _query: ClassVar = (
        "SELECT seen AS at, old_key, new_key, sequence, role, envelope AS content FROM authorities"
        " ORDER BY seen, sequence, new_key"
    )

    old_key: str
    new_key: str
    sequence: int  # in the chain of keys
    role: str  # followed (the new key is trusted, for good) or forking
    content: bytes = field(repr=False)  # the bytes that both keys signed, as received

    def _text(self) -> tuple[str, list[Row]]:
        forking = self.role == "forking"
        return f"authority's key rotated, sequence {self.sequence}: {self.role}", [
            ("From", self.old_key),
            ("To", self.new_key),
            ("Proof", "its signer has handed over to two keys" if forking else ""),
            ("Bytes", self.content if forking else None),
        ]


@dataclass(frozen=True, slots=True)
class EnrolmentEntry(_Entry):
    """A certificate or token that was wanted for this device's key in an epoch."""

    _kind: ClassVar = "enrolment"
    _query: ClassVar = (
        "SELECT wanted AS at, name AS survey, epoch, survey_id, issuer, asks,"
        " credential AS content, closes, blind, EXISTS(SELECT 1 FROM decisions d WHERE"
        " d.name = c.name AND d.epoch = c.epoch AND instr(d.envelope, c.credential)) AS reported"
        " FROM credentials c ORDER BY name, epoch, wanted"
    )

    survey: str
    epoch: int
    survey_id: str
    issuer: str | None  # the issuer of the latest: a public key; for a token, its name's digest
    asks: int  # how often the app was asked to request it from its issuer
    content: bytes | None = field(repr=False)  # None before arrival and after erasure
    closes: int  # when the credential is erased
    blind: bool  # whether the credential is a token, whose issuer never saw the key
    reported: bool  # whether a report's bytes contain it
    issuer_name: str | None  # for a token, if the survey is still there

    def _text(self) -> tuple[str, list[Row]]:
        held = "held" if self.content else _ERASED if self.issuer else "none so far"
        kind = "token" if self.blind else "certificate"
        ending = "the last bytes of the report" if self.reported else self.content
        saw = f": it saw {_SEEN_BLINDLY if self.blind else _SEEN}" if self.asks else ""
        return f"{kind} for {self.survey!r}, epoch {self.epoch}: {held}", [
            ("Asked", f"the app's issuer, {_times(self.asks)}{saw}"),
            ("Given by", self.issuer and (self.issuer_name or self.issuer)),
            ("Bytes", ending),
        ]


JournalEntry = EventEntry | RotationEntry | ManifestEntry | EnrolmentEntry | ReportEntry
"""The kinds of entries of the journal, in their order within the same second."""


@dataclass(frozen=True, slots=True)
class MemoEntry(Disclosure):
    """A key that keeps the responses of a range of epochs the same; it is never sent."""

    _query: ClassVar = (
        "SELECT name AS survey, survey_id, first, ends, key IS NOT NULL AS live, reports FROM memos"
        " ORDER BY ends, name"
    )

    survey: str
    survey_id: str
    first: int  # the range's first epoch
    ends: int  # the range's end, when the key is erased
    live: bool  # whether the key is still there
    reports: int  # reports decided with the key

    def lines(self) -> list[str]:
        """Return the text, at 80 columns."""
        fate = f"kept until {instant_text(self.ends)}" if self.live else _ERASED
        text = f"{self.survey!r} from epoch {self.first}: {fate}; used {_times(self.reports)}"
        return labelled("Memo key", text, indent=0)


@dataclass(frozen=True, slots=True)
class Journal(Disclosure):
    """The record of what was stored and sent; ``str()`` is text for a terminal, at 80 columns."""

    consent: ConsentRecord
    entries: tuple[JournalEntry, ...] = ()  # newest last
    dropped: Mapping[str, int] = field(default_factory=dict)  # how many reports, by reason
    memos: tuple[MemoEntry, ...] = ()  # keys of memoised surveys, which stay on the device

    def __str__(self) -> str:
        lines = consent_lines(self.consent)
        if not self.entries:
            return "\n".join([*lines, *labelled("Journal", "nothing was stored or sent", indent=0)])
        lines += labelled("Responses", _DRAWN, indent=0)
        for entry in self.entries:
            lines += ["", *entry.lines()]
        counts = ", ".join(f"{reason} {count}" for reason, count in self.dropped.items())
        lines += ["", *text_of([("Dropped", counts)], indent=0)]
        lines += [line for memo in self.memos for line in memo.lines()]
        return "\n".join(lines).rstrip("\n")


def read_journal(state: State, now: float) -> Journal:
    """Return the journal, which is empty if there is no state; a missing state is not created.

    Raises:
        StateUnavailable: if the state exists and cannot be read.
    """
    return state.do(partial(_read_journal, state, now))


def _read_journal(state: State, now: float) -> Journal:
    with state.reading(now) as connection:
        consent = state.consent_in(connection)
        if connection is None:
            return Journal(consent)
        entries: list[JournalEntry] = []
        survey_of = cache(
            partial(held_manifest, connection)
        )  # each once: opening a large one takes a second
        for kind in get_args(JournalEntry):
            entries += _read(kind, connection, survey_of)
        dropped = connection.execute(
            "SELECT verdict, count(*) FROM decisions WHERE status = 'dropped'"
            " GROUP BY verdict ORDER BY verdict"
        ).fetchall()
        memos = tuple(_read(MemoEntry, connection, survey_of))
    # Stable: within one second, events of the device come before its reports. A settled report, for
    # which only the day is known, comes at the end of the day.
    entries.sort(
        key=lambda entry: (entry.at // DAY, getattr(entry, "settled", None) is not None, entry.at)
    )
    return Journal(consent, tuple(entries), dict(dropped), memos)


_E = TypeVar("_E", bound=_Entry | MemoEntry)
_IN_HEX: Final = frozenset({"survey_id", "authority", "old_key", "new_key", "issuer"})
_SurveyOf = Callable[[bytes], Manifest | None]


def _read(kind: type[_E], connection: sqlite3.Connection, survey_of: _SurveyOf) -> Iterator[_E]:
    """Read the entries of a kind, with the surveys' names for their responses."""
    types = {column.name: column.type for column in fields(kind)}
    rows = connection.execute(kind._query)
    for row in rows.fetchall():
        named = zip((name for name, *_ in rows.description), row, strict=True)
        values = {name: _sound(name, value, types[name]) for name, value in named}
        if kind is EnrolmentEntry:
            survey = survey_of(bytes.fromhex(values["survey_id"]))
            values["issuer_name"] = survey.enrolment.issuer if survey and values["blind"] else None
        elif kind is ReportEntry:
            values["response"] = _response(values["content"], survey_of)
        yield kind(**values)


def _sound(name: str, value: Any, kind: Any) -> Any:
    if name in _IN_HEX and isinstance(value, bytes):
        return value.hex()
    if name not in _IN_HEX and kind is bool and isinstance(value, int):
        return bool(value)
    if isinstance(value, kind) and (value is None or name not in _IN_HEX):
        return value
    raise ValueError("a row of the state is damaged")


def _response(content: bytes | None, survey_of: _SurveyOf) -> str | None:
    """Return the label of the response in these bytes; None if they or the survey are gone."""
    if content is None:
        return None
    try:
        report = SignedReport.from_envelope(content).report
    except Refusal:
        return None
    survey = survey_of(report.survey_id)
    known = survey.responses if survey else ()
    return known[report.response] if report.response < len(known) else None


def _content(response: str | None, content: bytes | None) -> list[Row]:
    if content is None:
        return [("Bytes", _ERASED)]
    known = "its survey is no longer known" if response is None else printable(response)
    return [("Response", known), ("Bytes", content)]


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count:,} times")
