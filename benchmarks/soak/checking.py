"""What the store holds in the end, compared with what was sent and what was acknowledged."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import numpy as np

from benchmarks.soak.books import ROW_BYTES, Books, Rows
from benchmarks.soak.signing import Slot
from deniable.stores import Store


@dataclass(frozen=True, slots=True)
class Outcome:
    """Reports, counted.

    Attributes:
        sent: by honest devices, at least once and whole.
        acknowledged: of these.
        counted: in the histograms.
        lost: acknowledged, and not counted.
        doubled: counted more than once.
        never_sent: counted, and sent by no honest device.
        faults: what ``deniable store check`` finds.
    """

    sent: int
    acknowledged: int
    counted: int
    lost: int
    doubled: int
    never_sent: int
    faults: tuple[str, ...]


def sqlite_receipts(file: Path, slots: Sequence[Slot]) -> Rows:
    """Return the receipts of a SQLite store, as the books have them."""
    numbers = {slot: number for number, slot in enumerate(slots)}
    with closing(sqlite3.connect(file)) as connection:
        return as_rows(
            key + bytes((numbers.get((survey_id, epoch), 255), response))
            for survey_id, epoch, key, response in connection.execute(
                "SELECT survey_id, epoch, key, response FROM receipts JOIN surveys USING (survey)"
            )
        )


async def postgres_receipts(url: str, slots: Sequence[Slot]) -> Rows:
    """Return the receipts of a PostgreSQL store, as the books have them."""
    numbers = {slot: number for number, slot in enumerate(slots)}
    connection = await asyncpg.connect(url)
    try:
        found = await connection.fetch(
            "SELECT survey_id, epoch, key, response"
            " FROM deniable.receipts JOIN deniable.surveys USING (survey)"
        )
    finally:
        await connection.close()
    return as_rows(
        key.bytes + bytes((numbers.get((survey_id, epoch), 255), response))
        for survey_id, epoch, key, response in found
    )


def as_rows(rows: Iterable[bytes]) -> Rows:
    """Return rows of bytes as an array."""
    return np.frombuffer(b"".join(rows), dtype=f"S{ROW_BYTES}")


async def compare(store: Store, receipts: Rows, books: Books, slots: Sequence[Slot]) -> Outcome:
    """Compare counts, receipts and books, whose numbers are those of the slots in their order."""
    sent, acknowledged = books.sent(), books.acknowledged()
    kept = Counter({cell: int(n) for cell, n in _cells(receipts)})
    counted = Counter[tuple[int, int]]()
    for number, (survey_id, epoch) in enumerate(slots):
        for vouched in (await store.counts(survey_id, epoch)).values():
            for response, reports in vouched.items():
                counted[number, response] += reports
    # A receipt without its count is lost, a count without its receipt is one too many.
    uncounted, uncovered = (kept - counted).total(), (counted - kept).total()
    repeated = len(receipts) - len(np.unique(receipts))
    return Outcome(
        sent=len(sent),
        acknowledged=len(acknowledged),
        counted=counted.total(),
        lost=int(np.count_nonzero(~np.isin(acknowledged, receipts))) + uncounted,
        doubled=repeated + uncovered,
        never_sent=int(np.count_nonzero(~np.isin(receipts, sent))),
        faults=tuple(await store.check()),
    )


def _cells(rows: Rows) -> Iterable[tuple[tuple[int, int], int]]:
    """Return (slot, response) and how many receipts are of it."""
    ends = rows.view(np.uint8).reshape(-1, ROW_BYTES)[:, -2:]
    cells, numbers = np.unique(ends, axis=0, return_counts=True)
    return (
        ((int(slot), int(response)), int(n))
        for (slot, response), n in zip(cells, numbers, strict=True)
    )
