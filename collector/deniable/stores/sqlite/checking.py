"""The check: receipts against counts, counts against seals, figures against counts."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator

from deniable.stores.cells import Cells, StandingSeal, epoch_faults
from deniable.stores.sqlite.counting import digest

__all__ = ["faults"]

_SLOTS = """
    SELECT survey, survey_id, name, sequence, epoch FROM (
        SELECT survey, epoch FROM counts
        UNION SELECT survey, epoch FROM receipts
        UNION SELECT survey, epoch FROM seals
        UNION SELECT survey, epoch FROM published_counts
    ) JOIN surveys USING (survey) ORDER BY name, sequence, epoch
"""

_COUNTED = "SELECT issuer, response, reports FROM counts WHERE survey = ? AND epoch = ?"
_SHOWN = "SELECT issuer, response, reports FROM published_counts WHERE survey = ? AND epoch = ?"
_KEPT = "SELECT issuer, response FROM receipts WHERE survey = ? AND epoch = ?"
_SEAL = "SELECT reports, digest, pruning_at, pruned_at FROM seals WHERE survey = ? AND epoch = ?"


def faults(connection: sqlite3.Connection) -> list[str]:
    """Return a line for each thing that is not as it must be, all as of one moment."""
    connection.execute("BEGIN")
    try:
        # Of a file whose pages are damaged nothing else can be said.
        return list(_pages(connection)) or [*_references(connection), *_epochs(connection)]
    finally:
        connection.execute("ROLLBACK")


def _pages(connection: sqlite3.Connection) -> Iterator[str]:
    for (line,) in connection.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield f"the file is damaged: {line}"


def _references(connection: sqlite3.Connection) -> Iterator[str]:
    astray = Counter(table for table, *_ in connection.execute("PRAGMA foreign_key_check"))
    # Receipts declare no foreign keys, see the schema.
    (astray["receipts"],) = connection.execute(
        "SELECT count(*) FROM receipts WHERE survey NOT IN (SELECT survey FROM surveys)"
        " OR issuer NOT IN (SELECT issuer FROM issuers)"
    ).fetchone()
    for table, rows in astray.items():
        if rows:
            yield f"{table}: the survey or the issuer of {rows} rows is not in the store"


def _epochs(connection: sqlite3.Connection) -> Iterator[str]:
    for survey, survey_id, name, sequence, epoch in connection.execute(_SLOTS).fetchall():
        for fault in _epoch(connection, survey, survey_id, epoch):
            yield f"{name}, sequence {sequence}, epoch {epoch}: {fault}"


def _epoch(
    connection: sqlite3.Connection, survey: int, survey_id: bytes, epoch: int
) -> Iterator[str]:
    slot = (survey, epoch)
    in_counts = _cells(connection.execute(_COUNTED, slot))
    shown = _cells(connection.execute(_SHOWN, slot))
    # Counted here: SQLite would sort all receipts to group them.
    kept: Cells = Counter(connection.execute(_KEPT, slot))
    seal = connection.execute(_SEAL, slot).fetchone()
    yield from epoch_faults(
        kept,
        in_counts,
        shown,
        None if seal is None else StandingSeal(*seal),
        digest(connection, survey, survey_id, epoch),
    )


def _cells(rows: Iterable[tuple[int, int, int]]) -> Cells:
    return Counter({(issuer, response): reports for issuer, response, reports in rows})
