"""Which counts figures may show: they advance in steps of ``minimum_reports``, when they are read.

Of a survey without a minimum the counts themselves are shown, and nothing is written for it.
"""

from deniable.stores.cells import as_counts
from deniable.stores.sqlite.counting import counted
from deniable.stores.sqlite.database import SqliteDatabase
from deniable.stores.store import Counts

__all__ = ["newest_counted", "newest_epoch", "shown_counts", "step_is_due", "take_step"]


def shown_counts(database: SqliteDatabase, survey_id: bytes, epoch: int, responses: int) -> Counts:
    """Return the counts that figures show now; a step that is due must have been taken."""
    with database.reading() as connection:
        survey, minimum = database.survey(survey_id)
        shown = "published_counts" if minimum > 1 else "counts"
        rows = connection.execute(
            f"SELECT public_key, response, reports FROM {shown}"  # noqa: S608
            " JOIN issuers USING (issuer) WHERE survey = ? AND epoch = ?",
            (survey, epoch),
        ).fetchall()
    return as_counts(rows, responses)


def step_is_due(database: SqliteDatabase, survey_id: bytes, epoch: int) -> bool:
    """Return if at least ``minimum`` more reports are counted than are shown."""
    with database.reading() as connection:
        survey, minimum = database.survey(survey_id)
        if minimum == 1:
            return False
        (shown,) = connection.execute(
            "SELECT coalesce(sum(reports), 0) FROM published_counts WHERE survey = ? AND epoch = ?",
            (survey, epoch),
        ).fetchone()
        return counted(connection, survey, epoch) - int(shown) >= minimum


def take_step(database: SqliteDatabase, survey_id: bytes, epoch: int) -> None:
    """Show all that is counted now, unless another reader took the step meanwhile."""
    with database.transaction() as connection:
        if step_is_due(database, survey_id, epoch):
            # What is shown is never taken back: counts only grow.
            connection.execute(
                "INSERT OR REPLACE INTO published_counts"
                " SELECT * FROM counts WHERE survey = ? AND epoch = ?",
                (database.survey(survey_id).number, epoch),
            )


def newest_epoch(database: SqliteDatabase, survey_id: bytes) -> int | None:
    """Return the newest epoch of which enough is counted for a figure."""
    with database.reading() as connection:
        row = connection.execute(
            "SELECT epoch FROM counts WHERE survey = ?"
            " GROUP BY epoch HAVING sum(reports) >= ? ORDER BY epoch DESC LIMIT 1",
            database.survey(survey_id),
        ).fetchone()
    return None if row is None else int(row[0])


def newest_counted(database: SqliteDatabase, survey_id: bytes) -> int | None:
    """Return the newest epoch with at least one counted report."""
    with database.reading() as connection:
        (epoch,) = connection.execute(
            "SELECT max(epoch) FROM counts WHERE survey = ?", (database.survey(survey_id).number,)
        ).fetchone()
    return None if epoch is None else int(epoch)
