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
from deniable.client.sending.delivery import (
    Delivered,
    Drop,
    Enrol,
    PendingReport,
    Resend,
    Step,
    earliest_after,
)
from deniable.client.sending.outbox_rows import (
    Touched,
    begin_send,
    drop_exhausted,
    put_off,
    settle,
)
from deniable.client.state.state import State

__all__ = ["Outbox"]

_LOOK_SECONDS: Final = 3600


class Outbox:
    """One collector's reports that wait, and what became of those that were sent.

    Args:
        state: where they are durable. Every method raises ``StateUnavailable`` if it is not.
        collector: whose reports: no other collector ever gets them.
        caps: how much may wait.
        longest: no wait is longer, in seconds: what is due later shows that the clock was put back.
        enrols: whether there is an issuer to ask for another certificate.
    """

    def __init__(
        self,
        state: State,
        collector: str,
        caps: OutboxCaps,
        longest: float,
        *,
        enrols: bool = False,
    ) -> None:
        self._state = state
        self._enrols = enrols
        self._collector = collector
        self._caps = caps
        self._longest = longest

    def pending(self, now: float) -> list[PendingReport]:
        """Return the reports that may be sent, the one due first in front.

        There are none without consent, as it holds at this moment. What is over caps, or was sent
        for the last time, is dropped.
        """
        if self._state.consent(now).effective is not Consent.ON:
            return []  # and where there is no state yet, none was made
        with self._state.transaction(now) as connection:
            if self._state.effective_consent(connection) is not Consent.ON:
                return []
            dropped = drop_over_caps(connection, self._caps, self._lived(connection, now), now)
            dropped += drop_exhausted(connection, now)
            rows = connection.execute(
                "SELECT d.name, d.epoch, d.envelope, d.starts, d.closes, d.attempts, d.unanswered,"
                " d.due, d.held, c.renewal IS 0, c.renewal IS 1"
                " FROM decisions d LEFT JOIN credentials c"
                " ON c.name = d.name AND c.survey_id = d.survey_id AND c.epoch = d.epoch"
                " WHERE d.status = 'pending' AND d.origin = ?"
                # A row that rotted stays decided, and is of no other use.
                " AND typeof(d.envelope) = 'blob' AND typeof(d.due) || typeof(d.held) = 'realreal'"
                " AND typeof(d.starts) || typeof(d.closes) || typeof(d.attempts) ="
                " 'integerintegerinteger'",
                (self._collector,),
            ).fetchall()
            reports = [
                self._in_reach(connection, PendingReport(*row[:9], *map(bool, row[9:])), now)
                for row in rows
            ]
        if dropped:
            self._state.erase_remains()
        if not self._enrols:
            reports = [replace(report, renewable=False, renewing=False) for report in reports]
        return sorted(reports, key=lambda report: report.due)

    def _in_reach(
        self, connection: sqlite3.Connection, report: PendingReport, now: float
    ) -> PendingReport:
        """Return the report; if the clock was put back since, its wait begins anew (rule 7)."""
        if report.due <= max(now + self._longest, report.starts):
            return report
        rested = earliest_after(report.attempts, now)
        moved = replace(report, due=rested or now, held=rested)
        connection.execute(
            "UPDATE decisions SET due = ?, held = ? WHERE name = ? AND epoch = ?",
            (moved.due, moved.held, moved.name, moved.epoch),
        )
        return moved

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

    def unconsented(self, now: float) -> int | None:
        """Return how many reports wait for consent; None if it is there."""
        record = self._state.consent(now)
        if record.effective is Consent.ON:
            return None
        if record.since is None:
            return 0
        with self._state.transaction(now) as connection:
            (count,) = connection.execute(
                "SELECT count(*) FROM decisions WHERE status = 'pending' AND origin = ?",
                (self._collector,),
            ).fetchone()
        return int(count)

    def begin(
        self,
        batch: Sequence[PendingReport],
        until: float,
        now: float,
        others: Iterable[tuple[PendingReport, float]] = (),
    ) -> bool:
        """Count a send of these reports and claim them; tell whether all of them may be sent.

        Args:
            batch: as they were picked: what somebody else has touched since is not sent.
            until: they are due again then, Unix seconds, so that a process that is killed while it
                sends takes nothing along.
            now: Unix seconds.
            others: reports that are due as well, and their new times.
        """
        try:
            with self._state.transaction(now) as connection:
                if self._state.effective_consent(connection) is not Consent.ON:
                    return False
                for report in batch:
                    begin_send(connection, report, until, now)
                connection.executemany(
                    "UPDATE decisions SET due = ?"
                    " WHERE name = ? AND epoch = ? AND status = 'pending' AND due = ?",
                    [(due, other.name, other.epoch, other.due) for other, due in others],
                )
        except Touched:
            return False
        return True

    def still_wait(self, batch: Iterable[PendingReport], now: float) -> bool:
        """Tell whether these reports, whose sending has begun, may still be sent (rule 3)."""
        with self._state.transaction(now) as connection:
            if self._state.effective_consent(connection) is not Consent.ON:
                return False
            return all(
                connection.execute(
                    "SELECT count(*) FROM decisions"
                    " WHERE name = ? AND epoch = ? AND status = 'pending'",
                    (report.name, report.epoch),
                ).fetchone()[0]
                for report in batch
            )

    def take_back(self, batch: Iterable[PendingReport], now: float) -> None:
        """Record that a send which was begun did not leave the device: it does not count."""
        with self._state.transaction(now) as connection:
            for report in batch:
                connection.execute(
                    "UPDATE decisions SET attempts = attempts - 1, unanswered = unanswered - 1"
                    " WHERE name = ? AND epoch = ?",
                    (report.name, report.epoch),
                )
                put_off(connection, report, report.attempts, report.due, report.held)

    def follow(self, steps: Iterable[tuple[PendingReport, Step]], now: float) -> None:
        """Record what follows for each report of one request, all of it or nothing."""
        dropped = False
        with self._state.transaction(now) as connection:
            for report, step in steps:
                key = {"name": report.name, "epoch": report.epoch}
                if not _is_lost(step):
                    connection.execute(
                        "UPDATE decisions SET unanswered = unanswered - 1"
                        " WHERE name = :name AND epoch = :epoch",
                        key,
                    )
                if isinstance(step, (Delivered, Drop)):
                    status = "delivered" if isinstance(step, Delivered) else "dropped"
                    dropped = dropped or status == "dropped"
                    settle(connection, key, status, step.verdict, now)
                    continue
                if isinstance(step, Enrol):
                    renew_credential(connection, report.name, report.epoch, step.due)
                due = max(step.due, step.held)
                put_off(connection, report, report.attempts + 1, due, step.held)
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

    def _lived(self, connection: sqlite3.Connection, now: float) -> int:
        lived, looked_at = connection.execute("SELECT lived, looked_at FROM device").fetchone()
        # Not at each send, since it is a write to the disk.
        due = now - looked_at >= _LOOK_SECONDS
        return self._state.look_at_clock(connection, now) if due else int(lived)

    def _has_state(self, now: float) -> bool:
        return self._state.consent(now).since is not None  # asking makes none


def _is_lost(step: Step) -> bool:
    """Tell whether nobody knows what became of the send."""
    if isinstance(step, Resend):
        return step.code is None
    return isinstance(step, Drop) and not step.answered
