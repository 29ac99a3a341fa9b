"""Counts for figures; seals, later erasure, and ends; a check of all these.

Figures advance in steps of ``minimum_reports``, when they are read. For a survey without a minimum
the counts themselves are shown, and nothing is written.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, Literal

from deniable.stores.rules import (
    FOLDING,
    ISSUERS,
    Row,
    Rows,
    Rule,
    Statement,
    first,
    lock,
)
from deniable.stores.rules.operating import find_survey
from deniable.stores.values import (
    KEPT_SECONDS,
    Counts,
    Seal,
    StoreError,
    as_counts,
    counts_digest,
)

COUNTED: Final = """
    SELECT public_key, response, reports FROM deniable.counted JOIN deniable.issuers USING (issuer)
     WHERE survey = $1 AND epoch = $2
"""
SHOWN: Final = """
    SELECT public_key, response, reports
      FROM deniable.published_counts JOIN deniable.issuers USING (issuer)
     WHERE survey = $1 AND epoch = $2
"""
NEWEST_COUNTED: Final = "SELECT max(epoch) FROM deniable.counted WHERE survey = $1"
FOLD: Final = """
    WITH left_over AS (
        SELECT ctid AS place, pg_column_size(responses) AS size FROM deniable.deltas
         WHERE ($1::integer IS NULL OR survey = $1) AND ($2::integer IS NULL OR epoch = $2)
    ), piece AS (
        SELECT place FROM (
            SELECT place, sum(size) OVER (ROWS UNBOUNDED PRECEDING) - size AS before
              FROM (SELECT * FROM left_over LIMIT $3) AS first_ones
        ) AS sizes WHERE before < $4
    ), folded AS (
        DELETE FROM deniable.deltas WHERE ctid = ANY (ARRAY(SELECT place FROM piece)) RETURNING *
    ), sums AS MATERIALIZED (  -- by hashing: only the sums are sorted
        SELECT survey, epoch, issuer, response, sum(n) AS reports
          FROM folded, unnest(responses, reports) AS cells (response, n)
         GROUP BY survey, epoch, issuer, response
    ), added AS (
        INSERT INTO deniable.counts AS c (survey, epoch, issuer, response, reports)
        SELECT * FROM sums ORDER BY survey, epoch, issuer, response
        ON CONFLICT (survey, epoch, issuer, response)
        DO UPDATE SET reports = c.reports + excluded.reports
    )
    SELECT (SELECT count(*) FROM left_over) > (SELECT count(*) FROM piece)
"""
"""For databases whose groups append counts: folds a piece, and returns whether more is left.

A row keeps its place (``ctid``): no row is changed, and only this statement removes any.
"""
_PIECE_ROWS: Final = 1_000
_PIECE_BYTES: Final = 8 << 20
"""Stored responses in bytes: some two million, measured to take 1.3 seconds."""

_DUE: Final = """
    SELECT survey, minimum, CASE WHEN minimum > 1 THEN minimum <=
        (SELECT coalesce(sum(reports), 0) FROM deniable.counted AS c
          WHERE c.survey = s.survey AND epoch = $2)
        - (SELECT coalesce(sum(reports), 0) FROM deniable.published_counts AS p
            WHERE p.survey = s.survey AND epoch = $2)
        ELSE false END
      FROM deniable.surveys AS s WHERE survey_id = $1
"""
_STEP: Final = """
    INSERT INTO deniable.published_counts (survey, epoch, issuer, response, reports)
    SELECT survey, epoch, issuer, response, sum(reports)
      FROM deniable.counted WHERE survey = $1 AND epoch = $2
     GROUP BY survey, epoch, issuer, response
    ON CONFLICT (survey, epoch, issuer, response) DO UPDATE SET reports = excluded.reports
"""


def much_is_left(survey_id: bytes) -> Rule[bool]:
    """Return whether more than one piece of a survey is left to fold."""
    survey, _ = yield from find_survey(survey_id)
    ((size,),) = yield Statement(
        "SELECT coalesce(sum(pg_column_size(responses)), 0) FROM deniable.deltas WHERE survey = $1",
        (survey,),
    )
    return int(size) > _PIECE_BYTES


def fold(survey_id: bytes | None = None, epoch: int | None = None) -> Rule[bool]:
    """Fold a piece of the groups' counts, of a survey and epoch or of all.

    The rule returns whether more is left; uncommitted groups are left out. If two run at once, the
    second gets what the first has left.
    """
    survey = None if survey_id is None else (yield from find_survey(survey_id))[0]
    yield from lock(FOLDING)
    row = yield from first(FOLD, survey, epoch, _PIECE_ROWS, _PIECE_BYTES)
    return row is not None and bool(row[0])


def counted_reports(survey_id: bytes, epoch: int) -> Rule[int]:
    survey, _ = yield from find_survey(survey_id)
    ((reports,),) = yield Statement(
        "SELECT coalesce(sum(reports), 0) FROM deniable.counted WHERE survey = $1 AND epoch = $2",
        (survey, epoch),
    )
    return int(reports)


def shown_counts(survey_id: bytes, epoch: int) -> Rule[tuple[Counts, bool]]:
    """Return the counts that figures show now, and whether their next step is due."""
    survey, minimum, due = yield from _figures(survey_id, epoch)
    rows = yield Statement(SHOWN if minimum > 1 else COUNTED, (survey, epoch))
    return as_counts(rows), due


def shown_reports(survey_id: bytes, epoch: int) -> Rule[tuple[int, bool]]:
    """Return the number of reports that figures show now, and whether their next step is due."""
    survey, minimum, due = yield from _figures(survey_id, epoch)
    table = "published_counts" if minimum > 1 else "counted"
    ((reports,),) = yield Statement(
        f"SELECT coalesce(sum(reports), 0) FROM deniable.{table}"  # noqa: S608 - of the two
        " WHERE survey = $1 AND epoch = $2",
        (survey, epoch),
    )
    return int(reports), due


def take_step(survey_id: bytes, epoch: int) -> Rule[None]:
    """Show all reports counted so far, unless another reader has just done so.

    Shown reports stay shown: counts only grow.
    """
    # One reader at a time; counting does not wait for it.
    yield Statement(
        "SELECT survey FROM deniable.surveys WHERE survey_id = $1 FOR NO KEY UPDATE", (survey_id,)
    )
    survey, _, due = yield from _figures(survey_id, epoch)
    if due:
        yield Statement(_STEP, (survey, epoch))


def outermost(survey_id: bytes, order: Literal["ASC", "DESC"]) -> Rule[int | None]:
    """Return the oldest or newest epoch with figures, or None."""
    survey, minimum = yield from find_survey(survey_id)
    row = yield from first(
        "SELECT epoch FROM deniable.counted WHERE survey = $1"  # noqa: S608 - of the two
        f" GROUP BY epoch HAVING sum(reports) >= $2 ORDER BY epoch {order} LIMIT 1",
        survey,
        minimum,
    )
    return None if row is None else int(row[0])


def newest_counted(survey_id: bytes) -> Rule[int | None]:
    survey, _ = yield from find_survey(survey_id)
    ((epoch,),) = yield Statement(NEWEST_COUNTED, (survey,))
    return None if epoch is None else int(epoch)


def _figures(survey_id: bytes, epoch: int) -> Rule[tuple[int, int, bool]]:
    """Return a survey's number, its minimum, and whether that many more reports are counted."""
    row = yield from first(_DUE, survey_id, epoch)
    if row is None:
        raise StoreError("the survey is not in this store")
    return row[0], row[1], bool(row[2])


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
    """Return a line for each fault; the transaction must see one moment."""
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
        yield f"{kept.total()} receipts remain, although they were pruned"
    elif not (kept <= counted if pruning_at is not None else kept == counted):
        yield (
            f"receipts and counts differ: {kept.total()} receipts are kept, but {counted.total()} "
            "reports were counted"
        )
    if reports != counted.total():
        yield f"{counted.total()} reports are counted, but {reports} were sealed"
    elif sealed != digest:
        yield "the counts differ from the sealed counts"
    if not figures <= counted:
        yield "the figures show more reports than were counted"


_SEALS: Final = """
    SELECT epoch, sealed_at, reports, digest, pruned_at FROM deniable.seals
    WHERE survey = $1
"""


def seal(survey_id: bytes, epoch: int, now: int) -> Rule[tuple[Seal, bool]]:
    """Seal an epoch for good; return the valid seal, and whether this call set it.

    The epoch's lock waits for every group that is being stored, and keeps out all others until the
    commit: the digest is of the counts at that point (S4). To shorten the wait, earlier counts
    should be folded first; a running fold is awaited.
    """
    survey, _ = yield from find_survey(survey_id)
    yield from lock(FOLDING)
    yield from lock((survey, epoch))
    standing = yield from _standing(survey, epoch)
    if standing is not None:
        return standing, False
    while (yield from fold(survey_id, epoch)):
        pass
    rows = yield Statement(COUNTED, (survey, epoch))
    reports = sum(reports for _, _, reports in rows)
    digest = counts_digest(survey_id, epoch, as_counts(rows))
    yield Statement(
        "INSERT INTO deniable.seals (survey, epoch, sealed_at, reports, digest)"
        " VALUES ($1, $2, $3, $4, $5)",
        (survey, epoch, now, reports, digest),
    )
    return Seal(epoch, now, reports, digest, None), True


def seals(survey_id: bytes) -> Rule[list[Seal]]:
    survey, _ = yield from find_survey(survey_id)
    rows = yield Statement(f"{_SEALS} ORDER BY epoch", (survey,))
    return [Seal(*row) for row in rows]


def standing_seal(survey_id: bytes, epoch: int) -> Rule[Seal | None]:
    survey, _ = yield from find_survey(survey_id)
    return (yield from _standing(survey, epoch))


def _standing(survey: int, epoch: int) -> Rule[Seal | None]:
    row = yield from first(f"{_SEALS} AND epoch = $2", survey, epoch)
    return None if row is None else Seal(*row)


def begin_pruning(survey_id: bytes, epoch: int, now: int) -> Rule[tuple[int, bool]]:
    """Note that an epoch's receipts are being erased; return its survey, and whether any remain."""
    survey, _ = yield from find_survey(survey_id)
    # The row is locked: if two prune at once, the second sees that it is done.
    row = yield from first(
        "SELECT sealed_at, pruned_at FROM deniable.seals WHERE survey = $1 AND epoch = $2"
        " FOR UPDATE",
        survey,
        epoch,
    )
    if row is None or now - int(row[0]) < KEPT_SECONDS:
        raise StoreError(f"epoch {epoch} was sealed less than 24 hours ago, or not at all")
    yield Statement(
        "UPDATE deniable.seals SET pruning_at = coalesce(pruning_at, $3)"
        " WHERE survey = $1 AND epoch = $2",
        (survey, epoch, now),
    )
    return survey, row[1] is None


def note_pruned(survey_id: bytes, epoch: int, now: int) -> Rule[None]:
    """Note that none of an epoch's receipts is left."""
    survey, _ = yield from find_survey(survey_id)
    yield Statement(
        "UPDATE deniable.seals SET pruned_at = coalesce(pruned_at, $3)"
        " WHERE survey = $1 AND epoch = $2",
        (survey, epoch, now),
    )


def end(survey_id: bytes, now: int) -> Rule[None]:
    survey, _ = yield from find_survey(survey_id)
    yield from lock((survey, -1))
    yield Statement(
        "INSERT INTO deniable.ends (survey, ended_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        (survey, now),
    )


def ended() -> Rule[dict[bytes, int]]:
    rows = yield Statement(
        "SELECT survey_id, ended_at FROM deniable.ends JOIN deniable.surveys USING (survey)"
    )
    return {survey_id: ended_at for survey_id, ended_at in rows}  # noqa: C416 - rows are no pairs


def distrust(issuer: bytes, now: int) -> Rule[None]:
    yield from lock(ISSUERS)
    yield Statement(
        "INSERT INTO deniable.issuers AS i (issuer, public_key, distrusted_at)"
        " SELECT max(issuer) + 1, $1, $2 FROM deniable.issuers WHERE true"
        " ON CONFLICT (public_key)"
        " DO UPDATE SET distrusted_at = coalesce(i.distrusted_at, excluded.distrusted_at)",
        (issuer, now),
    )


def distrusted() -> Rule[frozenset[bytes]]:
    rows = yield Statement(
        "SELECT public_key FROM deniable.issuers WHERE distrusted_at IS NOT NULL"
    )
    return frozenset(public_key for (public_key,) in rows)
