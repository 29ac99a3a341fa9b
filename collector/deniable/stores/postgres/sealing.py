"""What is final: seals of epochs, the erasure that follows them, ends of surveys, distrust."""

import asyncio
from typing import Final

from deniable.stores.cells import as_counts
from deniable.stores.digest import counts_digest
from deniable.stores.postgres.connections import Connection
from deniable.stores.postgres.counting import counted, fold
from deniable.stores.postgres.locks import ISSUERS, lock, of_end, of_epoch
from deniable.stores.postgres.publishing import find_survey
from deniable.stores.store import KEPT_SECONDS, NotSealed, Seal

__all__ = ["distrust", "distrusted", "end", "ended", "erase", "seal", "seals", "standing_seal"]

_SECONDS: Final = 3_600
"""For counting the receipts of an epoch before they go."""


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
    await fold(connection)
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
    """Drop the table of a sealed epoch's receipts, within a transaction; return how many it had.

    It waits for whoever reads all receipts, such as a backup, for as long as for any lock.
    """
    survey, _ = await find_survey(connection, survey_id)
    slot = (survey, epoch)
    # The row is locked: of two that prune at once, the second sees that it is done.
    seal = await connection.fetchrow(
        "SELECT sealed_at, pruned_at FROM deniable.seals WHERE survey = $1 AND epoch = $2"
        " FOR UPDATE",
        *slot,
    )
    if seal is None or now - int(seal["sealed_at"]) < KEPT_SECONDS:
        raise NotSealed(f"epoch {epoch} was not sealed at least 24 hours ago")
    if seal["pruned_at"] is not None:
        return 0
    erased = 0
    table = f"deniable.receipts_{survey}_{epoch}"
    if await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", table):
        await connection.execute(f"SET LOCAL statement_timeout = '{_SECONDS}s'")
        erased = await connection.fetchval(
            f"SELECT count(*) FROM {table}",  # noqa: S608 - named by numbers
            timeout=_SECONDS,
        )
        await connection.execute(f"DROP TABLE {table}")
    await connection.execute(
        "UPDATE deniable.seals SET pruning_at = coalesce(pruning_at, $3), pruned_at = $3"
        " WHERE survey = $1 AND epoch = $2",
        *slot,
        now,
    )
    return int(erased)


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
