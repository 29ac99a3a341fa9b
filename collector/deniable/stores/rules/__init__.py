"""The rules of what a store keeps, once for all databases, and the statements that they put to one.

Each is done in one transaction; those that change something, in one that writes.

A rule is a generator. It yields what it asks and is sent the rows, so that one text of it serves
SQLite, which answers in a thread, and PostgreSQL, which is awaited. Its SQL is PostgreSQL's. The
database that asks some statement in another form has a table of these (``postgres/driver.py`` and
``sqlite/database.py``).

For example, this rule asks once, and is sent the one row that is found::

    def find_survey(survey_id: bytes) -> Rule[tuple[int, int]]:
        ((survey, minimum),) = yield Statement(
            "SELECT survey, minimum FROM deniable.surveys WHERE survey_id = $1", (survey_id,)
        )
        return survey, minimum

    await postgres.driver.follow(connection, find_survey(survey_id))  # (7, 100)
    sqlite.database.follow(connection, find_survey(survey_id))  # (7, 100), after "… survey_id = ?"
"""

from collections.abc import Generator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

Result = TypeVar("Result")

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = Sequence[Row]


class Statement(NamedTuple):
    """A statement and its values."""

    sql: str
    values: Row = ()
    seconds: float | None = None  # how long its answer may take, where a server limits that


class ManyTimes(NamedTuple):
    """A statement and the values for each execution; it returns no rows."""

    sql: str
    values: Rows


class Insertion(NamedTuple):
    """Records for the columns of a table, by its name without a schema."""

    table: str
    columns: tuple[str, ...]
    records: Rows


Request: TypeAlias = Statement | ManyTimes | Insertion
Rule: TypeAlias = Generator[Request, Rows, Result]


def first(sql: str, *values: object) -> Rule[Row | None]:
    """Ask for one row; None if there is none."""
    rows = yield Statement(sql, values)
    return rows[0] if rows else None


# The locks by which collectors that share a PostgreSQL database wait for each other. (A SQLite file
# has one writer at a time.) They are held to the end of the transaction, and taken in the order in
# which they stand here. The function ``deniable.add_receipts`` takes those of moving, issuers, ends
# and epochs, shared; whoever changes what it reads takes them alone. After a lock the next
# statement sees what its former holders committed.
LOCK: Final = "SELECT pg_advisory_xact_lock($1, $2)"
MIGRATION: Final = (-1, 0)  # whoever changes the schema
# Whoever moves or migrates the store; every transaction that writes takes it shared.
MOVE: Final = (-1, 3)
CATALOGUE: Final = (-1, 1)  # whoever publishes a survey or a rotation
ISSUERS: Final = (-1, 2)  # whoever names an issuer for the first time, or distrusts one
FOLDING: Final = (-1, 4)  # whoever adds up what was counted, or seals


def of_end(survey: int) -> tuple[int, int]:
    """Return the lock for ending a survey."""
    return survey, -1


def of_epoch(survey: int, epoch: int) -> tuple[int, int]:
    """Return the lock for sealing an epoch."""
    return survey, epoch


def lock(which: tuple[int, int]) -> Rule[None]:
    """Take a lock for the rest of the transaction."""
    yield Statement(LOCK, which)
