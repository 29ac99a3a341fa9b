"""What is final: seals of epochs, the erasure that follows them, ends of surveys, distrust."""

import asyncio
from typing import Final

from deniable.stores.cells import as_counts
from deniable.stores.digest import counts_digest
from deniable.stores.postgres.connections import Connection
from deniable.stores.postgres.counting import counted
from deniable.stores.postgres.locks import ISSUERS, lock, of_end, of_epoch
from deniable.stores.postgres.publishing import find_survey
from deniable.stores.store import KEPT_SECONDS, NotSealed, Seal

__all__ = ["distrust", "distrusted", "end", "ended", "erase", "seal", "seals", "standing_seal"]

_ERASED_AT_ONCE: Final = 10_000
"""Receipts: some hundredths of a second, so that no transaction is long."""
_LAST_KEY: Final = b"\xff" * 16


async def seal(connection: Connection, survey_id: bytes, epoch: int, now: int) -> Seal:
    """Seal an epoch for good, within a transaction; return the seal that stands.

    The lock waits for every group that is being stored, and keeps out all others until the commit:
    what is counted then is what the digest is of (S4).
    """
    survey, _ = await find_survey(connection, survey_id)
    await lock(connection, of_epoch(survey, epoch))
    standing = await _standing(connection, survey, epoch)
    if standing is not None:
        return standing
    rows = await counted(connection, survey, epoch)
    new = Seal(
        epoch=epoch,
        sealed_at=now,
        reports=sum(reports for _, _, reports in rows),
        digest=await asyncio.to_thread(
            lambda: counts_digest(survey_id, epoch, as_counts(rows)),
        ),
        pruned_at=None,
    )
    await connection.execute(
        "INSERT INTO deniable.seals (survey, epoch, sealed_at, reports, digest)"
        " VALUES ($1, $2, $3, $4, $5)",
        survey,
        epoch,
        new.sealed_at,
        new.reports,
        new.digest,
    )
    # Nobody adds to the slots any more: one of them can hold what all do.
    await connection.execute(
        "WITH others AS ("
        "  DELETE FROM deniable.counts WHERE survey = $1 AND epoch = $2 AND slot <> 0"
        "  RETURNING issuer, response, reports"
        ") INSERT INTO deniable.counts AS c (slot, survey, epoch, issuer, response, reports)"
        " SELECT 0, $1, $2, issuer, response, sum(reports) FROM others GROUP BY issuer, response"
        # A restored store has counts there already.
        " ON CONFLICT (survey, epoch, issuer, response, slot)"
        " DO UPDATE SET reports = c.reports + excluded.reports",
        survey,
        epoch,
    )
    return new


async def seals(connection: Connection, survey_id: bytes) -> list[Seal]:
    """Return the seals of a survey, by epoch."""
    survey, _ = await find_survey(connection, survey_id)
    rows = await connection.fetch(
        "SELECT epoch, sealed_at, reports, digest, pruned_at FROM deniable.seals"
        " WHERE survey = $1 ORDER BY epoch",
        survey,
    )
    return [Seal(*row) for row in rows]


async def standing_seal(connection: Connection, survey_id: bytes, epoch: int) -> Seal | None:
    """Return the seal of an epoch; None while it has none."""
    survey, _ = await find_survey(connection, survey_id)
    return await _standing(connection, survey, epoch)


async def _standing(connection: Connection, survey: int, epoch: int) -> Seal | None:
    row = await connection.fetchrow(
        "SELECT epoch, sealed_at, reports, digest, pruned_at FROM deniable.seals"
        " WHERE survey = $1 AND epoch = $2",
        survey,
        epoch,
    )
    return None if row is None else Seal(*row)


async def erase(connection: Connection, survey_id: bytes, epoch: int, now: int) -> int:
    """Erase some receipts of a sealed epoch, within a transaction.

    Returns:
        How many; 0 once none is left.
    """
    survey, _ = await find_survey(connection, survey_id)
    slot = (survey, epoch)
    # The row is locked: of two that prune at once, each sees what the other has left.
    sealed_at = await connection.fetchval(
        "SELECT sealed_at FROM deniable.seals WHERE survey = $1 AND epoch = $2 FOR UPDATE", *slot
    )
    if sealed_at is None or now - int(sealed_at) < KEPT_SECONDS:
        raise NotSealed(f"epoch {epoch} was not sealed at least 24 hours ago")
    await connection.execute(
        "UPDATE deniable.seals SET pruning_at = $3"
        " WHERE survey = $1 AND epoch = $2 AND pruning_at IS NULL",
        *slot,
        now,
    )
    last = await connection.fetchval(
        "SELECT key FROM deniable.receipts WHERE survey = $1 AND epoch = $2"
        " ORDER BY key LIMIT 1 OFFSET $3",
        *slot,
        _ERASED_AT_ONCE - 1,
    )
    answer = await connection.execute(
        "DELETE FROM deniable.receipts WHERE survey = $1 AND epoch = $2 AND key <= $3",
        *slot,
        _LAST_KEY if last is None else last,
    )
    erased = int(answer.rpartition(" ")[2])
    if not erased:
        await connection.execute(
            "UPDATE deniable.seals SET pruned_at = $3"
            " WHERE survey = $1 AND epoch = $2 AND pruned_at IS NULL",
            *slot,
            now,
        )
    return erased


async def end(connection: Connection, survey_id: bytes, now: int) -> None:
    """End a survey for good, within a transaction: once it is committed nothing more is taken."""
    survey, _ = await find_survey(connection, survey_id)
    await lock(connection, of_end(survey))
    await connection.execute(
        "INSERT INTO deniable.ends (survey, ended_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        survey,
        now,
    )


async def ended(connection: Connection) -> dict[bytes, int]:
    """Return the ids of ended surveys, and when they ended."""
    rows = await connection.fetch(
        "SELECT survey_id, ended_at FROM deniable.ends JOIN deniable.surveys USING (survey)"
    )
    return {row["survey_id"]: row["ended_at"] for row in rows}


async def distrust(connection: Connection, issuer: bytes, now: int) -> None:
    """Take no further report that this issuer vouches for, from the commit on."""
    await lock(connection, ISSUERS)
    await connection.execute(
        "INSERT INTO deniable.issuers AS i (issuer, public_key, distrusted_at)"
        " SELECT max(issuer) + 1, $1, $2 FROM deniable.issuers"
        " ON CONFLICT (public_key)"
        " DO UPDATE SET distrusted_at = coalesce(i.distrusted_at, excluded.distrusted_at)",
        issuer,
        now,
    )


async def distrusted(connection: Connection) -> frozenset[bytes]:
    """Return the public keys of the issuers that are not trusted any more."""
    rows = await connection.fetch(
        "SELECT public_key FROM deniable.issuers WHERE distrusted_at IS NOT NULL"
    )
    return frozenset(public_key for (public_key,) in rows)
