"""What was counted of an epoch, shown or not."""

import sqlite3

from deniable.stores.cells import as_counts
from deniable.stores.digest import counts_digest

__all__ = ["counted", "digest"]


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
    return counts_digest(survey_id, epoch, as_counts(rows))
