"""The rules for a store's content, written once for all databases, with their statements.

Each rule runs in one transaction; rules that change data run in a writing transaction.

A rule is a generator. It yields statements and is sent their rows. So the same rule serves SQLite,
which answers in a thread, and PostgreSQL, which is awaited. Its SQL is PostgreSQL's. A database
with other forms of some statements has a table of them (``postgres/driver.py`` and
``sqlite/database.py``).

For example, this rule yields one statement, and is sent the matching row::

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
    seconds: float | None = None  # time limit for the answer, if the server has one


class ManyTimes(NamedTuple):
    """A statement and the values for each execution; it returns no rows."""

    sql: str
    values: Rows


class Insertion(NamedTuple):
    """Records for the columns of a table, named without its schema."""

    table: str
    columns: tuple[str, ...]
    records: Rows


Request: TypeAlias = Statement | ManyTimes | Insertion
Rule: TypeAlias = Generator[Request, Rows, Result]


def first(sql: str, *values: object) -> Rule[Row | None]:
    """Query one row; None if no row matches."""
    rows = yield Statement(sql, values)
    return rows[0] if rows else None


# The locks with which collectors that share a PostgreSQL database wait for each other. (A SQLite
# file has one writer at a time.) They are kept to the end of the transaction, and taken in the
# order in which they are listed here. The function ``deniable.add_receipts`` shares those for
# writing, issuers, ends and epochs; a rule that changes what it reads takes them exclusively. After
# a lock the next statement sees what its former owners committed.
LOCK: Final = "SELECT pg_advisory_xact_lock($1, $2)"
MIGRATION: Final = (-1, 0)  # for changing the schema
# For migrating the store; every writing transaction shares it.
WRITING: Final = (-1, 3)
CATALOGUE: Final = (-1, 1)  # for publishing a survey or a rotation
ISSUERS: Final = (-1, 2)  # for naming an issuer for the first time, or distrusting an issuer
FOLDING: Final = (-1, 4)  # for folding counts, or sealing
# (survey, -1) is for ending a survey, and (survey, epoch) for sealing an epoch.


def lock(which: tuple[int, int]) -> Rule[None]:
    """Take a lock for the rest of the transaction."""
    yield Statement(LOCK, which)
