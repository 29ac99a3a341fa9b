"""What was counted of an epoch, and which of it figures may show.

Figures advance in steps of ``minimum_reports``, when they are read. Of a survey without a minimum
the counts themselves are shown, and nothing is written for it.
"""

import asyncio
from typing import Final

from asyncpg import Record

from deniable.stores.cells import as_counts
from deniable.stores.postgres.connections import Connection
from deniable.stores.postgres.publishing import find_survey
from deniable.stores.store import Counts

__all__ = ["counted", "newest_counted", "newest_epoch", "shown_counts", "take_step"]

_IS_DUE: Final = """
    (SELECT coalesce(sum(reports), 0) FROM deniable.counts WHERE survey = $1 AND epoch = $2)
    - (SELECT coalesce(sum(reports), 0) FROM deniable.published_counts
        WHERE survey = $1 AND epoch = $2) >= $3
"""
# Judged and read by one statement, and so of one moment.
_SHOWN: Final = f"""
    SELECT {_IS_DUE} AS due, public_key, array_agg(response) AS responses,
           array_agg(reports) AS reports
      FROM (VALUES (1)) one
      LEFT JOIN (deniable.published_counts JOIN deniable.issuers USING (issuer))
        ON survey = $1 AND epoch = $2
     GROUP BY public_key
"""  # noqa: S608 - put together from constants
_COUNTED: Final = """
    SELECT public_key, array_agg(response) AS responses, array_agg(reports) AS reports
      FROM (
        SELECT issuer, response, sum(reports)::bigint AS reports FROM deniable.counts
         WHERE survey = $1 AND epoch = $2 GROUP BY issuer, response
      ) cells
      JOIN deniable.issuers USING (issuer)
     GROUP BY public_key
"""
_STEP: Final = f"""
    INSERT INTO deniable.published_counts (survey, epoch, issuer, response, reports)
    SELECT survey, epoch, issuer, response, sum(reports)
      FROM deniable.counts
     WHERE survey = $1 AND epoch = $2 AND {_IS_DUE}
     GROUP BY survey, epoch, issuer, response
    ON CONFLICT (survey, epoch, issuer, response) DO UPDATE SET reports = excluded.reports
"""  # noqa: S608


async def counted(connection: Connection, survey: int, epoch: int) -> list[tuple[bytes, int, int]]:
    """Return issuer, response and reports of all that was counted in an epoch."""
    rows = await connection.fetch(_COUNTED, survey, epoch)
    # There may be 65,536 responses of every issuer, for which the event loop does not stand still.
    return await asyncio.to_thread(_cells, rows)


def _cells(rows: list[Record]) -> list[tuple[bytes, int, int]]:
    """Return issuer, response and reports of rows that have an issuer's in arrays."""
    return [
        (row["public_key"], response, reports)
        for row in rows
        if row["public_key"] is not None
        for response, reports in zip(row["responses"], row["reports"], strict=True)
    ]


async def shown_counts(
    connection: Connection, survey_id: bytes, epoch: int, responses: int
) -> tuple[Counts, bool]:
    """Return the counts that figures show now, and if a step of theirs is due."""
    survey, minimum = await find_survey(connection, survey_id)
    if minimum == 1:
        rows = await counted(connection, survey, epoch)
        return await asyncio.to_thread(as_counts, rows, responses), False
    shown = await connection.fetch(_SHOWN, survey, epoch, minimum)
    return await asyncio.to_thread(lambda: as_counts(_cells(shown), responses)), shown[0]["due"]


async def take_step(connection: Connection, survey_id: bytes, epoch: int) -> None:
    """Show all that is counted now, unless another reader took the step meanwhile.

    Within a transaction. What is shown is never taken back: counts only grow.
    """
    survey, minimum = await find_survey(connection, survey_id)
    # One reader after the other; nothing that is counted waits for it.
    await connection.execute(
        "SELECT FROM deniable.surveys WHERE survey = $1 FOR NO KEY UPDATE", survey
    )
    await connection.execute(_STEP, survey, epoch, minimum)


async def newest_epoch(connection: Connection, survey_id: bytes) -> int | None:
    """Return the newest epoch of which enough is counted for a figure."""
    epoch = await connection.fetchval(
        "SELECT epoch FROM deniable.counts WHERE survey = $1"
        " GROUP BY epoch HAVING sum(reports) >= $2 ORDER BY epoch DESC LIMIT 1",
        *await find_survey(connection, survey_id),
    )
    return None if epoch is None else int(epoch)


async def newest_counted(connection: Connection, survey_id: bytes) -> int | None:
    """Return the newest epoch with at least one counted report."""
    survey, _ = await find_survey(connection, survey_id)
    epoch = await connection.fetchval(
        "SELECT max(epoch) FROM deniable.counts WHERE survey = $1", survey
    )
    return None if epoch is None else int(epoch)
