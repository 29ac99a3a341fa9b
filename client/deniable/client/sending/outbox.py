"""The outbox: decided reports on their way to the collector, as the state holds them.

1. A report is here before ``report()`` returns, and before anything may send it (D5).
2. The bytes of a report are the same at every send.
3. Consent is read in the transaction that picks reports to send: none is picked unless it is ON.
4. Bytes are erased once they are of no more use, or over the caps; the decision itself is never
   undone (D4).
5. A report ends delivered or dropped: by an answer that the protocol's table knows, by the user, or
   by a cap. After anything else it waits, and its bytes with it (D8). What was dropped while a
   request was under way is delivered all the same, if the collector then says so.
6. A send is counted before it happens, as one without an answer, until an answer comes: whatever
   ends the process meanwhile, the journal owns up to it.
7. Of several processes on one state, the threads send a report one at a time: whoever picks it
   claims it for as long as a request may take.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from deniable.client.consent import Consent
from deniable.client.ledger.caps import OutboxCaps, drop_over_caps
from deniable.client.ledger.credentials import erase_ended_credentials, renew_credential
from deniable.client.ledger.memo import erase_ended_memos
from deniable.client.ledger.previews import discard_previews
from deniable.client.sending.delivery import Delivered, Drop, Enrol, PendingReport, Step
from deniable.client.state.state import State
from deniable.client.state.tallies import look_at_clock

__all__ = ["Outbox"]

_LOOK_SECONDS: Final = 3600


class Outbox:
    """One collector's reports that wait, and what became of those that were sent.

    Args:
        state: where they are durable. Every method raises ``StateUnavailable`` if it is not.
        collector: whose reports: no other collector ever gets them.
        caps: how much may wait.
        enrols: whether there is an issuer to ask for another certificate.
    """

    def __init__(
        self, state: State, collector: str, caps: OutboxCaps, *, enrols: bool = False
    ) -> None:
        self._state = state
        self._enrols = enrols
        self._collector = collector
        self._caps = caps

    def pending(self, now: float) -> list[PendingReport]:
        """Return the reports that may be sent, the one due first in front; drop what is over caps.

        There are none without consent, as it holds at this moment.
        """
        if self._state.consent(now).effective is not Consent.ON:
            return []  # and where there is no state yet, none was made
        with self._state.transaction(now) as connection:
            if self._state.effective_consent(connection) is not Consent.ON:
                return []
            dropped = drop_over_caps(connection, self._caps, _lived(connection, now), now)
            rows = connection.execute(
                "SELECT d.name, d.epoch, d.envelope, d.starts, d.closes, d.attempts, d.unanswered,"
                " d.due, d.held, c.renewal FROM decisions d LEFT JOIN credentials c"
                " ON c.name = d.name AND c.survey_id = d.survey_id AND c.epoch = d.epoch"
                " WHERE d.status = 'pending' AND d.origin = ?"
                # A row that rotted stays decided, and is of no other use.
                " AND typeof(d.envelope) = 'blob' AND typeof(d.starts) || typeof(d.closes) ="
                " 'integerinteger' AND typeof(d.due) || typeof(d.held) = 'realreal'"
                " ORDER BY d.due",
                (self._collector,),
            ).fetchall()
        if dropped:
            self._state.erase_remains()
        reports = [(PendingReport(*row[:-1]), row[-1]) for row in rows]
        if not self._enrols:
            return [report for report, _ in reports]
        return [
            replace(report, renewable=renewal == 0, renewing=renewal == 1)
            for report, renewal in reports
        ]

    def dropped(self, now: float) -> Mapping[str, int]:
        """Return how many of the collector's reports were ever dropped, by reason."""
        if not self._has_state(now):
            return {}
        with self._state.transaction(now) as connection:
            rows = connection.execute(
                "SELECT verdict, count(*) FROM decisions WHERE status = 'dropped' AND origin = ?"
                " GROUP BY verdict ORDER BY verdict",
                (self._collector,),
            ).fetchall()
        return dict(rows)

    def claim(
        self,
        reports: Iterable[PendingReport],
        until: float,
        others: Iterable[tuple[PendingReport, float]],
        now: float,
    ) -> list[PendingReport]:
        """Claim what is about to be sent, and give others that are due new times.

        Returns:
            What nobody else has claimed since it was picked. It is due again at ``until``, so that
            a process that is killed while it sends takes nothing along.
        """
        with self._state.transaction(now) as connection:
            claimed = [
                replace(report, due=until)
                for report in reports
                if _moved(connection, report, until)
            ]
            for other, due in others:
                _moved(connection, other, due)
        return claimed

    def begin_sending(self, batch: Sequence[PendingReport], now: float) -> bool:
        """Count a send of these reports; tell whether all of them may still be sent."""
        with self._state.transaction(now) as connection:
            if self._state.effective_consent(connection) is not Consent.ON:
                return False
            keys = [(report.name, report.epoch) for report in batch]
            waiting = sum(
                connection.execute(
                    "SELECT count(*) FROM decisions"
                    " WHERE name = ? AND epoch = ? AND status = 'pending'",
                    key,
                ).fetchone()[0]
                for key in keys
            )
            if waiting < len(batch):
                return False
            connection.executemany(
                "UPDATE decisions SET attempts = attempts + 1, unanswered = unanswered + 1"
                " WHERE name = ? AND epoch = ?",
                keys,
            )
        return True

    def split(self, batch: Iterable[PendingReport], now: float) -> None:
        """Record that a request was answered, and nothing became of any report in it."""
        with self._state.transaction(now) as connection:
            for report in batch:
                _count_answer(connection, report)

    def follow(self, steps: Iterable[tuple[PendingReport, Step]], now: float) -> None:
        """Record what follows for each report of one request, all of it or nothing."""
        dropped = False
        with self._state.transaction(now) as connection:
            for report, step in steps:
                status, verdict, due, held, answered = _columns(step, report)
                dropped = dropped or status == "dropped"
                if answered:
                    _count_answer(connection, report)
                if isinstance(step, Enrol):
                    renew_credential(connection, report.name, report.epoch, step.due)
                connection.execute(
                    "UPDATE decisions SET status = ?1, verdict = ?2, due = ?3, held = ?4,"
                    " settled = CASE WHEN ?1 = 'pending' THEN NULL ELSE ?5 END,"
                    " envelope = CASE WHEN ?1 = 'dropped' THEN NULL ELSE envelope END"
                    " WHERE name = ?6 AND epoch = ?7"
                    " AND (status = 'pending' OR (status = 'dropped' AND ?1 = 'delivered'))",
                    (status, verdict, due, held, int(now), report.name, report.epoch),
                )
        if dropped:
            self._state.erase_remains()

    def erase_settled(self, now: float) -> None:
        """Erase what is delivered and past its grace (D9), old certificates and memo keys.

        Decisions stay.

        Previews go too once consent is ON again, which only the environment had lowered.
        """
        if not self._has_state(now):
            return
        with self._state.transaction(now) as connection:
            connection.execute(
                "UPDATE decisions SET envelope = NULL"
                " WHERE status != 'pending' AND closes <= ? AND envelope IS NOT NULL",
                (int(now),),
            )
            erase_ended_memos(connection, now)
            erase_ended_credentials(connection, now)
            if self._state.effective_consent(connection) is Consent.ON:
                discard_previews(connection)
        self._state.erase_remains()
        self._state.erase_old_damaged(now)

    def _has_state(self, now: float) -> bool:
        return self._state.consent(now).since is not None  # asking makes none


def _moved(connection: sqlite3.Connection, report: PendingReport, due: float) -> bool:
    """Give a report another time; tell whether it still had the one with which it was picked."""
    changed = connection.execute(
        "UPDATE decisions SET due = ?"
        " WHERE name = ? AND epoch = ? AND status = 'pending' AND due = ?",
        (due, report.name, report.epoch, report.due),
    ).rowcount
    return changed == 1


def _count_answer(connection: sqlite3.Connection, report: PendingReport) -> None:
    connection.execute(
        "UPDATE decisions SET unanswered = unanswered - 1 WHERE name = ? AND epoch = ?",
        (report.name, report.epoch),
    )


def _lived(connection: sqlite3.Connection, now: float) -> int:
    lived, looked_at = connection.execute("SELECT lived, looked_at FROM device").fetchone()
    # Not at each send, since it is a write to the disk.
    return look_at_clock(connection, now) if now - looked_at >= _LOOK_SECONDS else int(lived)


def _columns(step: Step, report: PendingReport) -> tuple[str, str, float, float, bool]:
    """Return status, verdict, due, held, and whether the send was answered."""
    if isinstance(step, Delivered):
        return "delivered", step.verdict, report.due, report.held, True
    if isinstance(step, Drop):
        return "dropped", step.verdict, report.due, report.held, True
    if isinstance(step, Enrol):
        return "pending", "", step.due, 0.0, True
    # An answer asks not to come before its time; silence does not.
    return "pending", "", step.due, step.due if step.answered else 0.0, step.answered
