"""Tables of a whole store, the same for every kind of store: backup and restore.

``Store.rows()`` reads everything as of *one moment*, while others write. It yields parts of one
table, at most :data:`ROWS_AT_ONCE` rows each. ``Store.fill()`` writes such parts into an empty
store, in *one* transaction. If reading its argument fails, or the store is not empty, nothing is
written.

The tables come in the order of :data:`COLUMNS`, so that rows follow the rows to which they refer,
and keep the numbers of surveys and issuers. Each table may come several times, or never. Within a
table the order is meaningless.
"""

from typing import Final, NamedTuple

from deniable.stores.rules import CATALOGUE, ISSUERS, Insertion, Rows, Rule, first, lock
from deniable.stores.values import StoreError

ROWS_AT_ONCE: Final = 10_000

_CELL: Final = ("survey", "epoch", "issuer", "response", "reports")
COLUMNS: Final = {
    "surveys": ("survey", "survey_id", "name", "sequence", "minimum", "envelope", "published_at"),
    "rotations": ("rotation", "old_key", "new_key", "sequence", "envelope"),
    "issuers": ("issuer", "public_key", "distrusted_at"),
    "receipts": ("survey", "epoch", "key", "response", "issuer"),
    "counts": _CELL,
    "published_counts": _CELL,
    "seals": ("survey", "epoch", "sealed_at", "reports", "digest", "pruning_at", "pruned_at"),
    "ends": ("survey", "ended_at"),
    "notes": ("name", "at", "text"),
    "log_entries": ("position", "entry"),
    "log_checkpoints": ("role", "checkpoint"),
    "tokens": ("digest", "role", "label", "created_at", "survey", "ends_at"),
}
"""The tables and their columns."""
_FORMS: Final = {
    # Every store has number 0, which means no issuer.
    "issuers": "SELECT issuer, public_key, distrusted_at FROM deniable.issuers WHERE issuer <> 0",
    "counts": "SELECT survey, epoch, issuer, response, CAST(sum(reports) AS bigint)"
    " FROM deniable.counted GROUP BY survey, epoch, issuer, response",
}
READ: Final = {
    table: _FORMS.get(table, f"SELECT {', '.join(columns)} FROM deniable.{table}")  # noqa: S608
    for table, columns in COLUMNS.items()
}
"""The statements that read the tables."""


class Part(NamedTuple):
    """Some rows of a table."""

    table: str
    rows: Rows


def begin_filling() -> Rule[None]:
    """Check that the store is empty, and prevent others from filling it."""
    yield from lock(CATALOGUE)
    yield from lock(ISSUERS)
    for query in READ.values():
        if (yield from first(f"{query} LIMIT 1")) is not None:
            raise StoreError("the new store is not empty; choose an empty store")


def write(part: Part) -> Rule[None]:
    """Write rows; the rows to which they refer must have come before."""
    yield Insertion(part.table, COLUMNS[part.table], part.rows)
