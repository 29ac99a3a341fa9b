"""What may become of one report's row in the outbox, inside a transaction of it."""

import sqlite3
from collections.abc import Mapping

from deniable.client.sending.delivery import (
    MOST_SENDS,
    UNANSWERED,
    PendingReport,
    earliest_after,
)

__all__ = ["Touched", "begin_send", "drop_exhausted", "put_off", "settle"]


class Touched(Exception):
    """Somebody else has touched the report since it was picked."""


def begin_send(
    connection: sqlite3.Connection, report: PendingReport, until: float, now: float
) -> None:
    """Count a send of a report, or raise: the one place through which each send has to go."""
    rested = earliest_after(report.attempts + 1, now)
    begun = connection.execute(
        "UPDATE decisions SET attempts = attempts + 1, unanswered = unanswered + 1,"
        " due = :due, held = max(held, :rested) WHERE name = :name AND epoch = :epoch"
        " AND status = 'pending' AND attempts = :attempts AND due = :picked"
        " AND attempts < :most AND held <= :now",
        {
            "due": rested or until,
            "rested": rested,
            "name": report.name,
            "epoch": report.epoch,
            "attempts": report.attempts,
            "picked": report.due,
            "most": MOST_SENDS,
            "now": now,
        },
    ).rowcount
    if not begun:
        raise Touched


def put_off(
    connection: sqlite3.Connection, report: PendingReport, attempts: int, due: float, held: float
) -> None:
    """Let a report wait, unless somebody else has begun to send it: then it has other attempts."""
    connection.execute(
        "UPDATE decisions SET due = ?, held = ?"
        " WHERE name = ? AND epoch = ? AND status = 'pending' AND attempts = ?",
        (due, held, report.name, report.epoch, attempts),
    )


def settle(
    connection: sqlite3.Connection, key: Mapping[str, object], status: str, verdict: str, now: float
) -> None:
    """Deliver or drop a report; what was dropped meanwhile may still turn out to be delivered."""
    connection.execute(
        "UPDATE decisions SET status = :status, verdict = :verdict, settled = :now,"
        " envelope = CASE WHEN :status = 'dropped' THEN NULL ELSE envelope END"
        " WHERE name = :name AND epoch = :epoch AND"
        " (status = 'pending' OR (status = 'dropped' AND :status = 'delivered'))",
        {**key, "status": status, "verdict": verdict, "now": int(now)},
    )


def drop_exhausted(connection: sqlite3.Connection, now: float) -> int:
    """Drop what was sent for the last time and never answered: its process was killed."""
    return connection.execute(
        "UPDATE decisions SET status = 'dropped', verdict = ?, settled = ?, envelope = NULL"
        " WHERE status = 'pending' AND attempts >= ? AND due <= ?",
        (UNANSWERED, int(now), MOST_SENDS, now),
    ).rowcount
