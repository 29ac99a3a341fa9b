"""The outbox: decided reports on their way to the collector, as the state holds them.

1. A report is here before ``report()`` returns, and before anything may send it (D5).
2. The bytes of a report are the same at every send.
3. Consent is read in the transaction that picks reports to send, and again once the connection
   stands: unless it is ON, none is picked, and of what was picked no byte leaves.
4. Bytes are erased once they are of no more use, or over the caps; the decision itself is never
   undone (D4).
5. A report ends delivered or dropped: by an answer that the protocol's table knows, by the user, by
   a cap, or after its last send. Else it waits, and its bytes with it (D8). What was dropped while
   a request was under way is delivered all the same, if the collector then says so.
6. A send is counted before it happens, as one without an answer, until an answer comes: whatever
   ends the process meanwhile, the journal owns up to it. Only what the transport knows not to have
   left the device is taken from the count again.
7. A report is sent ``MOST_SENDS`` times at most, and from the third on a day after the one before,
   by whatever thread, flush or process: ``begin`` counts and sets that time in one transaction. The
   day is of the device's clock. One that is put back starts a wait anew, as soon as it is seen;
   one that jumps forward ends a wait early, and never brings a send more.
8. Of several processes on one state, the threads send a report one at a time: whoever picks it
   claims it for as long as a request may take.
9. A report that bears a token leaves in the second half of its own epoch, or never.
10. What was decided under a relay is never sent without one (D13): it waits here until its epoch
    is closed for a client that has one.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from deniable.client.consent import Consent
from deniable.client.parts import NoIssuer
from deniable.client.sending.reply import (
    MOST_SENDS,
    UNANSWERED,
    UNCERTAIN,
    UNSENT,
    Delivered,
    Drop,
    Enrol,
    PendingReport,
    Resend,
    Step,
    earliest_after,
)
from deniable.client.sending.transport import REQUEST_SECONDS
from deniable.client.state.erasing import OutboxCaps, drop_over_caps, erase_ended
from deniable.client.state.state import State
from deniable.client.state.transactions import kept

_LOOK_SECONDS: Final = 3600
_CLAIM_SECONDS: Final = 2 * REQUEST_SECONDS
Others = Iterable[tuple[PendingReport, float]]
"""Reports that are due as well, each with its new time."""


class SendCancelled(Exception):
    """The user, or another process, came between the choice of a report and its sending."""


@dataclass(frozen=True, slots=True)
class Remainder:
    """The content of the outbox after a flush."""

    pending: Sequence[PendingReport] = ()  # what may be sent
    dropped: Mapping[str, int] = field(default_factory=dict)  # how many ever were, by reason
    unconsented: int = 0  # how many wait for consent


class Outbox:
    """One collector's reports that wait, and what became of those that were sent.

    Every method raises ``StateUnavailable`` where the state cannot be used.

    Args:
        collector: whose reports: no other collector ever gets them.
        relayed: whether a relay is between this device and the collector.
        longest: no wait is longer, in seconds: what is due later shows that the clock was put back.
    """

    def __init__(
        self,
        state: State,
        collector: str,
        caps: OutboxCaps,
        longest: float,
        issuer: NoIssuer,
        *,
        relayed: bool,
    ) -> None:
        self.state = state
        self._issuer = issuer
        self._relayed = relayed
        self._collector = collector
        self._caps = caps
        self._longest = longest

    @kept
    def pending(self, now: float) -> list[PendingReport]:
        """Return the reports that may be sent, the one due first in front."""
        with self.state.existing(now) as connection:
            reports, dropped = ([], 0) if connection is None else self._pending(connection, now)
        if dropped:
            self.state.erase_remains()
        return reports

    def _pending(
        self, connection: sqlite3.Connection, now: float
    ) -> tuple[list[PendingReport], int]:
        """Return the reports that may be sent, and how many others were dropped here."""
        if self.state.effective_consent(connection) is not Consent.ON:
            return [], 0
        dropped = drop_over_caps(connection, self._caps, self._lived(connection, now), now)
        dropped += connection.execute(  # sent for the last time by a process that was killed then
            "UPDATE decisions SET status = 'dropped', verdict = ?, settled = ?, envelope = NULL"
            " WHERE status = 'pending' AND attempts >= ? AND due <= ?",
            (UNANSWERED, int(now), MOST_SENDS, now),
        ).rowcount
        dropped += connection.execute(  # rule 9
            "UPDATE decisions SET status = 'dropped', settled = ?, envelope = NULL,"
            " verdict = CASE WHEN unanswered THEN ? ELSE ? END"
            " WHERE status = 'pending' AND until <= ?",
            (int(now), UNCERTAIN, UNSENT, now),
        ).rowcount
        rows = connection.execute(
            "SELECT name, epoch, envelope, starts, closes, attempts, unanswered, due, held, opens,"
            " until FROM decisions WHERE status = 'pending' AND origin = ? AND relayed <= ?"
            # A row that rotted stays decided, and is of no other use.
            " AND typeof(envelope) = 'blob' AND typeof(due) || typeof(held) = 'realreal'"
            " AND typeof(opens) || typeof(until) = 'realreal'"
            " AND typeof(starts) || typeof(closes) || typeof(attempts) = 'integerintegerinteger'",
            (self._collector, self._relayed),
        ).fetchall()
        refused, renewals = self.state.refused(connection), self._issuer.renewals(connection)
        reports = [
            PendingReport(*(*row, renewals.get(row[:2]))) for row in rows if row[0] not in refused
        ]
        for number, report in enumerate(reports):
            drawn = report.opens if report.attempts else report.held  # of a blind survey's report
            if report.due > max(now + self._longest, report.starts, drawn):
                reports[number] = _wait_anew(connection, report, now, drawn)
        return sorted(reports, key=lambda report: report.due), dropped

    @kept
    def begin(self, report: PendingReport, now: float, others: Others = ()) -> bool:
        """Count a send of this report, and claim it for a while; tell whether it may be sent.

        Each send goes through here. What somebody has touched since it was picked is not sent. The
        others, which are due as well, get new times.
        """
        with self.state.transaction(now) as connection:
            if not self.state.may_send(connection, report.name):
                return False
            rested = earliest_after(report.attempts + 1, now)
            begun = connection.execute(
                "UPDATE decisions SET attempts = attempts + 1, unanswered = unanswered + 1,"
                " due = ?, held = max(held, ?) WHERE name = ? AND epoch = ? AND attempts = ?"
                " AND status = 'pending' AND due = ? AND attempts < ? AND max(held, opens) <= ?"
                " AND until > ?",
                (
                    *(rested or now + _CLAIM_SECONDS, rested, *report.key, report.attempts),
                    *(report.due, MOST_SENDS, now, now),
                ),
            ).rowcount
            for other, due in others if begun else ():
                connection.execute(
                    "UPDATE decisions SET due = ?"
                    " WHERE name = ? AND epoch = ? AND status = 'pending' AND due = ?",
                    (due, *other.key, other.due),
                )
            return bool(begun)

    @kept
    def check_waits(self, report: PendingReport, now: float) -> None:
        """Raise ``SendCancelled`` unless a report whose sending has begun may be sent (rule 3)."""
        with self.state.reading(now) as connection:
            if connection is None or not self.state.may_send(connection, report.name):
                raise SendCancelled
            waiting = "SELECT 1 FROM decisions WHERE name = ? AND epoch = ? AND status = 'pending'"
            if connection.execute(waiting, report.key).fetchone() is None:
                raise SendCancelled

    @kept
    def undo_send(self, report: PendingReport, now: float) -> None:
        """Record that a send which was begun did not leave the device: it does not count."""
        with self.state.transaction(now) as connection:
            connection.execute(
                "UPDATE decisions SET attempts = attempts - 1, unanswered = unanswered - 1"
                " WHERE name = ? AND epoch = ?",
                report.key,
            )
            _postpone(connection, report, report.attempts, report.due, report.held)

    @kept
    def follow(self, report: PendingReport, step: Step, now: float) -> None:
        """Record the next step of a report that was sent."""
        with self.state.transaction(now) as connection:
            if isinstance(step, Delivered):
                _deliver(connection, report, step, now)
            elif isinstance(step, Drop):
                _drop(connection, report, step, now)
            else:
                self._wait_again(connection, report, step)
        # Only then: a reader may make this wait for seconds, and each end of a flush does it too.
        if isinstance(step, Drop):
            self.state.erase_remains()

    def _wait_again(
        self, connection: sqlite3.Connection, report: PendingReport, step: Resend | Enrol
    ) -> None:
        """Let a report wait that was refused, or of which nobody knows what became."""
        code = step.code if isinstance(step, Resend) else None
        if isinstance(step, Enrol):
            self._issuer.renew(connection, *report.key, step.due)
        elif code is not None:
            connection.execute(
                "UPDATE decisions SET verdict = ?"
                " WHERE name = ? AND epoch = ? AND status = 'pending'",
                (code.value, *report.key),
            )
        if isinstance(step, Enrol) or code is not None:
            _count_answer(connection, report)
        due = max(step.due, step.held)
        _postpone(connection, report, report.attempts + 1, due, step.held)

    @kept
    def end_flush(self, now: float) -> Remainder:
        """Erase settled reports, and return the remainder. Decisions stay."""
        with self.state.existing(now) as connection:
            if connection is None:
                return Remainder()
            erase_ended(connection, now)
            pending, _ = self._pending(connection, now)
            dropped = connection.execute(
                "SELECT verdict, count(*) FROM decisions WHERE status = 'dropped' AND origin = ?"
                " GROUP BY verdict ORDER BY verdict",
                (self._collector,),
            ).fetchall()
            unconsented = 0
            if self.state.effective_consent(connection) is Consent.ON:
                connection.execute("DELETE FROM previews")  # which it has made void
            else:
                unconsented = self._count_waiting(connection)
        self.state.erase_remains()
        self.state.erase_damaged(now)
        return Remainder(pending, dict(dropped), unconsented)

    def _count_waiting(self, connection: sqlite3.Connection) -> int:
        (waiting,) = connection.execute(
            "SELECT count(*) FROM decisions WHERE status = 'pending' AND origin = ?",
            (self._collector,),
        ).fetchone()
        return int(waiting)

    def _lived(self, connection: sqlite3.Connection, now: float) -> int:
        lived, looked_at = connection.execute("SELECT lived, looked_at FROM device").fetchone()
        # Not at each send, since it is a write to the disk.
        due = now - looked_at >= _LOOK_SECONDS
        return self.state.look_at_clock(connection, now) if due else int(lived)


def _deliver(
    connection: sqlite3.Connection, report: PendingReport, step: Delivered, now: float
) -> None:
    """Record that the collector has a report, also one that was dropped meanwhile."""
    _count_answer(connection, report)
    connection.execute(
        "UPDATE decisions SET status = 'delivered', verdict = ?, settled = ?"
        " WHERE name = ? AND epoch = ? AND status != 'delivered'",
        (step.verdict, int(now), *report.key),
    )


def _drop(connection: sqlite3.Connection, report: PendingReport, step: Drop, now: float) -> None:
    if step.answered:
        _count_answer(connection, report)
    connection.execute(
        "UPDATE decisions SET status = 'dropped', verdict = ?, settled = ?, envelope = NULL"
        " WHERE name = ? AND epoch = ? AND status = 'pending'",
        (step.verdict, int(now), *report.key),
    )


def _count_answer(connection: sqlite3.Connection, report: PendingReport) -> None:
    connection.execute(
        "UPDATE decisions SET unanswered = unanswered - 1 WHERE name = ? AND epoch = ?", report.key
    )


def _postpone(
    connection: sqlite3.Connection, report: PendingReport, attempts: int, due: float, held: float
) -> None:
    """Let a report wait, unless somebody else has begun to send it: then it has other attempts."""
    connection.execute(
        "UPDATE decisions SET due = ?, held = ?"
        " WHERE name = ? AND epoch = ? AND status = 'pending' AND attempts = ?",
        (due, held, *report.key, attempts),
    )


def _wait_anew(
    connection: sqlite3.Connection, report: PendingReport, now: float, drawn: float
) -> PendingReport:
    """Let a report wait anew, since the clock was put back; return it as it waits then (rule 7)."""
    rested = max(earliest_after(report.attempts, now), drawn)
    moved = replace(report, due=rested or now, held=rested)
    connection.execute(
        "UPDATE decisions SET due = ?, held = ? WHERE name = ? AND epoch = ?",
        (moved.due, moved.held, *report.key),
    )
    return moved
