"""Counts of an epoch, and which of them figures may show.

Figures advance in steps of ``minimum_reports``, when they are read. Of a survey without a minimum
the counts themselves are shown, and nothing is written for it.
"""

from typing import Final

from deniable.reading.seals import Counts, as_counts
from deniable.stores.errors import StoreError
from deniable.stores.rules.operating import find_survey
from deniable.stores.statements import FOLDING, Rule, Statement, first, lock

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
"""Of databases whose groups append what they count: adds up a piece, and tells if more is left.

A row stays where it is (``ctid``): nobody changes one, and only this statement removes any.
"""
_PIECE_ROWS: Final = 1_000
_PIECE_BYTES: Final = 8 << 20
"""Of responses as they are stored: some two million, which were measured to take 1.3 seconds."""

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
    """Return if more than a piece of a survey is left to be added up, where that can be done."""
    survey, _ = yield from find_survey(survey_id)
    ((writable, size),) = yield Statement(
        "SELECT current_setting('transaction_read_only') = 'off',"
        " coalesce(sum(pg_column_size(responses)), 0) FROM deniable.deltas WHERE survey = $1",
        (survey,),
    )
    return bool(writable) and int(size) > _PIECE_BYTES


def fold(survey_id: bytes | None = None, epoch: int | None = None) -> Rule[bool]:
    """Add up a piece of what groups have counted, of a survey and epoch or of all.

    Returned is if more is left; groups under way are left out. Of two that do so at once the second
    finds what the first has left.
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
    """Return the counts that figures show now, and whether a step of theirs is due."""
    survey, minimum, due = yield from _figures(survey_id, epoch)
    rows = yield Statement(SHOWN if minimum > 1 else COUNTED, (survey, epoch))
    return as_counts(rows), due


def shown_reports(survey_id: bytes, epoch: int) -> Rule[tuple[int, bool]]:
    """Return the number of reports that figures show now, and whether a step of theirs is due."""
    survey, minimum, due = yield from _figures(survey_id, epoch)
    table = "published_counts" if minimum > 1 else "counted"
    ((reports,),) = yield Statement(
        f"SELECT coalesce(sum(reports), 0) FROM deniable.{table}"  # noqa: S608 - of the two
        " WHERE survey = $1 AND epoch = $2",
        (survey, epoch),
    )
    return int(reports), due


def take_step(survey_id: bytes, epoch: int) -> Rule[None]:
    """Show all reports that are counted now, unless another reader took the step meanwhile.

    What is shown is never taken back: counts only grow.
    """
    # One reader after the other; nothing that is counted waits for it.
    yield Statement(
        "SELECT survey FROM deniable.surveys WHERE survey_id = $1 FOR NO KEY UPDATE", (survey_id,)
    )
    survey, _, due = yield from _figures(survey_id, epoch)
    if due:
        yield Statement(_STEP, (survey, epoch))


def newest_epoch(survey_id: bytes) -> Rule[int | None]:
    return (yield from _outermost(survey_id, "DESC"))


def oldest_epoch(survey_id: bytes) -> Rule[int | None]:
    return (yield from _outermost(survey_id, "ASC"))


def _outermost(survey_id: bytes, order: str) -> Rule[int | None]:
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
    """Return a survey's number, its minimum, and if as many more are counted as that."""
    row = yield from first(_DUE, survey_id, epoch)
    if row is None:
        raise StoreError("the survey is not in this store")
    return row[0], row[1], bool(row[2])
