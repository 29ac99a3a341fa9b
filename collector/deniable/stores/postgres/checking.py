"""The check: receipts against counts, counts against seals, figures against counts."""

from collections import Counter
from typing import Final

from deniable.stores.cells import Cells, StandingSeal, as_counts, epoch_faults
from deniable.stores.digest import counts_digest
from deniable.stores.postgres.connections import Connection
from deniable.stores.postgres.counting import counted
from deniable.stores.postgres.locks import see_one_moment

__all__ = ["faults"]

_SECONDS: Final = 3_600
"""All receipts are read."""

_SLOTS: Final = """
    SELECT survey, survey_id, name, sequence, epoch FROM (
        SELECT survey, epoch FROM deniable.counted
        UNION SELECT survey, epoch FROM deniable.receipts
        UNION SELECT survey, epoch FROM deniable.seals
        UNION SELECT survey, epoch FROM deniable.published_counts
    ) slots JOIN deniable.surveys USING (survey) ORDER BY name, sequence, epoch
"""
# The keys of all other tables are foreign keys.
_ASTRAY: Final = """
    SELECT count(*) FROM deniable.receipts r
     WHERE NOT EXISTS (SELECT FROM deniable.surveys s WHERE s.survey = r.survey)
        OR NOT EXISTS (SELECT FROM deniable.issuers i WHERE i.issuer = r.issuer)
"""
_CELLS: Final = """
    SELECT issuer, response, {reports} FROM deniable.{table}
     WHERE survey = $1 AND epoch = $2 GROUP BY issuer, response
"""
_COUNTED: Final = _CELLS.format(table="counted", reports="sum(reports)::bigint")
_SHOWN: Final = _CELLS.format(table="published_counts", reports="sum(reports)::bigint")
_KEPT: Final = _CELLS.format(table="receipts", reports="count(*)")
_SEAL: Final = """
    SELECT reports, digest, pruning_at, pruned_at FROM deniable.seals
     WHERE survey = $1 AND epoch = $2
"""


async def faults(connection: Connection) -> list[str]:
    """Return a line for each thing that is not as it must be, within a transaction.

    All is as of one moment; nobody who stores reports waits for it.
    """
    await see_one_moment(connection)
    await connection.execute(f"SET LOCAL statement_timeout = '{_SECONDS}s'")
    lines = []
    if astray := await connection.fetchval(_ASTRAY, timeout=_SECONDS):
        lines.append(f"receipts: the survey or the issuer of {astray} rows is not in the store")
    for survey, survey_id, name, sequence, epoch in await connection.fetch(
        _SLOTS, timeout=_SECONDS
    ):
        row = await connection.fetchrow(_SEAL, survey, epoch)
        rows = await counted(connection, survey, epoch)
        lines += [
            f"{name}, sequence {sequence}, epoch {epoch}: {fault}"
            for fault in epoch_faults(
                await _cells(connection, _KEPT, survey, epoch),
                await _cells(connection, _COUNTED, survey, epoch),
                await _cells(connection, _SHOWN, survey, epoch),
                None if row is None else StandingSeal(*row),
                counts_digest(survey_id, epoch, as_counts(rows)),
            )
        ]
    return lines


async def _cells(connection: Connection, query: str, survey: int, epoch: int) -> Cells:
    rows = await connection.fetch(query, survey, epoch, timeout=_SECONDS)
    return Counter({(issuer, response): reports for issuer, response, reports in rows})
