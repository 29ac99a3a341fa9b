"""Reading and writing the rows of :mod:`deniable.stores.copying`."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final

from deniable.stores.copying import (
    ROWS_AT_ONCE,
    CountRow,
    DistrustRow,
    EndRow,
    ReceiptRow,
    RotationRow,
    Row,
    SealRow,
    ShownRow,
    SurveyRow,
    TokenRow,
)
from deniable.stores.store import NotEmpty

__all__ = ["check_empty", "read_rows", "write_rows"]

_READ: Final[dict[type[Row], str]] = {
    SurveyRow: "SELECT survey_id, name, sequence, minimum, envelope FROM surveys",
    RotationRow: "SELECT old_key, new_key, sequence, envelope FROM rotations ORDER BY rotation",
    DistrustRow: "SELECT public_key, distrusted_at FROM issuers WHERE distrusted_at IS NOT NULL",
    ReceiptRow: "SELECT survey_id, epoch, key, response, public_key"
    " FROM receipts CROSS JOIN surveys USING (survey) CROSS JOIN issuers USING (issuer)",
    CountRow: "SELECT survey_id, epoch, public_key, response, reports"
    " FROM counts JOIN surveys USING (survey) JOIN issuers USING (issuer)",
    ShownRow: "SELECT survey_id, epoch, public_key, response, reports"
    " FROM published_counts JOIN surveys USING (survey) JOIN issuers USING (issuer)",
    SealRow: "SELECT survey_id, epoch, sealed_at, reports, digest, pruning_at, pruned_at"
    " FROM seals JOIN surveys USING (survey)",
    EndRow: "SELECT survey_id, ended_at FROM ends JOIN surveys USING (survey)",
    TokenRow: "SELECT digest, role, label, created_at FROM tokens",
}

_WRITE: Final[dict[type[Row], str]] = {
    SurveyRow: "INSERT INTO surveys (survey_id, name, sequence, minimum, envelope)"
    " VALUES (?, ?, ?, ?, ?)",
    RotationRow: "INSERT INTO rotations (old_key, new_key, sequence, envelope) VALUES (?, ?, ?, ?)",
    DistrustRow: "INSERT INTO issuers (public_key, distrusted_at) VALUES (?, ?)",
    ReceiptRow: "INSERT INTO receipts (survey, epoch, key, response, issuer) VALUES"
    " ((SELECT survey FROM surveys WHERE survey_id = ?), ?, ?, ?,"
    " (SELECT issuer FROM issuers WHERE public_key = ?))",
    CountRow: "INSERT INTO counts (survey, epoch, issuer, response, reports) VALUES"
    " ((SELECT survey FROM surveys WHERE survey_id = ?), ?,"
    " (SELECT issuer FROM issuers WHERE public_key = ?), ?, ?)",
    ShownRow: "INSERT INTO published_counts (survey, epoch, issuer, response, reports) VALUES"
    " ((SELECT survey FROM surveys WHERE survey_id = ?), ?,"
    " (SELECT issuer FROM issuers WHERE public_key = ?), ?, ?)",
    SealRow: "INSERT INTO seals"
    " (survey, epoch, sealed_at, reports, digest, pruning_at, pruned_at) VALUES"
    " ((SELECT survey FROM surveys WHERE survey_id = ?), ?, ?, ?, ?, ?, ?)",
    EndRow: "INSERT INTO ends (survey, ended_at) VALUES"
    " ((SELECT survey FROM surveys WHERE survey_id = ?), ?)",
    TokenRow: "INSERT INTO tokens (digest, role, label, created_at) VALUES (?, ?, ?, ?)",
}


def read_rows(connection: sqlite3.Connection) -> Iterator[Sequence[Row]]:
    """Read everything; a transaction around it makes it one moment."""
    for kind, query in _READ.items():
        cursor = connection.execute(query)
        while rows := [kind(*row) for row in cursor.fetchmany(ROWS_AT_ONCE)]:
            yield rows


def check_empty(connection: sqlite3.Connection) -> None:
    """Check that a store holds nothing.

    Raises:
        NotEmpty: if it does.
    """
    for query in _READ.values():
        if connection.execute(f"{query} LIMIT 1").fetchone() is not None:
            raise NotEmpty("the store holds something already; restore into one that is new")


def write_rows(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Write rows of one type."""
    if not rows:
        return
    kind = type(rows[0])
    if issubclass(kind, ReceiptRow | CountRow | ShownRow):
        issuers = {row.issuer for row in rows if isinstance(row, ReceiptRow | CountRow | ShownRow)}
        connection.executemany(
            "INSERT INTO issuers (public_key) VALUES (?) ON CONFLICT DO NOTHING",
            [(issuer,) for issuer in issuers],
        )
    connection.executemany(_WRITE[kind], rows)
