"""The check: receipts against counts, counts against seals, figures against counts."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from deniable.messages.seals import as_counts, counts_digest
from deniable.stores.rules.published_counts import COUNTED
from deniable.stores.statements import Row, Rows, Rule, Statement, first

_SLOTS: Final = """
    SELECT survey, survey_id, name, sequence, epoch FROM (
        SELECT survey, epoch FROM deniable.counted
        UNION SELECT survey, epoch FROM deniable.receipts
        UNION SELECT survey, epoch FROM deniable.seals
        UNION SELECT survey, epoch FROM deniable.published_counts
    ) AS slots JOIN deniable.surveys USING (survey) ORDER BY name, sequence, epoch
"""
# The keys of all other tables are foreign keys.
_ASTRAY: Final = """
    SELECT count(*) FROM deniable.receipts AS r
     WHERE NOT EXISTS (SELECT 1 FROM deniable.surveys AS s WHERE s.survey = r.survey)
        OR NOT EXISTS (SELECT 1 FROM deniable.issuers AS i WHERE i.issuer = r.issuer)
"""
_SHOWN: Final = """
    SELECT issuer, response, reports FROM deniable.published_counts
     WHERE survey = $1 AND epoch = $2
"""
_COUNTED: Final = """
    SELECT issuer, response, CAST(sum(reports) AS bigint) FROM deniable.counted
     WHERE survey = $1 AND epoch = $2 GROUP BY issuer, response
"""
KEPT: Final = """
    SELECT issuer, response, count(*) FROM deniable.receipts
     WHERE survey = $1 AND epoch = $2 GROUP BY issuer, response
"""


def faults() -> Rule[list[str]]:
    """Return a line for each thing that is not as it must be; in a transaction of one moment."""
    lines = []
    ((astray,),) = yield Statement(_ASTRAY)
    if astray:
        lines.append(f"receipts: the survey or the issuer of {astray} rows is not in the store")
    for survey, survey_id, name, sequence, epoch in (yield Statement(_SLOTS)):
        slot = (survey, epoch)
        seal = yield from first(
            "SELECT reports, digest, pruning_at, pruned_at FROM deniable.seals"
            " WHERE survey = $1 AND epoch = $2",
            *slot,
        )
        kept = yield Statement(KEPT, slot)
        counted = yield Statement(_COUNTED, slot)
        figures = yield Statement(_SHOWN, slot)
        rows = yield Statement(COUNTED, slot)
        digest = counts_digest(survey_id, epoch, as_counts(rows))
        epoch_faults = _epoch_faults(_cells(kept), _cells(counted), _cells(figures), seal, digest)
        lines += [f"{name}, sequence {sequence}, epoch {epoch}: {fault}" for fault in epoch_faults]
    return lines


def _cells(rows: Rows) -> Counter[tuple[int, int]]:
    return Counter({(issuer, response): reports for issuer, response, reports in rows})


def _epoch_faults(
    kept: Counter[tuple[int, int]],
    counted: Counter[tuple[int, int]],
    figures: Counter[tuple[int, int]],
    seal: Row | None,
    digest: bytes,
) -> Iterator[str]:
    reports, sealed, pruning_at, pruned_at = seal or (counted.total(), digest, None, None)
    if pruned_at is not None and kept:
        yield f"{kept.total()} receipts are kept, though they were pruned"
    elif not (kept <= counted if pruning_at is not None else kept == counted):
        yield (
            f"receipts and counts do not agree: {kept.total()} receipts are kept, "
            f"{counted.total()} reports counted"
        )
    if reports != counted.total():
        yield f"{counted.total()} reports are counted, and were {reports} when it was sealed"
    elif sealed != digest:
        yield "the counts are not those that were sealed"
    if not figures <= counted:
        yield "figures show more than was counted"
