"""What is final: seals of epochs, the erasure that follows them, ends of surveys, distrust."""

import sqlite3
from typing import Final

from deniable.stores.sqlite.counting import counted, digest
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.store import KEPT_SECONDS, NotSealed, Seal

__all__ = ["distrust", "distrusted", "end", "ended", "erase", "seal", "seals", "standing_seal"]

_ERASED_AT_ONCE: Final = 10_000
"""Receipts: some hundredths of a second, in which no report is stored."""


def seal(database: SqliteDatabase, survey_id: bytes, epoch: int, now: int) -> Seal:
    """Seal an epoch for good; return the seal that stands."""
    with database.transaction() as connection:
        survey = database.survey(survey_id).number
        connection.execute(
            "INSERT INTO seals (survey, epoch, sealed_at, reports, digest)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                survey,
                epoch,
                now,
                counted(connection, survey, epoch),
                digest(connection, survey, survey_id, epoch),
            ),
        )
        standing = _standing(connection, survey, epoch)
    assert standing is not None
    return standing


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
        erased = connection.execute(
            "DELETE FROM receipts WHERE survey = ?1 AND epoch = ?2 AND key <= coalesce("
            "(SELECT key FROM receipts WHERE survey = ?1 AND epoch = ?2"
            " ORDER BY key LIMIT 1 OFFSET ?3), x'ffffffffffffffffffffffffffffffffff')",
            (*slot, _ERASED_AT_ONCE - 1),
        ).rowcount
        if not erased:
            connection.execute(
                "UPDATE seals SET pruned_at = coalesce(pruned_at, ?)"
                " WHERE survey = ? AND epoch = ?",
                (now, *slot),
            )
    return erased


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
