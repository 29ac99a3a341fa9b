"""The receipts: what makes each report count exactly once."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence

from deniable.messages.receipt import Receipt
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.store import StoreError, Verdict

__all__ = ["add_receipts"]

_Row = tuple[int, int, bytes, int, int]
"""Survey, epoch, key, response and issuer, as the tables number them."""


def add_receipts(database: SqliteDatabase, receipts: Sequence[Receipt]) -> list[Verdict]:
    """Store receipts in one transaction; one verdict each, in their order."""
    verdicts = [Verdict.ACCEPTED] * len(receipts)
    with database.transaction() as connection:
        admission = _Admission(database, connection)
        rows: list[_Row] = []
        positions: list[int] = []
        for position, (survey_id, epoch, key, response, issuer) in enumerate(receipts):
            terms = admission[survey_id, epoch, issuer]
            if isinstance(terms, Verdict):
                verdicts[position] = terms
            else:
                survey, vouched = terms
                rows.append((survey, epoch, key, response, vouched))
                positions.append(position)
        repeated = _insert(connection, rows)
        for index in repeated:
            verdicts[positions[index]] = _compare(connection, rows[index])
        for index in sorted(repeated, reverse=True):
            del rows[index]
        counted = Counter(
            (survey, epoch, issuer, response) for survey, epoch, _, response, issuer in rows
        )
        connection.executemany(
            "INSERT INTO counts VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET reports = reports + excluded.reports",
            [(*cell, reports) for cell, reports in counted.items()],
        )
    return verdicts


class _Admission(dict[tuple[bytes, int, bytes | None], Verdict | tuple[int, int]]):
    """By survey, epoch and issuer: the numbers of survey and issuer, or why nothing is taken.

    Each is looked up once in a transaction, and never kept beyond it (S4, S7).
    """

    def __init__(self, database: SqliteDatabase, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._database = database
        self._connection = connection

    def __missing__(self, asked: tuple[bytes, int, bytes | None]) -> Verdict | tuple[int, int]:
        survey_id, epoch, issuer = asked
        survey = self._database.survey(survey_id).number
        terms = self[asked] = self._refusal(survey, epoch) or self._vouched(survey, issuer)
        return terms

    def _refusal(self, survey: int, epoch: int) -> Verdict | None:
        ended, sealed = self._connection.execute(
            "SELECT EXISTS (SELECT 1 FROM ends WHERE survey = :survey),"
            " EXISTS (SELECT 1 FROM seals WHERE survey = :survey AND epoch = :epoch)",
            {"survey": survey, "epoch": epoch},
        ).fetchone()
        if ended:
            return Verdict.ENDED
        return Verdict.SEALED if sealed else None

    def _vouched(self, survey: int, issuer: bytes | None) -> Verdict | tuple[int, int]:
        row = self._connection.execute(
            "SELECT issuer, distrusted_at FROM issuers WHERE public_key = ?", (issuer or b"",)
        ).fetchone()
        if row is None:
            row = self._connection.execute(
                "INSERT INTO issuers (public_key) VALUES (?) RETURNING issuer, distrusted_at",
                (issuer,),
            ).fetchone()
        number, distrusted_at = row
        return (survey, number) if distrusted_at is None else Verdict.DISTRUSTED


def _insert(connection: sqlite3.Connection, rows: Sequence[_Row]) -> list[int]:
    """Insert receipts in the order of the tree, of one key the first first (S2).

    Returns:
        The indices of those that were not new.
    """
    order = sorted(range(len(rows)), key=lambda index: rows[index][:3])
    repeated: list[int] = []

    def each() -> Iterator[_Row]:
        # A row is asked for once the one before it is stored: what changed is known by then, and
        # one executemany costs a third of as many calls.
        before = connection.total_changes
        for index in order:
            yield rows[index]
            after = connection.total_changes
            if after == before:
                repeated.append(index)
            before = after

    start = connection.total_changes
    connection.executemany(
        "INSERT INTO receipts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", each()
    )
    if connection.total_changes - start != len(rows) - len(repeated):
        raise StoreError("SQLite took the receipts in another order than they were given")
    return repeated


def _compare(connection: sqlite3.Connection, row: _Row) -> Verdict:
    """Say whether the receipt that stands has the same response."""
    survey, epoch, key, response, _ = row
    (first,) = connection.execute(
        "SELECT response FROM receipts WHERE survey = ? AND epoch = ? AND key = ?",
        (survey, epoch, key),
    ).fetchone()
    return Verdict.DUPLICATE if first == response else Verdict.CONFLICT
