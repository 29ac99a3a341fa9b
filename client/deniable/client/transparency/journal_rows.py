"""Reading the journal out of the state: every row of every table, and nothing but."""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from deniable.client.state.state import State
from deniable.client.survey import DAY
from deniable.client.transparency.journal import (
    EnrolmentEntry,
    EventEntry,
    Journal,
    JournalEntry,
    ManifestEntry,
    MemoEntry,
    PreviewEntry,
    ReportEntry,
    RotationEntry,
)
from deniable.messages import Refusal, Report, SignedReport, open_manifest

__all__ = ["read_journal"]


def read_journal(state: State, now: float) -> Journal:
    """Return the journal; an empty one where there is no state, and none is created.

    Raises:
        StateUnavailable: if there is a state and it cannot be read.
    """
    with state.reading(now) as connection:
        consent = state.consent_in(connection)
        if connection is None:
            return Journal(consent)
        categories = _Categories(connection)
        entries: list[JournalEntry] = [
            *_events(connection),
            *_rotations(connection),
            *_manifests(connection),
            *_enrolments(connection),
            *_reports(connection, categories),
            *_previews(connection, categories),
        ]
        dropped = connection.execute(
            "SELECT verdict, count(*) FROM decisions WHERE status = 'dropped'"
            " GROUP BY verdict ORDER BY verdict"
        ).fetchall()
        memos = tuple(_memos(connection))
    # Stable: within one second, what happened to the device comes before its reports.
    entries.sort(key=_order)
    return Journal(consent, tuple(entries), dict(dropped), memos)


def _order(entry: JournalEntry) -> tuple[int, bool, int]:
    """Put what is settled, of which the day alone is known, at the end of the day."""
    settled = isinstance(entry, ReportEntry) and entry.settled is not None
    return entry.at // DAY, settled, entry.at


class _Categories:
    """The categories of surveys, as the state holds them, each verified once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[bytes, tuple[str, ...]] = {}

    def name(self, report: Report) -> str | None:
        """Return the category that a response names; None if the survey is gone."""
        if report.survey_id not in self._known:
            self._known[report.survey_id] = self._read(report.survey_id)
        known = self._known[report.survey_id]
        return known[report.response] if report.response < len(known) else None

    def _read(self, survey_id: bytes) -> tuple[str, ...]:
        rows = self._connection.execute(
            "SELECT signer, envelope FROM manifests WHERE survey_id = ?", (survey_id,)
        ).fetchall()
        for signer, envelope in rows:
            with suppress(Refusal):  # bytes that rotted
                return open_manifest(envelope, signer).categories
        return ()


def _events(connection: sqlite3.Connection) -> Iterator[EventEntry]:
    for row in connection.execute("SELECT at, kind, detail FROM events ORDER BY number"):
        yield EventEntry(*_sound(row, "itt"))


def _rotations(connection: sqlite3.Connection) -> Iterator[RotationEntry]:
    query = (
        "SELECT seen, old_key, new_key, sequence, role, envelope FROM authorities"
        " ORDER BY seen, sequence, new_key"
    )
    for row in connection.execute(query):
        at, old_key, new_key, *rest = _sound(row, "ibbitb")
        yield RotationEntry(at, old_key.hex(), new_key.hex(), *rest)


def _manifests(connection: sqlite3.Connection) -> Iterator[ManifestEntry]:
    query = (
        "SELECT m.seen, m.name, m.sequence, m.survey_id, m.signer, m.role, m.reason, m.reserved,"
        " m.envelope, (SELECT o.envelope FROM manifests o WHERE m.role = 'equivocating'"
        " AND o.authority = m.authority AND o.name = m.name AND o.sequence = m.sequence"
        " AND o.role != 'equivocating' LIMIT 1) FROM manifests m ORDER BY m.name, m.sequence"
    )
    for row in connection.execute(query):
        at, name, sequence, survey_id, authority, *rest = _sound(row, "itibbttibB")
        yield ManifestEntry(at, name, sequence, survey_id.hex(), authority.hex(), *rest)


def _enrolments(connection: sqlite3.Connection) -> Iterator[EnrolmentEntry]:
    query = (
        "SELECT wanted, name, epoch, survey_id, issuer, asks, credential, closes FROM credentials"
        " ORDER BY name, epoch, wanted"
    )
    for row in connection.execute(query):
        at, name, epoch, survey_id, issuer, *rest = _sound(row, "itibBiBi")
        yield EnrolmentEntry(
            at, name, epoch, survey_id.hex(), None if issuer is None else issuer.hex(), *rest
        )


def _reports(connection: sqlite3.Connection, categories: _Categories) -> Iterator[ReportEntry]:
    query = (
        "SELECT decided, name, epoch, survey_id, origin, status, verdict, envelope, attempts,"
        " unanswered, due, settled, starts, ends, closes, cost FROM decisions ORDER BY name, epoch"
    )
    for row in connection.execute(query).fetchall():
        at, name, epoch, survey_id, origin, status, verdict, envelope, *rest = _sound(
            row, "itibtttBiifIiiii"
        )
        sends, unanswered, due, settled, starts, ends, closes, cost = rest
        response = None
        if envelope is not None:
            with suppress(Refusal):
                response = categories.name(SignedReport.from_envelope(envelope).report)
        yield ReportEntry(
            at=at,
            survey=name,
            epoch=epoch,
            survey_id=survey_id.hex(),
            collector=origin,
            status=status,
            verdict=verdict,
            response=response,
            content=envelope,
            sends=sends,
            unanswered=unanswered,
            due=due if status == "pending" else None,
            settled=settled,
            starts=starts,
            ends=ends,
            closes=closes,
            cost=cost,
        )


def _previews(connection: sqlite3.Connection, categories: _Categories) -> Iterator[PreviewEntry]:
    query = "SELECT decided, name, epoch, payload FROM previews ORDER BY name, epoch"
    for row in connection.execute(query).fetchall():
        at, name, epoch, payload = _sound(row, "itib")
        response = None
        with suppress(Refusal):
            response = categories.name(Report.from_payload(payload))
        yield PreviewEntry(at, name, epoch, response, payload)


def _memos(connection: sqlite3.Connection) -> Iterator[MemoEntry]:
    query = (
        "SELECT name, survey_id, first, ends, key IS NOT NULL, reports FROM memos"
        " ORDER BY ends, name"
    )
    for row in connection.execute(query):
        name, survey_id, first, ends, live, reports = _sound(row, "tbiiii")
        yield MemoEntry(name, survey_id.hex(), first, ends, bool(live), reports)


_TYPES: Final = {"i": (int,), "t": (str,), "b": (bytes,), "f": (float,)}


def _sound(row: tuple[Any, ...], types: str) -> tuple[Any, ...]:
    """Return a row whose values have the types that were stored; a capital letter allows NULL."""
    for value, kind in zip(row, types, strict=True):
        if not isinstance(value, _TYPES[kind.lower()]) and (value is not None or kind.islower()):
            raise ValueError("a row of the state is damaged")
    return row
