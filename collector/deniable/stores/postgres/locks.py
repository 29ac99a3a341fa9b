"""The advisory locks by which collectors that share a database wait for each other.

They are held to the end of the transaction, and always taken in the order in which they stand here.
The function ``deniable.add_receipts`` takes those of moving, issuers, ends and epochs, shared;
whoever changes what it reads takes them exclusively. After a lock the next statement sees what its
former holders committed.
"""

from typing import Final

from deniable.stores.postgres.connections import Connection

__all__ = [
    "CATALOGUE",
    "FOLDING",
    "ISSUERS",
    "MIGRATION",
    "MOVE",
    "begin_write",
    "lock",
    "of_end",
    "of_epoch",
    "see_one_moment",
]

MIGRATION: Final = (-1, 0)
"""Whoever changes the schema."""
MOVE: Final = (-1, 3)
"""Whoever moves the store; every transaction that writes takes it shared."""
CATALOGUE: Final = (-1, 1)
"""Whoever publishes a survey or a rotation."""
ISSUERS: Final = (-1, 2)
"""Whoever names an issuer for the first time, or distrusts one."""


def of_end(survey: int) -> tuple[int, int]:
    """Return the lock of whoever ends a survey."""
    return survey, -1


def of_epoch(survey: int, epoch: int) -> tuple[int, int]:
    """Return the lock of whoever seals an epoch."""
    return survey, epoch


FOLDING: Final = (-1, 4)
"""Whoever adds up what was counted."""


async def lock(connection: Connection, which: tuple[int, int]) -> None:
    """Take a lock exclusively, for the rest of the transaction."""
    await connection.execute("SELECT pg_advisory_xact_lock($1, $2)", *which)


async def begin_write(connection: Connection) -> None:
    """Begin a transaction that writes: its commit will be durable, whatever else it does (S1).

    Raises:
        StoreMoved: once the store has moved; it stays where it is until the transaction ends (S8).
    """
    await connection.execute("SELECT deniable.begin_write()")


async def see_one_moment(connection: Connection) -> None:
    """Begin a transaction that only reads, and sees everything as of one moment.

    Nobody prunes meanwhile. The lock comes first: a table that is dropped is gone for older
    snapshots, too.
    """
    await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    await connection.execute("LOCK TABLE deniable.receipts IN ACCESS SHARE MODE")
