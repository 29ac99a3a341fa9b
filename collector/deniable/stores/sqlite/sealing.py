"""What is final: seals of epochs, the erasure that follows them, ends of surveys, distrust."""

import sqlite3
from typing import Final

from deniable.stores.sqlite.counting import counted, digest
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.store import KEPT_SECONDS, NotSealed, Seal

__all__ = [
    "distrust",
    "distrusted",
    "end",
    "ended",
    "erase",
    "finish_erasing",
    "rewrite",
    "seal",
    "seals",
    "standing_seal",
]

_ERASED_AT_ONCE: Final = 10_000
_REWRITTEN_AT_ONCE: Final = 2_000
"""Receipts: some hundredths of a second, in which no report is stored."""
_REWRITTEN_AGAIN: Final = 400
"""Receipts: more than a page of 4,096 bytes has, twice."""


def seal(database: SqliteDatabase, survey_id: bytes, epoch: int, now: int) -> tuple[Seal, bool]:
    """Seal an epoch for good; return the seal that stands, and if it is this one."""
    with database.transaction() as connection:
        survey = database.survey(survey_id).number
        made = connection.execute(
            "INSERT INTO seals (survey, epoch, sealed_at, reports, digest)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                survey,
                epoch,
                now,
                counted(connection, survey, epoch),
                digest(connection, survey, survey_id, epoch),
            ),
        ).rowcount
        standing = _standing(connection, survey, epoch)
    assert standing is not None
    return standing, made > 0


def standing_seal(database: SqliteDatabase, survey_id: bytes, epoch: int) -> Seal | None:
    """Return the seal of an epoch; None while it has none."""
    with database.reading() as connection:
        return _standing(connection, database.survey(survey_id).number, epoch)


def _standing(connection: sqlite3.Connection, survey: int, epoch: int) -> Seal | None:
    row = connection.execute(
        "SELECT epoch, sealed_at, reports, digest, pruned_at FROM seals"
        " WHERE survey = ? AND epoch = ?",
        (survey, epoch),
    ).fetchone()
    return None if row is None else Seal(*row)


def rewrite(database: SqliteDatabase, survey_id: bytes, epoch: int, after: bytes) -> bytes | None:
    """Store some receipts of a sealed epoch anew, in the order of their keys (S5).

    A page of the file is filled in the order in which its rows come, until SQLite splits or tidies
    it: only the pointers to them are sorted. It costs some 3 microseconds a receipt.

    Args:
        database: the store.
        survey_id: whose.
        epoch: a sealed one.
        after: the key that what is stored anew comes after; empty to begin with.

    Returns:
        The last key of them; None once all are done.
    """
    with database.transaction() as connection:
        slot = (database.survey(survey_id).number, epoch)
        # From a little before: only a page that is emptied is filled anew. In one of which some
        # rows stand the others come into the places that were left.
        (start,) = connection.execute(
            "SELECT coalesce((SELECT key FROM receipts WHERE survey = ? AND epoch = ? AND key <= ?"
            " ORDER BY key DESC LIMIT 1 OFFSET ?), x'')",
            (*slot, after, _REWRITTEN_AGAIN),
        ).fetchone()
        rows = connection.execute(
            "SELECT survey, epoch, key, response, issuer FROM receipts"
            " WHERE survey = ? AND epoch = ? AND key > ? ORDER BY key LIMIT ?",
            (*slot, start, _REWRITTEN_AGAIN + _REWRITTEN_AT_ONCE),
        ).fetchall()
        if not rows or rows[-1][2] == after:
            return None
        last: bytes = rows[-1][2]
        connection.execute(
            "DELETE FROM receipts WHERE survey = ? AND epoch = ? AND key > ? AND key <= ?",
            (*slot, start, last),
        )
        connection.executemany(
            "INSERT INTO receipts (survey, epoch, key, response, issuer) VALUES (?, ?, ?, ?, ?)",
            rows,
        )
    return last


def seals(database: SqliteDatabase, survey_id: bytes) -> list[Seal]:
    """Return the seals of a survey, by epoch."""
    with database.reading() as connection:
        rows = connection.execute(
            "SELECT epoch, sealed_at, reports, digest, pruned_at FROM seals"
            " WHERE survey = ? ORDER BY epoch",
            (database.survey(survey_id).number,),
        )
        return [Seal(*row) for row in rows]


def erase(database: SqliteDatabase, survey_id: bytes, epoch: int, now: int) -> int:
    """Erase some receipts of a sealed epoch; return how many, 0 once none is left.

    Some at once, so that reports of other epochs are stored in between.
    """
    with database.transaction() as connection:
        slot = (database.survey(survey_id).number, epoch)
        row = connection.execute(
            "SELECT sealed_at FROM seals WHERE survey = ? AND epoch = ?", slot
        ).fetchone()
        if row is None or now - int(row[0]) < KEPT_SECONDS:
            raise NotSealed(f"epoch {epoch} was not sealed at least 24 hours ago")
        connection.execute(
            "UPDATE seals SET pruning_at = coalesce(pruning_at, ?) WHERE survey = ? AND epoch = ?",
            (now, *slot),
        )
        return connection.execute(
            "DELETE FROM receipts WHERE survey = ? AND epoch = ? AND key <= coalesce("
            "(SELECT key FROM receipts WHERE survey = ? AND epoch = ?"
            " ORDER BY key LIMIT 1 OFFSET ?), x'ffffffffffffffffffffffffffffffffff')",
            (*slot, *slot, _ERASED_AT_ONCE - 1),
        ).rowcount


def finish_erasing(database: SqliteDatabase, survey_id: bytes, epoch: int, now: int) -> None:
    """Note that the receipts of an epoch, of which none is left, are out of the log too (S6).

    While somebody reads from the log, it stays unnoted, so that it is due again.
    """
    if not database.truncate_log():
        return
    with database.transaction() as connection:
        connection.execute(
            "UPDATE seals SET pruned_at = coalesce(pruned_at, ?) WHERE survey = ? AND epoch = ?",
            (now, database.survey(survey_id).number, epoch),
        )


def end(database: SqliteDatabase, survey_id: bytes, now: int) -> None:
    """End a survey for good."""
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO ends (survey, ended_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (database.survey(survey_id).number, now),
        )


def ended(database: SqliteDatabase) -> dict[bytes, int]:
    """Return the ids of ended surveys, and when they ended."""
    with database.reading() as connection:
        return dict(
            connection.execute("SELECT survey_id, ended_at FROM ends JOIN surveys USING (survey)")
        )


def distrust(database: SqliteDatabase, issuer: bytes, now: int) -> None:
    """Take no further report that this issuer vouches for."""
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO issuers (public_key, distrusted_at) VALUES (?, ?) ON CONFLICT DO UPDATE"
            " SET distrusted_at = coalesce(distrusted_at, excluded.distrusted_at)",
            (issuer, now),
        )


def distrusted(database: SqliteDatabase) -> frozenset[bytes]:
    """Return the public keys of the issuers that are not trusted any more."""
    with database.reading() as connection:
        rows = connection.execute("SELECT public_key FROM issuers WHERE distrusted_at IS NOT NULL")
        return frozenset(public_key for (public_key,) in rows)
