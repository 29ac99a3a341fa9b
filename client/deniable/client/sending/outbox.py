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
from deniable.client.state.erasing import OutboxCaps, drop_over_caps, erase_ended
from deniable.client.state.state import State
from deniable.client.state.transactions import kept

_LOOK_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class Remainder:
    """The content of the outbox after a flush."""

    pending: Sequence[PendingReport] = ()  # what may be sent
    dropped: Mapping[str, int] = field(default_factory=dict)  # how many ever were, by reason
    unconsented: int | None = None  # how many wait for consent; None if it is there


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
            self._in_reach(connection, PendingReport(*(*row, renewals.get(row[:2]))), now)
            for row in rows
            if row[0] not in refused
        ]
        return sorted(reports, key=lambda report: report.due), dropped

    def _in_reach(
        self, connection: sqlite3.Connection, report: PendingReport, now: float
    ) -> PendingReport:
        """Return the report; if the clock was put back since, its wait begins anew (rule 7)."""
        drawn = report.opens if report.attempts else report.held  # of a blind survey's report
        if report.due <= max(now + self._longest, report.starts, drawn):
            return report
        rested = max(earliest_after(report.attempts, now), drawn)
        moved = replace(report, due=rested or now, held=rested)
        connection.execute(
            "UPDATE decisions SET due = ?, held = ? WHERE name = ? AND epoch = ?",
            (moved.due, moved.held, *report.key),
        )
        return moved

    @kept
    def begin(
        self,
        report: PendingReport,
        until: float,
        now: float,
        others: Iterable[tuple[PendingReport, float]] = (),
    ) -> bool:
        """Count a send of this report, and claim it until then; tell whether it may be sent.

        Each send goes through here. What somebody has touched since it was picked is not sent. The
        others, which are due as well, get new times.
        """
        if not report.opens <= now < report.until:
            return False
        with self.state.transaction(now) as connection:
            if not self.state.may_send(connection, report.name):
                return False
            rested = earliest_after(report.attempts + 1, now)
            begun = connection.execute(
                "UPDATE decisions SET attempts = attempts + 1, unanswered = unanswered + 1,"
                " due = ?, held = max(held, ?) WHERE name = ? AND epoch = ? AND attempts = ?"
                " AND status = 'pending' AND due = ? AND attempts < ? AND held <= ?",
                (
                    *(rested or until, rested, *report.key, report.attempts),
                    *(report.due, MOST_SENDS, now),
                ),
            ).rowcount
            if not begun:
                return False
            connection.executemany(
                "UPDATE decisions SET due = ?"
                " WHERE name = ? AND epoch = ? AND status = 'pending' AND due = ?",
                [(due, *other.key, other.due) for other, due in others],
            )
            return True

    @kept
    def still_waits(self, report: PendingReport, now: float) -> bool:
        """Tell whether this report, whose sending has begun, may still be sent (rule 3)."""
        with self.state.reading(now) as connection:
            if connection is None or not self.state.may_send(connection, report.name):
                return False
            waiting = connection.execute(
                "SELECT 1 FROM decisions WHERE name = ? AND epoch = ? AND status = 'pending'",
                report.key,
            ).fetchone()
            return waiting is not None

    @kept
    def take_back(self, report: PendingReport, now: float) -> None:
        """Record that a send which was begun did not leave the device: it does not count."""
        with self.state.transaction(now) as connection:
            connection.execute(
                "UPDATE decisions SET attempts = attempts - 1, unanswered = unanswered - 1"
                " WHERE name = ? AND epoch = ?",
                report.key,
            )
            _put_off(connection, report, report.attempts, report.due, report.held)

    @kept
    def follow(self, report: PendingReport, step: Step, now: float) -> list[PendingReport]:
        """Record the next step of a report that was sent; return what is pending then."""
        key = {"name": report.name, "epoch": report.epoch}
        with self.state.transaction(now) as connection:
            lost = isinstance(step, Resend) and step.code is None  # nobody knows what became of it
            if not (lost or (isinstance(step, Drop) and not step.answered)):
                connection.execute(
                    "UPDATE decisions SET unanswered = unanswered - 1"
                    " WHERE name = :name AND epoch = :epoch",
                    key,
                )
            if isinstance(step, (Delivered, Drop)):
                status = "delivered" if isinstance(step, Delivered) else "dropped"
                connection.execute(
                    "UPDATE decisions SET status = :status, verdict = :verdict, settled = :now,"
                    " envelope = CASE WHEN :status = 'dropped' THEN NULL ELSE envelope END"
                    " WHERE name = :name AND epoch = :epoch AND"
                    " (status = 'pending' OR (status = 'dropped' AND :status = 'delivered'))",
                    {**key, "status": status, "verdict": step.verdict, "now": int(now)},
                )
            else:
                if isinstance(step, Enrol):
                    self._issuer.renew(connection, *report.key, step.due)
                elif step.code is not None:
                    connection.execute(
                        "UPDATE decisions SET verdict = :code WHERE name = :name"
                        " AND epoch = :epoch AND status = 'pending'",
                        {**key, "code": step.code.value},
                    )
                due = max(step.due, step.held)
                _put_off(connection, report, report.attempts + 1, due, step.held)
            pending, dropped = self._pending(connection, now)
        # Only then: a reader may make this wait for seconds, and each end of a flush does it too.
        if isinstance(step, Drop) or dropped:
            self.state.erase_remains()
        return pending

    @kept
    def end_flush(self, now: float) -> Remainder:
        """Erase settled reports, and return the remainder. Decisions stay."""
        with self.state.existing(now) as connection:
            if connection is None:
                no_consent = self.state.consent_in(None).effective is not Consent.ON
                return Remainder(unconsented=0 if no_consent else None)
            self._erase_settled(connection, now)
            pending, _ = self._pending(connection, now)
            dropped = connection.execute(
                "SELECT verdict, count(*) FROM decisions WHERE status = 'dropped' AND origin = ?"
                " GROUP BY verdict ORDER BY verdict",
                (self._collector,),
            ).fetchall()
            (waiting,) = connection.execute(
                "SELECT count(*) FROM decisions WHERE status = 'pending' AND origin = ?",
                (self._collector,),
            ).fetchone()
            consented = self.state.effective_consent(connection) is Consent.ON
        self.state.erase_remains()
        self.state.erase_damaged(now)
        return Remainder(pending, dict(dropped), None if consented else int(waiting))

    def _erase_settled(self, connection: sqlite3.Connection, now: float) -> None:
        """Erase reports past their grace (D9), old keys, and previews that ON has made void."""
        connection.execute(
            "UPDATE decisions SET envelope = NULL"
            " WHERE status != 'pending' AND closes <= ? AND envelope IS NOT NULL",
            (int(now),),
        )
        erase_ended(connection, now)
        if self.state.effective_consent(connection) is Consent.ON:
            connection.execute("DELETE FROM previews")

    def _lived(self, connection: sqlite3.Connection, now: float) -> int:
        lived, looked_at = connection.execute("SELECT lived, looked_at FROM device").fetchone()
        # Not at each send, since it is a write to the disk.
        due = now - looked_at >= _LOOK_SECONDS
        return self.state.look_at_clock(connection, now) if due else int(lived)


def _put_off(
    connection: sqlite3.Connection, report: PendingReport, attempts: int, due: float, held: float
) -> None:
    """Let a report wait, unless somebody else has begun to send it: then it has other attempts."""
    connection.execute(
        "UPDATE decisions SET due = ?, held = ?"
        " WHERE name = ? AND epoch = ? AND status = 'pending' AND attempts = ?",
        (due, held, *report.key, attempts),
    )
