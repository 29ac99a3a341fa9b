"""A collector's store that holds many receipts already."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

_PASSES: Final = 4


def fill(store: Path, receipts: int) -> None:
    """Put receipts of simulated devices into the one survey of a store, epoch 0, and count them."""
    with closing(sqlite3.connect(store)) as connection, connection:
        (survey,) = connection.execute("SELECT survey FROM surveys").fetchone()
        (nobody,) = connection.execute(
            "SELECT issuer FROM issuers WHERE public_key = ?", (b"",)
        ).fetchone()
        # In passes, each in the order of the tree: pages split, and end as full as in a tree that
        # grew by chance.
        for _ in range(_PASSES):
            connection.execute(
                "INSERT INTO receipts"
                " WITH RECURSIVE device (number) AS"
                " (SELECT 1 UNION ALL SELECT number + 1 FROM device WHERE number < ?)"
                " SELECT ?, 0, randomblob(16) AS key, number % 8, ? FROM device ORDER BY key",
                (receipts // _PASSES, survey, nobody),
            )
        connection.execute(
            "INSERT INTO counts (survey, epoch, issuer, response, reports)"
            " SELECT survey, epoch, issuer, response, count(*) FROM receipts WHERE epoch = 0"
            " GROUP BY survey, epoch, issuer, response"
        )
