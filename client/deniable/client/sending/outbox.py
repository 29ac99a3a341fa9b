"""The outbox: decided reports on their way to the collector, as stored in the state.

1. A report is stored here before ``report()`` returns, and before anything may send it (D5).
2. The bytes of a report are the same for every send.
3. Consent is read in the transaction that picks reports to send, and again once the connection is
   open. Unless it is ON, no report is picked, and no byte of a picked one leaves.
4. Bytes are erased once useless or too old; the decision itself is never undone (D4).
5. A report ends as delivered or dropped: by an answer in the protocol's table, by the user, by
   age, or after its last send. Otherwise it waits, with its bytes (D8). A report dropped during its
   request becomes delivered if the collector then confirms it.
6. A send is counted before it happens, as unanswered until an answer comes. Whatever ends the
   process meanwhile, the journal contains the send. A send is uncounted only if the transport knows
   that nothing left the device.
7. A report is sent at most ``MOST_SENDS`` times. From the third send on, a day must pass since the
   previous one, across all threads, flushes and processes: ``begin`` counts and sets that time in
   one transaction. The day is by the device's clock: set back, it restarts the wait; set forward,
   it ends the wait, without more sends.
8. If several processes share a state, their threads send a report one at a time. The thread that
   picks a report claims it for as long as a request may take.
9. A report that bears a token leaves in the second half of its own epoch, or never.
10. A report that was decided with a relay is never sent without one (D13). It waits for a client
    with a relay until its epoch is closed.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
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
from deniable.client.state.erasing import erase_ended
from deniable.client.state.state import State
from deniable.client.state.transactions import kept
from deniable.client.survey import DAY
from deniable.client.threads import warn

_LOOK_SECONDS: Final = 3600
_MOST_DAYS: Final = 180
"""Days of use for which a report waits: a clock that jumps drops nothing."""
_CLAIM_SECONDS: Final = 2 * REQUEST_SECONDS
Others = Iterable[tuple[PendingReport, float]]
"""Other due reports, each with its new time."""


class SendCancelled(Exception):
    """The user, or another process, intervened between choosing a report and sending it."""


class Outbox:
    """A collector's waiting reports, and the results of reports that were sent.

    Every method raises ``StateUnavailable`` if the state cannot be used.

    Args:
        collector: the collector of these reports; no other ever gets them.
        relayed: whether a relay is between this device and the collector.
        longest: the longest wait, in seconds; a later due time shows that the clock was set back.
    """

    def __init__(
        self,
        state: State,
        collector: str,
        longest: float,
        issuer: NoIssuer,
        *,
        relayed: bool,
    ) -> None:
        self.state = state
        self._issuer = issuer
        self._relayed = relayed
        self._collector = collector
        self._longest = longest

    @kept
    def pending(self, now: float) -> list[PendingReport]:
        """Return the reports that may be sent, the first due first."""
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
        dropped = _drop_overdue(connection, self._lived(connection, now), now)
        dropped += connection.execute(  # last sent by a process that was then killed
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
            # A corrupted row stays decided, and is otherwise useless.
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
            drawn = report.opens if report.attempts else report.held  # for a blind survey's report
            if report.due > max(now + self._longest, report.starts, drawn):
                reports[number] = _wait_anew(connection, report, now, drawn)
        return sorted(reports, key=lambda report: report.due), dropped

    @kept
    def begin(self, report: PendingReport, now: float, others: Others = ()) -> bool:
        """Count a send of this report, and claim it for a while; return whether it may be sent.

        Each send is begun here. A report that changed since it was picked is not sent. The other
        due reports get new times.
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
        """Record that a begun send did not leave the device: it does not count."""
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
        # Only then: a reader may delay this for seconds, and the end of each flush does it too.
        if isinstance(step, Drop):
            self.state.erase_remains()

    def _wait_again(
        self, connection: sqlite3.Connection, report: PendingReport, step: Resend | Enrol
    ) -> None:
        """Let a report wait that was refused, or whose fate is unknown."""
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
    def end_flush(self, now: float) -> list[PendingReport]:
        """Erase settled reports, but no decisions; return the reports that may be sent."""
        with self.state.existing(now) as connection:
            if connection is None:
                return []
            erase_ended(connection, now)
            pending, _ = self._pending(connection, now)
        self.state.erase_remains()
        return pending

    def _lived(self, connection: sqlite3.Connection, now: float) -> int:
        lived, looked_at = connection.execute("SELECT lived, looked_at FROM device").fetchone()
        # Not at each send, since it writes to the disk.
        due = now - looked_at >= _LOOK_SECONDS
        return self.state.look_at_clock(connection, now) if due else int(lived)


def _drop_overdue(connection: sqlite3.Connection, lived: int, now: float) -> int:
    """Drop the reports of closed epochs that waited half a year of use; return how many."""
    dropped = connection.execute(
        "UPDATE decisions SET status = 'dropped', verdict = 'too-old', settled = ?, envelope = NULL"
        " WHERE status = 'pending' AND closes <= ? AND lived < ? AND typeof(lived) = 'integer'",
        (int(now), int(now), lived - _MOST_DAYS * DAY),
    ).rowcount
    if dropped:
        warn("reports that waited too long were dropped: %d", dropped)
    return dropped


def _deliver(
    connection: sqlite3.Connection, report: PendingReport, step: Delivered, now: float
) -> None:
    """Record that the collector has a report, even one that was dropped meanwhile."""
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
    """Let a report wait, unless its attempts show that another process has begun to send it."""
    connection.execute(
        "UPDATE decisions SET due = ?, held = ?"
        " WHERE name = ? AND epoch = ? AND status = 'pending' AND attempts = ?",
        (due, held, *report.key, attempts),
    )


def _wait_anew(
    connection: sqlite3.Connection, report: PendingReport, now: float, drawn: float
) -> PendingReport:
    """Restart a report's wait after the clock was set back; return the changed report (rule 7)."""
    rested = max(earliest_after(report.attempts, now), drawn)
    moved = replace(report, due=rested or now, held=rested)
    connection.execute(
        "UPDATE decisions SET due = ?, held = ? WHERE name = ? AND epoch = ?",
        (moved.due, moved.held, *report.key),
    )
    return moved
