"""Receipts in SQLite: each report counts once, and a sealed epoch's are erased in parts."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from deniable.stores.errors import StoreError
from deniable.stores.receipt import Receipt
from deniable.stores.rules.life import begin_pruning
from deniable.stores.rules.operating import find_survey
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.statements import ManyTimes, Rule, Statement, Verdict

_ERASED_AT_ONCE: Final = 10_000
_REWRITTEN_AT_ONCE: Final = 2_000
"""Receipts: some hundredths of a second, in which no report is stored."""
_REWRITTEN_AGAIN: Final = 400  # receipts: more than a page of 4,096 bytes has, twice


def rewrite(survey_id: bytes, epoch: int, after: bytes) -> Rule[bytes | None]:
    """Store some receipts of a sealed epoch anew, in the order of their keys (S5).

    A page of the file is filled in the order in which its rows come, until SQLite splits or tidies
    it: only the pointers to them are sorted. It costs some 3 microseconds a receipt.

    It goes on after the key that it returned before, empty to begin with; None once all are done.
    """
    survey, _ = yield from find_survey(survey_id)
    slot = (survey, epoch)
    # From a little before: only a page that is emptied is filled anew. In one of which some rows
    # stand the others come into the places that were left.
    ((start,),) = yield Statement(
        "SELECT coalesce((SELECT key FROM receipts WHERE survey = $1 AND epoch = $2 AND key <= $3"
        " ORDER BY key DESC LIMIT 1 OFFSET $4), x'')",
        (*slot, after, _REWRITTEN_AGAIN),
    )
    rows = yield Statement(
        "SELECT survey, epoch, key, response, issuer FROM receipts"
        " WHERE survey = $1 AND epoch = $2 AND key > $3 ORDER BY key LIMIT $4",
        (*slot, start, _REWRITTEN_AGAIN + _REWRITTEN_AT_ONCE),
    )
    if not rows or rows[-1][2] == after:
        return None
    last: bytes = rows[-1][2]
    yield Statement(
        "DELETE FROM receipts WHERE survey = $1 AND epoch = $2 AND key > $3 AND key <= $4",
        (*slot, start, last),
    )
    yield ManyTimes(
        "INSERT INTO receipts (survey, epoch, key, response, issuer) VALUES ($1, $2, $3, $4, $5)",
        rows,
    )
    return last


def erase(survey_id: bytes, epoch: int, now: int) -> Rule[int]:
    """Erase some receipts of a sealed epoch; return how many, 0 once none is left.

    Some at once, so that reports of other epochs are stored in between.
    """
    survey, _ = yield from begin_pruning(survey_id, epoch, now)
    erased = yield Statement(
        "DELETE FROM receipts WHERE survey = $1 AND epoch = $2 AND key <= coalesce("
        "(SELECT key FROM receipts WHERE survey = $1 AND epoch = $2"
        " ORDER BY key LIMIT 1 OFFSET $3), x'ffffffffffffffffffffffffffffffffff') RETURNING NULL",
        (survey, epoch, _ERASED_AT_ONCE - 1),
    )
    return len(erased)


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
