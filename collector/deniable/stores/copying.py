"""All that a store holds as rows that are the same for every kind of store: backup and restore.

A kind of store takes part by two methods, :class:`Copyable`:

- ``rows()`` reads everything as of *one moment*, while others write: in a transaction that sees one
  state of the database, in lists of one type of row and at most :data:`ROWS_AT_ONCE` rows.
- ``fill()`` writes such lists into a store that holds nothing, in *one* transaction: what is read
  from its argument fails, or the store turns out not to be empty, and nothing was written.

Rows name surveys by their id and issuers by their public key, never by the numbers that a store
gives them for itself; the empty key is nobody. The types come in the order of :data:`ROW_TYPES`, so
that whatever a row names came before it, and each type as often as it takes, also not at all.
Within a type the order means nothing, but for rotations, which come as they were published.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final, NamedTuple, Protocol

from deniable.stores.store import Store

__all__ = [
    "ROWS_AT_ONCE",
    "ROW_TYPES",
    "Copyable",
    "CopyableStore",
    "CountRow",
    "DistrustRow",
    "EndRow",
    "ReceiptRow",
    "RotationRow",
    "Row",
    "SealRow",
    "ShownRow",
    "SurveyRow",
    "TokenRow",
]

ROWS_AT_ONCE: Final = 10_000


class SurveyRow(NamedTuple):
    """A published survey, and what the store itself must know of it."""

    survey_id: bytes
    name: str
    sequence: int
    minimum: int
    envelope: bytes


class RotationRow(NamedTuple):
    """A rotation of the authority's key."""

    old_key: bytes
    new_key: bytes
    sequence: int
    envelope: bytes


class DistrustRow(NamedTuple):
    """An issuer that is not trusted any more."""

    issuer: bytes
    distrusted_at: int


class ReceiptRow(NamedTuple):
    """What is kept of a report; ``key`` has 16 bytes."""

    survey_id: bytes
    epoch: int
    key: bytes
    response: int
    issuer: bytes


class CountRow(NamedTuple):
    """How often a response was counted; never 0."""

    survey_id: bytes
    epoch: int
    issuer: bytes
    response: int
    reports: int


class ShownRow(NamedTuple):
    """How often a response was counted when figures took their last step."""

    survey_id: bytes
    epoch: int
    issuer: bytes
    response: int
    reports: int


class SealRow(NamedTuple):
    """A seal; ``pruning_at`` is since when its receipts are being erased, None if they are not."""

    survey_id: bytes
    epoch: int
    sealed_at: int
    reports: int
    digest: bytes
    pruning_at: int | None
    pruned_at: int | None


class EndRow(NamedTuple):
    """The end of a survey."""

    survey_id: bytes
    ended_at: int


class TokenRow(NamedTuple):
    """What is known of a token; ``role`` is its name."""

    digest: bytes
    role: str
    label: str
    created_at: int


Row = (
    SurveyRow
    | RotationRow
    | DistrustRow
    | ReceiptRow
    | CountRow
    | ShownRow
    | SealRow
    | EndRow
    | TokenRow
)

ROW_TYPES: Final[tuple[type[Row], ...]] = (
    SurveyRow,
    RotationRow,
    DistrustRow,
    ReceiptRow,
    CountRow,
    ShownRow,
    SealRow,
    EndRow,
    TokenRow,
)
"""In the order in which they come."""


class Copyable(Protocol):
    """A store that can be copied out of, and into while it is empty."""

    def rows(self) -> AsyncIterator[Sequence[Row]]:
        """Read everything as of one moment, in lists of one type of row.

        Raises:
            StoreError: if it cannot be read.
        """

    async def fill(self, chunks: AsyncIterator[Sequence[Row]]) -> None:
        """Write all that another store holds, or nothing.

        Raises:
            NotEmpty: if this store holds anything.
            StoreError: if it cannot be written, or the rows contradict each other.
        """


class CopyableStore(Store, Copyable, Protocol):
    """What every kind of store is."""
