"""The advisory locks by which collectors that share a database wait for each other.

They are held to the end of the transaction, and always taken in the order in which they stand here.
The function ``deniable.add_receipts`` takes the last three, shared; whoever changes what it reads
takes them exclusively. After a lock the next statement sees what its former holders committed.
"""

from typing import Final

from deniable.stores.postgres.connections import Connection

__all__ = ["CATALOGUE", "ISSUERS", "MIGRATION", "lock", "of_end", "of_epoch"]

MIGRATION: Final = (-1, 0)
"""Whoever changes the schema."""
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


async def lock(connection: Connection, which: tuple[int, int]) -> None:
    """Take a lock exclusively, for the rest of the transaction."""
    await connection.execute("SELECT pg_advisory_xact_lock($1, $2)", *which)
