"""The outbox: decided reports on their way to the collector, as the state holds them.

The bytes of a report are the same at every send. They are erased once they are of no more use; the
decision itself is never undone (D4).
"""

from dataclasses import dataclass, field

from deniable.client.memo import erase_ended_memos
from deniable.client.state import State

__all__ = ["Outbox", "PendingReport"]


@dataclass(frozen=True, slots=True)
class PendingReport:
    """A report that waits to be sent.

    Attributes:
        name: the survey's name.
        epoch: the decided epoch; with the name, its key in the state.
        envelope: the signed bytes, the same at every send.
        starts: when the epoch begins, Unix seconds.
        closes: when the collector stops taking it, Unix seconds.
        attempts: sends so far.
        unanswered: sends whose fate is unknown.
        due: when to send next, Unix seconds.
        held: not before, because the collector asked so, Unix seconds.
    """

    name: str
    epoch: int
    envelope: bytes = field(repr=False)
    starts: int
    closes: int
    attempts: int
    unanswered: int
    due: float
    held: float


class Outbox:
    """One collector's reports that wait, and what became of those that were sent.

    Args:
        state: where they are durable. Every method raises ``StateUnavailable`` if it is not.
        collector: whose reports: no other collector ever gets them.
    """

    def __init__(self, state: State, collector: str) -> None:
        self._state = state
        self._collector = collector

    def pending(self, now: float) -> list[PendingReport]:
        """Return the reports that wait, the one due first in front."""
        with self._state.transaction(now) as connection:
            rows = connection.execute(
                "SELECT name, epoch, envelope, starts, closes, attempts, unanswered, due, held"
                " FROM decisions WHERE status = 'pending' AND origin = ?"
                # A row that rotted stays decided, and is of no other use.
                " AND typeof(envelope) = 'blob' AND typeof(starts) || typeof(closes) ="
                " 'integerinteger' AND typeof(due) || typeof(held) = 'realreal' ORDER BY due",
                (self._collector,),
            ).fetchall()
        return [PendingReport(*row) for row in rows]

    def postpone(self, report: PendingReport, due: float, *, answered: bool, now: float) -> None:
        """Keep a report's bytes for another send; an answer asks not to come before it."""
        with self._state.transaction(now) as connection:
            connection.execute(
                "UPDATE decisions SET attempts = attempts + 1, unanswered = unanswered + ?,"
                " due = ?, held = ? WHERE name = ? AND epoch = ? AND status = 'pending'",
                (not answered, due, due if answered else 0, report.name, report.epoch),
            )

    def reschedule(self, report: PendingReport, due: float, now: float) -> None:
        """Give a report that was not sent another time."""
        with self._state.transaction(now) as connection:
            connection.execute(
                "UPDATE decisions SET due = ? WHERE name = ? AND epoch = ?",
                (due, report.name, report.epoch),
            )

    def settle(self, report: PendingReport, status: str, verdict: str, now: float) -> None:
        """Record the end of a report: ``delivered``, or ``dropped`` with its bytes erased."""
        with self._state.transaction(now) as connection:
            connection.execute(
                "UPDATE decisions SET status = ?, verdict = ?, settled = ?,"
                " attempts = attempts + 1,"
                " envelope = CASE WHEN ? = 'dropped' THEN NULL ELSE envelope END"
                " WHERE name = ? AND epoch = ? AND status = 'pending'",
                (status, verdict, int(now), status, report.name, report.epoch),
            )
        if status == "dropped":
            self._state.truncate_log()

    def erase_settled(self, now: float) -> None:
        """Erase what is delivered and past its grace (D9), and old memo keys; decisions stay."""
        with self._state.transaction(now) as connection:
            erased = connection.execute(
                "UPDATE decisions SET envelope = NULL"
                " WHERE status != 'pending' AND closes <= ? AND envelope IS NOT NULL",
                (int(now),),
            ).rowcount
            ended = erase_ended_memos(connection, now)
        if erased or ended:
            self._state.truncate_log()
