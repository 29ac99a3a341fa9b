"""Bringing a file's schema to this version, one migration and transaction at a time."""

import sqlite3
from collections.abc import Callable
from importlib.resources import files
from typing import Final

from deniable.stores.sqlite.counting import counted, digest
from deniable.stores.store import UnknownSchema

__all__ = ["VERSION", "migrate", "version"]


def _nothing_more(_: sqlite3.Connection) -> None:
    """What a migration needs beyond its SQL."""


def _fill_in_seals(connection: sqlite3.Connection) -> None:
    """Give the seals of version 1 what a seal vouches for since."""
    seals = connection.execute(
        "SELECT survey, survey_id, epoch FROM seals JOIN surveys USING (survey)"
    ).fetchall()
    for survey, survey_id, epoch in seals:
        connection.execute(
            "UPDATE seals SET reports = ?, digest = ? WHERE survey = ? AND epoch = ?",
            (
                counted(connection, survey, epoch),
                digest(connection, survey, survey_id, epoch),
                survey,
                epoch,
            ),
        )


_MIGRATIONS: Final[tuple[tuple[str, Callable[[sqlite3.Connection], None]], ...]] = (
    ("0001_initial.sql", _nothing_more),
    ("0002_life_of_a_survey.sql", _fill_in_seals),
    ("0003_state.sql", _nothing_more),
)

VERSION: Final = len(_MIGRATIONS)
"""The version of the schema that this version of deniable reads and writes."""


def migrate(connection: sqlite3.Connection) -> int:
    """Bring the schema to :data:`VERSION`; return which version it had, 0 for an empty file.

    Any number of processes may do so at once. One that is interrupted has done whole migrations.

    Raises:
        UnknownSchema: if a newer version of deniable wrote it.
        sqlite3.Error: if it cannot be written.
    """
    found = version(connection)
    for number, (name, complete) in enumerate(_MIGRATIONS[found:], start=found + 1):
        script = files("deniable.stores.sqlite").joinpath("migrations", name).read_text("utf-8")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if version(connection) < number:  # else another process was faster
                for statement in _statements(script):
                    connection.execute(statement)
                complete(connection)
                connection.execute(f"PRAGMA user_version={number}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    return found


def version(connection: sqlite3.Connection) -> int:
    """Return the version of the schema, 0 if there is none.

    Raises:
        UnknownSchema: if a newer version of deniable wrote it.
        sqlite3.Error: if it cannot be read.
    """
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found > VERSION:
        raise UnknownSchema("the store was written by a newer version of deniable; upgrade")
    return int(found)


def _statements(script: str) -> list[str]:
    """Split a script: executescript would commit the transaction that it is to be part of."""
    statements, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return statements
