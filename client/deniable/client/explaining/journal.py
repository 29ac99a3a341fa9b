"""The journal: what this device stored, sent and received, for its user to see.

It contains responses, which were drawn at random, and never an answer: the device stores none. Each
kind of entry is one table of the state: its query names the fields, its rows are the text.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from deniable.budget import format_nano
from deniable.client.consent import ConsentRecord
from deniable.client.explaining.explanation import consent_lines
from deniable.client.state.state import State
from deniable.client.survey import DAY
from deniable.messages import Manifest, Refusal, SignedReport, day_text, instant_text, open_manifest
from deniable.terms.text import Row, labelled, text_of, wrapped

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
class JournalEntry:
    """A report, event, signed survey, rotation of the authority's key, credential, or memo key.

    The facts depend on the kind:

    * ``report``, the one decision about an epoch: ``survey``, ``epoch``, ``survey_id``,
      ``collector``, ``status`` (pending, delivered or dropped), ``verdict`` (the collector's final
      code, or the reason for dropping it), ``response`` (as drawn, if it is still known),
      ``content`` (the signed bytes), ``sends``, ``unanswered`` (sends whose fate is unknown),
      ``due``, ``settled`` (the day on which it was delivered or dropped), ``starts``, ``ends``,
      ``closes``, ``cost_nano_epsilon`` and ``relayed``. Once it is settled, ``at`` is the day only.
    * ``event``, such as consent, purge or state-replaced: ``event`` and ``detail``.
    * ``manifest``, a signed survey: ``survey``, ``sequence``, ``survey_id``, ``authority``,
      ``role`` (accepted, replaced, refused or equivocating), ``reason``,
      ``reserved_nano_epsilon``, ``content``, and ``contradicted``, the other one of its sequence.
    * ``rotation``: ``old_key``, ``new_key``, ``sequence``, ``role`` (followed or forking) and
      ``content``.
    * ``enrolment``, a certificate or token: ``survey``, ``epoch``, ``survey_id``, ``issuer``,
      ``issuer_name``, ``asks``, ``content``, ``closes``, ``blind``, and ``reported``, whether a
      report contains it.
    * ``memo``, a key that keeps the responses of a range of epochs the same: ``survey``,
      ``survey_id``, ``first``, ``live`` and ``reports``; ``at`` is when the key is erased.
    """

    kind: str
    at: int  # Unix seconds by this device's clock
    facts: Mapping[str, Any]
    lines: tuple[str, ...] = field(repr=False, compare=False)  # the text, at 80 columns


_Text = tuple[str, list[Row]]
"""A title, and the rows below it."""


def _report(**facts: Any) -> _Text:
    report = SimpleNamespace(**facts)
    meaning = _VERDICTS.get(report.verdict)
    because = f"{report.verdict} ({meaning})" if meaning else report.verdict
    settled = "" if report.settled is None else f"{because}, {day_text(report.settled)}"
    waits = report.settled is None and report.due is not None
    unanswered = f", {report.unanswered} unanswered" if report.unanswered else ""
    by = ", through a relay only" if report.relayed else ""
    known = report.response or "its survey is no longer known"
    return f"report for {report.survey!r}, epoch {report.epoch}: {report.status}", [
        ("Verdict", settled),
        ("Last answer", because if report.settled is None else ""),
        ("Next send", f"not before {instant_text(report.due)}" if waits else ""),
        ("Attempts", f"{report.sends}{unanswered}; to {report.collector}{by}"),
        ("Cost", f"epsilon {format_nano(report.cost_nano_epsilon)}"),
        ("Response", "" if report.content is None else known),
        ("Bytes", _ERASED if report.content is None else report.content),
    ]


def _event(event: str, detail: str) -> _Text:
    return f"{event}: {detail}", []


def _manifest(**facts: Any) -> _Text:
    survey = SimpleNamespace(**facts)
    accepted, proof = survey.role == "accepted", survey.contradicted is not None
    reserved = f"epsilon {format_nano(survey.reserved_nano_epsilon)}"
    return f"survey {survey.survey!r}, sequence {survey.sequence}: {survey.role}", [
        ("Survey id", survey.survey_id),
        ("Signed by", survey.authority),
        ("Because", survey.reason),
        ("Set aside", reserved if accepted else ""),
        ("Proof", _PROOF if proof else ""),
        ("Bytes", survey.content if proof else None),
        ("The other's", survey.contradicted),
    ]


def _rotation(old_key: str, new_key: str, sequence: int, role: str, content: bytes) -> _Text:
    forking = role == "forking"
    return f"authority's key rotated, sequence {sequence}: {role}", [
        ("From", old_key),
        ("To", new_key),
        ("Proof", "its signer has handed over to two keys" if forking else ""),
        ("Bytes", content if forking else None),
    ]


def _enrolment(**facts: Any) -> _Text:
    key = SimpleNamespace(**facts)
    held = "held" if key.content else _ERASED if key.issuer else "none so far"
    kind = "token" if key.blind else "certificate"
    saw = f": it saw {_SEEN_BLINDLY if key.blind else _SEEN}" if key.asks else ""
    return f"{kind} for {key.survey!r}, epoch {key.epoch}: {held}", [
        ("Asked", f"the app's issuer, {_times(key.asks)}{saw}"),
        ("Given by", key.issuer_name or key.issuer),
        ("Bytes", "at the end of the report" if key.reported else key.content),
    ]


def _memo(**facts: Any) -> _Text:
    key = SimpleNamespace(**facts)
    fate = f"{'kept until then' if key.live else _ERASED}; used {_times(key.reports)}"
    return f"memo key for {key.survey!r} from epoch {key.first}: {fate}", []


class _Kind(NamedTuple):
    """A kind of entry: the query for its time and facts, and their text."""

    query: str
    text: Callable[..., _Text]


_KINDS: Final = {
    "event": _Kind("SELECT at, kind AS event, detail FROM events ORDER BY number", _event),
    "rotation": _Kind(
        "SELECT seen, old_key, new_key, sequence, role, envelope AS content FROM authorities"
        " ORDER BY seen, sequence, new_key",
        _rotation,
    ),
    "manifest": _Kind(
        "SELECT m.seen, m.name AS survey, m.sequence, m.survey_id, m.signer AS authority,"
        " m.role, m.reason, m.reserved AS reserved_nano_epsilon, m.envelope AS content,"
        " (SELECT o.envelope FROM manifests o WHERE m.role = 'equivocating'"
        " AND o.authority = m.authority AND o.name = m.name AND o.sequence = m.sequence"
        " AND o.role != 'equivocating' LIMIT 1) AS contradicted"
        " FROM manifests m ORDER BY m.name, m.sequence",
        _manifest,
    ),
    "enrolment": _Kind(
        "SELECT wanted, name AS survey, epoch, survey_id, issuer, asks,"
        " credential AS content, closes, blind, EXISTS(SELECT 1 FROM decisions d WHERE"
        " d.name = c.name AND d.epoch = c.epoch AND instr(d.envelope, c.credential)) AS reported"
        " FROM credentials c ORDER BY name, epoch, wanted",
        _enrolment,
    ),
    "report": _Kind(
        "SELECT decided, name AS survey, epoch, survey_id, origin AS collector, status,"
        " verdict, envelope AS content, attempts AS sends, unanswered,"
        " CASE status WHEN 'pending' THEN due END AS due, settled, starts, ends, closes,"
        " cost AS cost_nano_epsilon, relayed FROM decisions ORDER BY name, epoch",
        _report,
    ),
    "memo": _Kind(
        "SELECT ends, name AS survey, survey_id, first, key IS NOT NULL AS live, reports"
        " FROM memos ORDER BY ends, name",
        _memo,
    ),
}
"""The kinds of entries, in their order within the same second."""


@dataclass(frozen=True, slots=True)
class Journal:
    """The record of what was stored and sent; ``str()`` is text for a terminal, at 80 columns."""

    consent: ConsentRecord
    entries: tuple[JournalEntry, ...] = ()  # newest last
    dropped: Mapping[str, int] = field(default_factory=dict)  # how many reports, by reason

    def __str__(self) -> str:
        lines = consent_lines(self.consent)
        if not self.entries:
            return "\n".join([*lines, *labelled("Journal", "nothing was stored or sent", indent=0)])
        lines += labelled("Responses", _DRAWN, indent=0)
        for entry in self.entries:
            lines += ["", *entry.lines]
        counts = ", ".join(f"{reason} {count}" for reason, count in self.dropped.items())
        lines += ["", *text_of([("Dropped", counts)], indent=0)]
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
        # Each is opened once: a large one takes a second.
        survey_of = cache(partial(_held_manifest, connection))
        entries = [entry for kind in _KINDS for entry in _read(kind, connection, survey_of)]
        dropped = connection.execute(
            "SELECT verdict, count(*) FROM decisions WHERE status = 'dropped'"
            " GROUP BY verdict ORDER BY verdict"
        ).fetchall()
    # Stable: within one second, events of the device come before its reports. A settled report, for
    # which only the day is known, comes at the end of the day.
    entries.sort(
        key=lambda entry: (entry.at // DAY, entry.facts.get("settled") is not None, entry.at)
    )
    return Journal(consent, tuple(entries), dict(dropped))


_IN_HEX: Final = frozenset({"survey_id", "authority", "old_key", "new_key", "issuer"})
_SurveyOf = Callable[[bytes], Manifest | None]


def _read(
    kind: str, connection: sqlite3.Connection, survey_of: _SurveyOf
) -> Iterator[JournalEntry]:
    """Read the entries of a kind, with the surveys' names for their responses."""
    rows = connection.execute(_KINDS[kind].query)
    names = [name for name, *_ in rows.description][1:]
    for at, *row in rows.fetchall():
        facts: dict[str, Any] = dict(zip(names, row, strict=True))
        if kind == "enrolment":
            survey = survey_of(facts["survey_id"])
            facts["issuer_name"] = survey.enrolment.issuer if survey and facts["blind"] else None
        elif kind == "report":
            facts["response"] = _response(facts["content"], survey_of)
        for name in _IN_HEX & facts.keys():
            facts[name] = facts[name] and bytes.hex(facts[name])
        title, below = _KINDS[kind].text(**facts)
        when = instant_text(at) if facts.get("settled") is None else day_text(at)
        lines = *wrapped(f"{when}  {title}", rest="  "), *text_of(below)
        yield JournalEntry(kind, int(at), facts, lines)


def _held_manifest(connection: sqlite3.Connection, survey_id: bytes) -> Manifest | None:
    """Return the survey with an id; None if the survey's bytes are damaged or gone."""
    for row in connection.execute(
        "SELECT envelope, signer FROM manifests WHERE survey_id = ?", (survey_id,)
    ).fetchall():
        with suppress(Refusal, TypeError):
            return open_manifest(*row)
    return None


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


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count:,} times")
