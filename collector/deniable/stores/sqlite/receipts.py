"""The receipts: what makes each report count exactly once."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence

from deniable.messages.receipt import Receipt
from deniable.stores.errors import StoreError
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.values import Verdict

_Row = tuple[int, int, bytes, int, int, int]
"""Survey, epoch and key, by which the tree is sorted; position in the group; response, issuer."""


def add_receipts(database: SqliteDatabase, receipts: Sequence[Receipt]) -> list[Verdict]:
    """Store receipts in one transaction; one verdict each, in their order."""
    verdicts = [Verdict.ACCEPTED] * len(receipts)
    rows: list[_Row] = []
    with database.transaction() as connection:
        admission = _Admission(database, connection)
        for position, (survey_id, epoch, key, response, issuer) in enumerate(receipts):
            terms = admission[survey_id, epoch, issuer]
            if isinstance(terms, Verdict):
                verdicts[position] = terms
            else:
                survey, vouched = terms
                rows.append((survey, epoch, key, position, response, vouched))
        for row in _insert(connection, rows):
            verdicts[row[3]] = _compare(connection, row)
        _count(connection, rows, verdicts)
    return verdicts


class _Admission(dict[tuple[bytes, int, bytes | None], Verdict | tuple[int, int]]):
    """By survey, epoch and issuer: the numbers of survey and issuer, or why nothing is taken.

    Each is looked up once in a transaction, and never kept beyond it (S4, S7).
    """

    def __init__(self, database: SqliteDatabase, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._database = database
        self._connection = connection

    def __missing__(self, origin: tuple[bytes, int, bytes | None]) -> Verdict | tuple[int, int]:
        survey_id, epoch, issuer = origin
        survey = self._database.survey(survey_id)
        terms = self[origin] = self._refusal(survey, epoch) or self._vouched(survey, issuer)
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


def _insert(connection: sqlite3.Connection, rows: list[_Row]) -> list[_Row]:
    """Insert receipts; return those whose key is there already, or came twice in this group.

    They are sorted: the tree takes neighbours with less work, and of one key the first goes first
    (S2).
    """
    rows.sort()
    repeated: list[_Row] = []

    def receipts() -> Iterator[tuple[int, int, bytes, int, int]]:
        # A row is asked for once the one before it is stored, so that what became of that one is
        # known here: each by a call of its own would cost half as much again.
        before = connection.total_changes
        for row in rows:
            survey, epoch, key, _, response, issuer = row
            yield survey, epoch, key, response, issuer
            after = connection.total_changes
            if after == before:
                repeated.append(row)
            before = after

    start = connection.total_changes
    connection.executemany(
        "INSERT INTO receipts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", receipts()
    )
    if connection.total_changes - start != len(rows) - len(repeated):
        raise StoreError("SQLite did not take the receipts one by one")
    return repeated


def _compare(connection: sqlite3.Connection, row: _Row) -> Verdict:
    survey, epoch, key, _, response, _ = row
    (first,) = connection.execute(
        "SELECT response FROM receipts WHERE survey = ? AND epoch = ? AND key = ?",
        (survey, epoch, key),
    ).fetchone()
    return Verdict.DUPLICATE if first == response else Verdict.CONFLICT


def _count(connection: sqlite3.Connection, rows: list[_Row], verdicts: list[Verdict]) -> None:
    counted = Counter(
        [
            (survey, epoch, issuer, response)
            for survey, epoch, _, position, response, issuer in rows
            if verdicts[position] is Verdict.ACCEPTED
        ]
    )
    connection.executemany(
        "INSERT INTO counts VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET reports = reports + excluded.reports",
        [(*cell, reports) for cell, reports in counted.items()],
    )
