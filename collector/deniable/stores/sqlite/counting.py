"""What was counted of an epoch, shown or not."""

import sqlite3

from deniable.stores.digest import counts_digest
from deniable.stores.store import Counts

__all__ = ["as_counts", "counted", "digest"]


def counted(connection: sqlite3.Connection, survey: int, epoch: int) -> int:
    """Return how many reports were counted in an epoch."""
    (reports,) = connection.execute(
        "SELECT coalesce(sum(reports), 0) FROM counts WHERE survey = ? AND epoch = ?",
        (survey, epoch),
    ).fetchone()
    return int(reports)


def digest(connection: sqlite3.Connection, survey: int, survey_id: bytes, epoch: int) -> bytes:
    """Return the digest of all that was counted in an epoch."""
    rows = connection.execute(
        "SELECT public_key, response, reports FROM counts JOIN issuers USING (issuer)"
        " WHERE survey = ? AND epoch = ?",
        (survey, epoch),
    ).fetchall()
    responses = 1 + max((response for _, response, _ in rows), default=-1)
    return counts_digest(survey_id, epoch, as_counts(rows, responses))


def as_counts(rows: list[tuple[bytes, int, int]], responses: int) -> Counts:
    """Return rows of issuer, response and reports as counts; the issuer b"" is nobody."""
    counts: Counts = {}
    for issuer, response, reports in rows:
        counts.setdefault(issuer or None, [0] * responses)[response] = reports
    return counts
